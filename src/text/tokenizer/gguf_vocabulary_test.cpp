// GGUF vocabularies that are converted from the golden tokenizers give the same ids as the original files.
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/file.h"
#include "core/files/json.h"
#include "support/golden.h"
#include "text/tokenizer/golden_strings_test.h"
#include "text/tokenizer/sentencepiece_model.h"
#include "text/tokenizer/tokenizer.h"

namespace hearth::text {
namespace {

using Json = nlohmann::json;

std::filesystem::path golden_folder() { return test::folder_of(__FILE__) / "golden"; }

// The tokens of an open tokenizer, with the types that converters write.
GgufVocabulary vocabulary_of(const Tokenizer& tokenizer) {
  GgufVocabulary v;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    v.tokens.push_back(tokenizer.piece(id).value_or(""));
    v.token_types.push_back(tokenizer.is_special(id) ? 3 : 1);
  }
  v.bos = tokenizer.bos();
  v.eos = tokenizer.eos();
  v.unk = tokenizer.unk();
  return v;
}

GgufVocabulary byte_level(const std::string& shape, const std::string& pre) {
  GgufVocabulary v = vocabulary_of(Tokenizer::open(golden_folder() / shape));
  v.model = "gpt2";
  v.pre = pre;
  const Json json = load_json(golden_folder() / shape / "tokenizer.json");
  for (const Json& merge : json.at("model").at("merges"))
    v.merges.push_back(merge.at(0).get<std::string>() + " " + merge.at(1).get<std::string>());
  for (const Json& token : json.at("added_tokens"))
    if (token.at("special") == false) v.token_types[token.at("id").get<size_t>()] = 4;
  return v;
}

TEST(Gguf, byte_level_equals_tokenizer_json) {
  const std::pair<const char*, const char*> shapes[] = {{"gpt2", "gpt-2"},
                                                        {"llama3", "llama3"},
                                                        {"qwen2", "qwen2"},
                                                        {"tekken", "tekken"},
                                                        {"deepseek", "deepseek-coder"},
                                                        {"o200k", "gpt-4o"},
                                                        {"cohere", "command-r"},
                                                        {"deepseek_llm", "deepseek-llm"},
                                                        {"deepseek_v3", "deepseek-v3"},
                                                        {"glm4", "glm4"},
                                                        {"neox", "olmo"}};
  for (const auto& [shape, pre] : shapes) {
    const Tokenizer file = Tokenizer::open(golden_folder() / shape);
    GgufVocabulary v = byte_level(shape, pre);
    if (std::string(shape).starts_with("deepseek") || std::string(shape) == "cohere") v.add_bos = true;
    const bool whole = std::string(shape) != "glm4";  // its two tokens in front have no key
    const Tokenizer gguf = Tokenizer::from_gguf(v);
    const auto special = load_json(golden_folder() / shape / "golden.json").at("special").get<std::vector<std::string>>();
    for (uint64_t i = 0; i < 3000; ++i) {
      const std::string text = golden_string(i, special);
      const std::vector<int32_t> ids = file.encode(text, {.add_special_tokens = whole});
      ASSERT_EQ(gguf.encode(text, {.add_special_tokens = whole}), ids) << shape << " " << i;
      ASSERT_EQ(gguf.decode(ids), file.decode(ids, {.clean_up_tokenization_spaces = false})) << shape << " " << i;
    }
    v.add_bos = false;
    const std::vector<int32_t> ids = Tokenizer::from_gguf(v).encode("a");
    EXPECT_TRUE(ids.empty() || ids.front() != file.bos()) << shape;
  }
}

std::vector<uint32_t> hashes_of(const std::string& name) {
  const std::string bytes = read_file(golden_folder() / (name + ".bin"));
  std::vector<uint32_t> hashes(bytes.size() / 4);
  std::memcpy(hashes.data(), bytes.data(), hashes.size() * 4);
  return hashes;
}

// Models of SentencePiece's trainer against the results of its library.
void compare_with_sentencepiece(const std::string& name, const std::string& model) {
  const std::string file = (golden_folder() / name / "sentencepiece.model").string();
  const auto source = pipeline::SentencePieceModel::parse(read_file(file), file);
  GgufVocabulary v{.model = model};
  for (const auto& piece : source.pieces) {
    v.tokens.push_back(piece.text);
    v.scores.push_back(piece.score);
    v.token_types.push_back(piece.type);
  }
  v.unk = source.unk_id;
  v.add_bos = v.add_eos = false;
  v.precompiled_charsmap = source.charsmap;
  const Tokenizer tokenizer = Tokenizer::from_gguf(v);
  const std::vector<uint32_t> hashes = hashes_of(name);
  ASSERT_GE(hashes.size(), 10000u);
  int wrong = 0;
  for (uint64_t i = 0; i < hashes.size(); ++i) {
    const std::string text = golden_string(i, {});
    const std::vector<int32_t> ids = tokenizer.encode(text, {.parse_special_tokens = false});
    if (hash_ids(ids) == hashes[i]) continue;
    if (++wrong <= 5)
      ADD_FAILURE() << i << ": " << Json(text).dump(-1, ' ', false, Json::error_handler_t::replace) << " gives " << Json(ids).dump();
  }
  EXPECT_EQ(wrong, 0);
}
TEST(Gguf, scored_pairs_equal_sentence_piece) { compare_with_sentencepiece("spm_bpe", "llama"); }
TEST(Gguf, scored_pairs_without_bytes_equal_sentence_piece) { compare_with_sentencepiece("spm_bpe_unk", "llama"); }
TEST(Gguf, unigram_equals_sentence_piece) { compare_with_sentencepiece("spm_unigram", "t5"); }

TEST(Gguf, word_piece_equals_tokenizer_json) {
  const Tokenizer file = Tokenizer::open(golden_folder() / "bert");
  GgufVocabulary v = vocabulary_of(file);
  v.model = "bert";
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    std::string& token = v.tokens[i];
    if (v.token_types[i] != 1) continue;
    token = token.starts_with("##") ? token.substr(2) : "\u2581" + token;
  }
  v.cls = file.id_of("[CLS]");
  v.sep = file.id_of("[SEP]");
  const Tokenizer gguf = Tokenizer::from_gguf(v);
  for (uint64_t i = 0; i < 3000; ++i) {
    const std::string text = golden_string(i, {});
    ASSERT_EQ(gguf.encode(text), file.encode(text)) << i;
    ASSERT_EQ(gguf.decode(gguf.encode(text)), file.decode(file.encode(text))) << i;
  }
}

// A space before the text and after each special token, unless the file turns it off.
TEST(Gguf, space_prefix) {
  GgufVocabulary v{.model = "llama"};
  v.tokens = {"<unk>", "<s>", "</s>", "\u2581", "a", "b", "\u2581a", "ab"};
  v.scores = {0, 0, 0, -5, -6, -7, -1, -2};
  v.token_types = {2, 3, 3, 1, 1, 1, 1, 1};
  v.bos = 1;
  v.eos = 2;
  v.unk = 0;
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(Tokenizer::from_gguf(v).encode("ab</s>ab b"), (Ids{1, 6, 5, 2, 6, 5, 3, 5}));
  EXPECT_EQ(Tokenizer::from_gguf(v).encode("ac"), (Ids{1, 6, 0}));
  EXPECT_EQ(Tokenizer::from_gguf(v).decode(Ids{6, 5}), "ab");
  EXPECT_EQ(Tokenizer::from_gguf(v).encode("a</s>", {.add_special_tokens = false, .parse_special_tokens = false}), (Ids{6, 0}));
  v.add_space_prefix = false;
  EXPECT_EQ(Tokenizer::from_gguf(v).encode("ab</s>ab b"), (Ids{1, 7, 2, 7, 3, 5}));
  v.add_eos = true;
  EXPECT_EQ(Tokenizer::from_gguf(v).encode("ab"), (Ids{1, 7, 2}));
}

TEST(Gguf, refusals) {
  GgufVocabulary good{.model = "gpt2", .pre = "gpt-2", .tokens = {"a", "b", "ab"}, .merges = {"a b"}};
  EXPECT_EQ(Tokenizer::from_gguf(good).encode("ab"), (std::vector<int32_t>{2}));
  const auto refused = [&good](auto change, const char* word, auto error) {
    GgufVocabulary v = good;
    change(v);
    try {
      Tokenizer::from_gguf(v);
      ADD_FAILURE() << "taken: " << word;
    } catch (const decltype(error)& e) { EXPECT_NE(std::string_view(e.what()).find(word), std::string_view::npos) << e.what(); }
  };
  refused([](GgufVocabulary& v) { v.pre = "default"; }, "default", UnsupportedError(""));
  refused([](GgufVocabulary& v) { v.model = "plamo2"; }, "plamo2", UnsupportedError(""));
  refused([](GgufVocabulary& v) { v.tokens = {}; }, "tokens", WeightError(""));
  refused([](GgufVocabulary& v) { v.model = "llama"; }, "scores", WeightError(""));
  refused([](GgufVocabulary& v) { v.token_types = {1}; }, "token_type", WeightError(""));
  refused([](GgufVocabulary& v) { v.merges = {"ab"}; }, "merges", WeightError(""));
  refused([](GgufVocabulary& v) { v.merges = {"a c"}; }, "'c'", WeightError(""));
  refused([](GgufVocabulary& v) { v.tokens[1] = "a"; }, "'a'", WeightError(""));
  refused([](GgufVocabulary& v) { v.bos = 3; }, "bos", WeightError(""));
}

}  // namespace
}  // namespace hearth::text
