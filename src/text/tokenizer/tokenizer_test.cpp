// Tests beyond the goldens: streams, limits, refusals.
#include "text/tokenizer/tokenizer.h"
#include "core/text/utf8.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/file.h"
#include "core/files/json.h"
#include "support/golden.h"
#include "text/tokenizer/golden_strings_test.h"
#include "text/tokenizer/models.h"
#include "text/tokenizer/normalizers.h"
#include "text/tokenizer/regex.h"
#include "text/tokenizer/sentencepiece_model.h"

namespace hearth::text {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

fs::path golden(const char* shape) { return test::folder_of(__FILE__) / "golden" / shape; }

// A temporary folder of files.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / fmt::format("hearth-tokenizer-{}", getpid())) { fs::create_directories(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  void write(const char* name, const std::string& text) const { write_file(path_ / name, text); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Rows of ids that no text produces, so that runs of bytes are broken everywhere.
Ids random_ids(SplitMix& random, int64_t size) {
  Ids ids(random.below(24));
  for (int32_t& id : ids) id = int32_t(random.below(random.below(4) == 0 ? 300 : uint64_t(size)));
  return ids;
}

TEST(Stream, every_step_is_valid_and_the_whole_is_decode) {
  for (const char* shape : {"gpt2", "llama3", "llama2", "llama_model_new", "gemma", "t5_json", "bert", "mistral"}) {
    const Tokenizer tokenizer = Tokenizer::open(golden(shape));
    SplitMix random(11);
    for (int i = 0; i < 2000; ++i) {
      const DecodeOptions options = {.skip_special_tokens = i % 2 == 0, .clean_up_tokenization_spaces = i % 3 == 0};
      const Ids ids = random_ids(random, tokenizer.vocab_size() + 5);
      StreamDecoder stream(tokenizer, options);
      std::string text;
      for (const int32_t id : ids) {
        const std::string part = stream.push(id);
        ASSERT_EQ(valid_utf8(part), part) << shape;
        text += part;
        // The output so far is a prefix of the text of the ids so far, and of every continuation.
        ASSERT_TRUE(tokenizer.decode(ids, options).starts_with(text)) << shape << " " << i;
      }
      ASSERT_EQ(text + stream.finish(), tokenizer.decode(ids, options)) << shape << " " << i;
    }
  }
}

TEST(Stream, text_comes_as_soon_as_it_is_certain) {
  const Tokenizer tokenizer = Tokenizer::open(golden("gpt2"));
  StreamDecoder stream(tokenizer);
  const Ids ids = tokenizer.encode(
      "ab\xf0\x9f\x98\x80"
      "c");
  std::vector<std::string> parts;
  for (const int32_t id : ids) parts.push_back(stream.push(id));
  EXPECT_EQ(parts.front().substr(0, 1), "a");
  EXPECT_EQ(parts.back().back(), 'c');
  EXPECT_EQ(stream.finish(), "");
  // An incomplete character becomes one U+FFFD; then the stream is ready for a new text.
  const int32_t lead = *tokenizer.id_of("ð");
  EXPECT_EQ(stream.push(lead), "");
  EXPECT_EQ(stream.finish(), "\xef\xbf\xbd");
  EXPECT_EQ(stream.push(*tokenizer.id_of("a")), "a");
}

TEST(Stream, byte_runs_are_all_or_nothing) {
  const Tokenizer tokenizer = Tokenizer::open(golden("llama2"));
  const auto byte = [&](const char* name) { return *tokenizer.id_of(name); };
  EXPECT_EQ(tokenizer.decode(Ids{byte("<0x41>"), byte("<0xC3>"), byte("<0xA9>")}), "A\xc3\xa9");
  EXPECT_EQ(tokenizer.decode(Ids{byte("<0x41>"), byte("<0xC3>")}), "\xef\xbf\xbd\xef\xbf\xbd");
}

bool adds_bos(const Tokenizer& tokenizer) { return tokenizer.bos() && tokenizer.encode("a").front() == *tokenizer.bos(); }

TEST(Tokenizer, reports_its_special_tokens) {
  const Tokenizer llama3 = Tokenizer::open(golden("llama3"));
  EXPECT_EQ(llama3.bos_token(), "<|begin_of_text|>");
  EXPECT_EQ(llama3.eos_token(), "<|eot_id|>");
  EXPECT_EQ(llama3.unk(), std::nullopt);
  EXPECT_EQ(llama3.bos(), llama3.id_of("<|begin_of_text|>"));
  EXPECT_TRUE(llama3.is_special(*llama3.bos()));
  EXPECT_FALSE(llama3.is_special(0));
  EXPECT_TRUE(adds_bos(llama3));
  EXPECT_EQ(llama3.piece(int32_t(llama3.vocab_size())), std::nullopt);
  EXPECT_EQ(llama3.piece(-1), std::nullopt);
  EXPECT_EQ(llama3.decode(Ids{-1, 1 << 30}), "");
  EXPECT_EQ(llama3.encode("<|eot_id|>", {.add_special_tokens = false}), Ids{*llama3.eos()});
  EXPECT_GT(llama3.encode("<|eot_id|>", {.add_special_tokens = false, .parse_special_tokens = false}).size(), 1u);
  EXPECT_FALSE(adds_bos(Tokenizer::open(golden("qwen2"))));
  EXPECT_FALSE(adds_bos(Tokenizer::open(golden("llama2"))));  // add_bos_token false wins over the file
  EXPECT_TRUE(adds_bos(Tokenizer::open(golden("llama_model"))));
  const Tokenizer::Encoding both = llama3.encode_with_pieces("hi there");
  ASSERT_EQ(both.ids.size(), both.pieces.size());
  EXPECT_EQ(both.pieces.front(), "<|begin_of_text|>");
}

// Results of tokenizers 0.22.2.
TEST(Tokenizer, unknown_characters_single_or_fused) {
  const auto ids_of = [](bool byte_fallback, bool fuse_unk, const char* text) {
    Ids ids;
    pipeline::make_byte_pairs({{"u", 0}, {"a", 1}, {"<0xC3>", 2}, {"<0xA9>", 3}}, {},
                              {.unk_token = "u", .fuse_unk = fuse_unk, .byte_fallback = byte_fallback})
        ->tokenize(text, ids);
    return ids;
  };
  for (const bool bytes : {false, true}) {
    EXPECT_EQ(ids_of(bytes, false, "xxa"), (Ids{0, 0, 1}));
    EXPECT_EQ(ids_of(bytes, true, "xxa"), (Ids{0, 1}));
    EXPECT_EQ(ids_of(true, bytes,
                     "x\xc3\xa9"
                     "a"),
              (Ids{2, 3, 0, 1}));
  }
}

TEST(Tokenizer, a_prepended_prefix_counts_as_the_start) {
  const std::string file = R"({"normalizer": {"type": "Prepend", "prepend": ">"}, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"String": ">"}, "behavior": "Isolated", "invert": false},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true}]},
    "model": {"type": "WordLevel", "unk_token": "[U]", "vocab": {"▁>": 0, "▁hi": 1, "hi": 2, ">": 3, "[U]": 4}}})";
  const Folder folder;
  folder.write("tokenizer.json", file);
  EXPECT_EQ(Tokenizer::open(folder.path()).encode("hi"), (Ids{0, 1}));
}

// Results of tokenizers 0.22.2: noncharacters are kept, like unassigned characters.
TEST(Tokenizer, bert_keeps_unassigned_characters) {
  const Json stage = {{"type", "BertNormalizer"}, {"clean_text", true}, {"handle_chinese_chars", false}, {"lowercase", false}};
  pipeline::Text text{.bytes = "a\ufffe\U0001ffff\ufdd0\u0378\ue000\u200b\u0001z", .origin = 1};
  pipeline::make_normalizer(stage)->apply(text);
  EXPECT_EQ(text.bytes, "a\ufffe\U0001ffff\ufdd0\u0378z");
}

// Results of transformers 4.57.1: tokenizer_config.json overrides a ByteLevel that is not inside a Sequence.
TEST(Tokenizer, the_prefix_space_of_a_byte_level_is_the_configs) {
  const Ids spaced{0}, bare{1};
  const auto ids_of = [](bool in_file, bool in_sequence, const std::string& config) {
    std::string stage = fmt::format(R"({{"type": "ByteLevel", "add_prefix_space": {}, "trim_offsets": true, "use_regex": true}})", in_file);
    if (in_sequence) stage = R"({"type": "Sequence", "pretokenizers": [)" + stage + "]}";
    const Folder folder;
    folder.write("tokenizer.json", R"({"model": {"type": "WordLevel", "unk_token": "[U]", "vocab": {"Ġhi": 0, "hi": 1, "[U]": 2}},
                                       "pre_tokenizer": )" +
                                       stage + "}");
    folder.write("tokenizer_config.json", config);
    return Tokenizer::open(folder.path()).encode("hi");
  };
  for (const bool in_file : {true, false}) {
    const Ids stated = in_file ? spaced : bare;
    EXPECT_EQ(ids_of(in_file, false, "{}"), bare);
    // These two do not set it by default.
    for (const char* kind : {"LlamaTokenizer", "T5TokenizerFast"})
      EXPECT_EQ(ids_of(in_file, false, fmt::format(R"({{"tokenizer_class": "{}", "bos_token": "[U]", "unk_token": "[U]"}})", kind)).back(),
                stated.back())
          << kind;
    EXPECT_EQ(ids_of(in_file, false, R"({"add_prefix_space": true})"), spaced);
    EXPECT_EQ(ids_of(in_file, false, R"({"add_prefix_space": false})"), bare);
    EXPECT_EQ(ids_of(in_file, false, R"({"add_prefix_space": null})"), stated);
    for (const char* config : {"{}", R"({"add_prefix_space": true})", R"({"add_prefix_space": false})"})
      EXPECT_EQ(ids_of(in_file, true, config), stated) << config;
  }
}

TEST(Tokenizer, a_class_of_the_authors_leaves_spaces_to_the_model_and_ids_to_the_configuration) {
  const FamilyClass classes[] = {{"lantern", "LlamaTokenizer", "LanternTokenizer"}};
  const auto open = [&](const char* shape) {
    const Folder folder;
    folder.write("tokenizer.model", read_file(golden(shape) / "tokenizer.model"));
    folder.write("tokenizer_config.json",
                 R"({"tokenizer_class": "LanternTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
      "added_tokens_decoder": {"500": {"content": "<|turn|>", "special": true, "normalized": false}}})");
    return Tokenizer::open(folder.path(), classes);
  };
  const Tokenizer spaced = open("llama_model"), plain = open("gemma");
  EXPECT_EQ(spaced.encode("a lantern"), Tokenizer::open(golden("llama_model")).encode("a lantern"));
  EXPECT_EQ(spaced.encode("<|turn|>"), (Ids{*spaced.bos(), 500}));
  EXPECT_EQ(spaced.encode_with_pieces("a").pieces.back(), "\u2581a");
  EXPECT_EQ(plain.encode_with_pieces("a").pieces.back(), "a");
  EXPECT_EQ(plain.decode(plain.encode("a lantern"), {.skip_special_tokens = true}), "a lantern");
}

// Results of transformers 4.57.1: a token that the configuration names is special, regardless of the files; also tests whose flags it has.
TEST(Tokenizer, named_tokens_are_special) {
  const auto open = [](bool special, const char* config) {
    const Folder folder;
    const std::string stage = R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true})";
    folder.write("tokenizer.json", fmt::format(R"({{"model": {{"type": "BPE", "vocab": {{"a": 0, "b": 1, "Ġ": 2}}, "merges": []}},
                                  "added_tokens": [{{"id": 3, "content": "<e>", "single_word": false, "lstrip": false, "rstrip": true,
                                                     "normalized": false, "special": {}}}],
                                  "pre_tokenizer": {}, "decoder": {}}})",
                                               special, stage, stage));
    folder.write("tokenizer_config.json", config);
    return Tokenizer::open(folder.path());
  };
  const char* const entry = R"({"content": "<e>", "lstrip": false, "rstrip": true, "normalized": false, "single_word": false})";
  const std::string configured = fmt::format(R"({{"eos_token": "<e>", "added_tokens_decoder": {{"3": {}}}}})", entry);
  for (const char* config : {R"({"eos_token": "<e>"})", R"({"additional_special_tokens": ["<e>"]})", configured.c_str()})
    EXPECT_EQ(open(false, config).decode(Ids{0, 3, 1}, {.skip_special_tokens = true}), "ab") << config;
  for (const char* config : {"{}", R"({"additional_special_tokens": ["<e>"], "added_tokens_decoder": {}})"})
    EXPECT_EQ(open(false, config).decode(Ids{0, 3, 1}, {.skip_special_tokens = true}), "a<e>b") << config;

  const Ids stripped{3, 0}, kept{3, 2, 0};
  EXPECT_EQ(open(true, R"({"eos_token": "<e>", "added_tokens_decoder": {}})").encode("<e> a"), stripped);
  EXPECT_EQ(open(true, R"({"eos_token": "<e>", "tokenizer_class": "Qwen2Tokenizer"})").encode("<e> a"), stripped);
  EXPECT_EQ(open(true, R"({"eos_token": "<e>", "tokenizer_class": "Qwen2Tokenizer", "added_tokens_decoder": {}})").encode("<e> a"), kept);
}

// Results of tokenizers 0.22.2, whose JSON parser rounds twice: with exact scores "00" "00" "000" would be the best.
TEST(Tokenizer, scores_are_read_as_the_reference_reads_them) {
  const Folder folder;
  folder.write("tokenizer.json", R"({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["0", -9.622800827026367],
                                               ["00", -9.629118919372559], ["000", -11.404349327087402]]}})");
  EXPECT_EQ(Tokenizer::open(folder.path()).encode("0000000"), (Ids{2, 3, 2}));
}

// Results of transformers 4.57.1: GPT2's class ignores a last line without a line end.
TEST(Tokenizer, the_last_line_of_the_merges) {
  for (const bool qwen2 : {false, true})
    for (const bool ends : {false, true}) {
      const Folder folder;
      folder.write("vocab.json", R"({"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "<|endoftext|>": 5})");
      folder.write("merges.txt", fmt::format("#version: 0.2\na b\nb c{}", ends ? "\n" : ""));
      folder.write("tokenizer_config.json", fmt::format(R"({{"tokenizer_class": "{}"}})", qwen2 ? "Qwen2Tokenizer" : "GPT2Tokenizer"));
      EXPECT_EQ(Tokenizer::open(folder.path()).encode("bc"), qwen2 || ends ? (Ids{4}) : (Ids{1, 2})) << qwen2 << ends;
    }
}

// Results of Python's unicodedata.
TEST(Tokenizer, marks_come_into_canonical_order) {
  pipeline::Text text{.bytes = "a\u0301\u0323\u0301\u0323\u0301\u0323 \u0f40\u0f73\u0f71\u0f81", .origin = 1};
  pipeline::make_normalizer({{"type", "NFC"}})->apply(text);
  EXPECT_EQ(text.bytes, "\u1ea1\u0323\u0323\u0301\u0301\u0301 \u0f40\u0f71\u0f71\u0f71\u0f72\u0f80");
}

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A single word of one megabyte, for which a quadratic algorithm would take hours.
TEST(Tokenizer, long_words) {
  for (const char* shape : {"gpt2", "qwen2", "llama3", "llama2", "t5_json", "bert"}) {
    const Tokenizer tokenizer = Tokenizer::open(golden(shape));
    for (const char* part : {"a", "ab", " ", "\n", "é", "\xff", "7", "\u0301\u0323"}) {
      std::string text;
      while (text.size() < 300'000) text += part;
      Ids ids;
      EXPECT_LT(seconds_of([&] { ids = tokenizer.encode(text); }), 30) << shape << " '" << part << "'";
      EXPECT_LT(seconds_of([&] { tokenizer.decode(ids); }), 30) << shape << " '" << part << "'";
    }
  }
}

TEST(Regex, patterns_without_end_are_refused) {
  const std::string text = std::string(20'000, 'a') + "!";
  for (const char* pattern : {"(a+)+[bc]", "(a|aa)+[bc]", "(a*a)+[bc]"})
    EXPECT_THROW(pipeline::Regex(pattern).find_all(text), UnsupportedError) << pattern;
  for (const char* pattern : {"(", "[a", "\\p{Nonsense}", "(?<x>a", "*"}) EXPECT_THROW(pipeline::Regex{pattern}, WeightError) << pattern;
  EXPECT_EQ(pipeline::Regex("x*").find_all("axb").size(), 3u);  // before a, x, after b
  // Published patterns stay far below the limit on long runs.
  const std::string spaces(1'000'000, ' ');
  EXPECT_EQ(pipeline::Regex("\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+").find_all(spaces + "x").size(), 2u);
}

// The error of a tokenizer.json, or "" if it is accepted.
std::string error_of(const std::string& json, const std::string& config = "{}") {
  const Folder folder;
  folder.write("tokenizer.json", json);
  folder.write("tokenizer_config.json", config);
  try {
    Tokenizer::open(folder.path()).encode("ab c");
    return {};
  } catch (const Error& e) { return e.what(); }
}

std::string with(const std::string& member) {
  return R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]})" + member + "}";
}

TEST(Refusals, name_the_error) {
  EXPECT_EQ(error_of(with("")), "");
  const std::pair<std::string, const char*> files[] = {
      {"", "invalid JSON"},
      {"[1]", "object"},
      {"{\"model\": {}\n, x", "line 2"},
      {"{}", "model"},
      {R"({"version": "2.0"})", "2.0"},
      {R"({"model": {"type": "Markov", "vocab": {}}})", "Markov"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0, "a": 1}, "merges": []}})", "'a'"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []}})", "id 0"},
      {R"({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})", "-1"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 4294967296}, "merges": []}})", "4294967296"},
      {R"({"model": {"type": "BPE", "vocab": {"a": "x"}, "merges": []}})", "vocab"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})", "'b'"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]}})", "merge"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a"]]}})", "merges"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1}})", "dropout"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "unk_token": "u"}})", "'u'"},
      {R"({"model": {"type": "Unigram", "vocab": [["a", -1]], "unk_id": 1}})", "unk_id"},
      {R"({"model": {"type": "Unigram", "vocab": [["a", -1]], "unk_id": null}})", "no token"},
      {R"({"model": {"type": "Unigram", "vocab": [["a", -1], ["a"]], "unk_id": 0}})", "vocab"},
      {R"({"model": {"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "u", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9}})",
       "'u'"},
      {R"({"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "u"}})", "'u'"},
      {with(R"(, "normalizer": {"type": "Magic"})"), "Magic"},
      {with(R"(, "normalizer": {"type": "Prepend"})"), "prepend"},
      {with(R"(, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "////"})"), "charsmap"},
      {with(R"(, "normalizer": [])"), "normalizer"},
      {with(R"(, "pre_tokenizer": {"type": "Magic"})"), "Magic"},
      {with(R"(, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Removed", "invert": false})"), "'('"},
      {with(R"(, "pre_tokenizer": {"type": "Split", "pattern": {"String": "x"}, "behavior": "Away", "invert": false})"), "Away"},
      {with(R"(, "pre_tokenizer": {"type": "Metaspace", "replacement": "ab"})"), "replacement"},
      {with(R"(, "decoder": {"type": "Magic"})"), "Magic"},
      {with(R"(, "decoder": {"type": "Strip", "content": " ", "start": -1, "stop": 0})"), "start"},
      {with(R"(, "post_processor": {"type": "Magic"})"), "Magic"},
      {with(R"(, "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}], "special_tokens": {}})"),
       "special_tokens"},
      {with(R"(, "added_tokens": [{"id": 3}])"), "added token"},
      {with(R"(, "added_tokens": 3)"), "added_tokens"},
      {with(R"(, "normalizer": )" + std::string(200, '[') + std::string(200, ']')), "levels"},
  };
  for (const auto& [json, word] : files) {
    const std::string error = error_of(json);
    EXPECT_NE(error.find(word), std::string::npos) << json.substr(0, 120) << ": " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
  EXPECT_NE(error_of(with(""), R"({"tokenizer_class": "LlamaTokenizer", "bos_token": null})").find("bos_token"), std::string::npos);
  EXPECT_NE(error_of(with(""), R"({"added_tokens_decoder": {"x": {"content": "y"}}})").find("'x'"), std::string::npos);
  EXPECT_NE(error_of(with(""), R"({"add_bos_token": 3, "tokenizer_class": "LlamaTokenizer"})").find("add_bos_token"), std::string::npos);
  EXPECT_NE(error_of(with(""), R"({"extra_ids": "many", "tokenizer_class": "T5Tokenizer"})").find("extra_ids"), std::string::npos);
  EXPECT_THROW(Tokenizer::open("nowhere"), IoError);
  const Folder empty;
  EXPECT_THROW(Tokenizer::open(empty.path()), IoError);
}

TEST(Refusals, damaged_sentence_piece_models) {
  const std::string whole = read_file(golden("llama_model") / "tokenizer.model");
  using pipeline::SentencePieceModel;
  EXPECT_GT(SentencePieceModel::parse(whole, "m").pieces.size(), 1000u);
  EXPECT_THROW(SentencePieceModel::parse("", "m"), IoError);
  EXPECT_THROW(SentencePieceModel::parse("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "m"), IoError);  // a length of 2⁶⁴ − 1
  EXPECT_THROW(SentencePieceModel::parse(std::string(11, '\xff'), "m"), IoError);
  EXPECT_THROW(SentencePieceModel::parse(whole.substr(0, 1000), "m"), IoError);
  EXPECT_THROW(SentencePieceModel::parse("{\"version\": \"1.0\"}", "m"), IoError);
}

}  // namespace
}  // namespace hearth::text
