// Folders that are not a CLIP tokenizer each give a clear error.
#include "text/clip/clip_vocabulary.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "support/golden.h"
#include "text/clip/clip_tokenizer.h"

namespace hearth::text {
namespace {

using Json = nlohmann::json;

ClipFiles demo() { return ClipFiles::read(test::folder_of(__FILE__) / "../../../assets/demo-model/tokenizer"); }
ClipFiles transformers5() { return ClipFiles::read(test::folder_of(__FILE__) / "golden/transformers5"); }

template <class E> void expect_error(const ClipFiles& files, const std::string& part) {
  try {
    ClipVocabulary::parse(files);
    ADD_FAILURE() << "no error, expected one with '" << part << "'";
  } catch (const E& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what() << "\n  lacks: " << part;
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ClipVocabulary, missing_files) {
  EXPECT_THROW(ClipTokenizer::load("no/such/folder"), IoError);
  EXPECT_THROW(ClipTokenizer::load(test::folder_of(__FILE__) / "golden"), IoError);  // a folder without any of the files
  ClipFiles files = demo();
  files.vocab_json.reset();
  expect_error<IoError>(files, "vocab.json: missing");
  files = demo();
  files.merges_txt.reset();
  expect_error<IoError>(files, "merges.txt: missing");
  files = demo();
  files.vocab_json.reset();
  files.tokenizer_json = transformers5().tokenizer_json;
  expect_error<IoError>(files, "vocab.json: missing");  // tokenizer.json is sufficient only if it is the only file
}

TEST(ClipVocabulary, malformed_vocabulary) {
  const auto with = [](const std::string& from, const std::string& to) {
    ClipFiles files = demo();
    files.vocab_json = replaced(*files.vocab_json, from, to);
    return files;
  };
  expect_error<IoError>(with("{", ""), "vocab.json: invalid JSON");
  expect_error<IoError>(with("\"!\": 0", "\"!\": 0, \"!\": 0"), "twice");
  expect_error<WeightError>(with("\"!\": 0", "\"!\": 1"), "id 1 belongs to");
  expect_error<WeightError>(with("\"!\": 0", "\"!\": -1"), "token '!' has id -1, expected an integer from 0");
  expect_error<WeightError>(with("\"!\": 0", "\"!\": 0.5"), "id 0.5");
  expect_error<WeightError>(with("\"!\": 0", "\"!\": \"0\""), "id \"0\"");
  expect_error<WeightError>(with("\"!\": 0", "\"!\": 2147483648"), "id 2147483648");
  expect_error<WeightError>(with("\"<|startoftext|>\"", "\"<|start|>\""), "bos_token '<|startoftext|>' is not in the vocabulary");
  ClipFiles files = demo();
  files.vocab_json = "[]";
  expect_error<IoError>(files, "is not a JSON object");
  files.vocab_json = "{}";
  expect_error<WeightError>(files, "holds no tokens");
  files.vocab_json = "";
  expect_error<IoError>(files, "vocab.json");
}

TEST(ClipVocabulary, malformed_merges) {
  const auto with = [](const std::string& from, const std::string& to) {
    ClipFiles files = demo();
    files.merges_txt = replaced(*files.merges_txt, from, to);
    return files;
  };
  expect_error<WeightError>(with("#version: 0.2\n", ""), "line 1 is 't h', expected '#version");
  expect_error<WeightError>(with("t h\n", "t h\nt h\n"), "line 3: the merge 't h' occurs twice");
  expect_error<WeightError>(with("t h\n", "t h\nthh\n"), "line 3 is 'thh', expected two pieces");
  expect_error<WeightError>(with("t h\n", "t h\nt h e\n"), "line 3 is 't h e', expected two pieces");
  expect_error<WeightError>(with("t h\n", "t h\nt\n"), "line 3 is 't', expected two pieces");
  expect_error<WeightError>(with("t h\n", "t h\n\n"), "line 3 is empty");
  expect_error<WeightError>(with("t h\n", "t h\n\n\n"), "line 3 is empty");  // the first of them
  expect_error<WeightError>(with("t h\n", "t h\nz qq\n"), "line 3: the merge requires the token 'qq', which the vocabulary lacks");
  expect_error<WeightError>(with("t h\n", "t h\nz q\n"), "line 3: the merge requires the token 'zq', which the vocabulary lacks");
  // Other line ends and a blank last line are equivalent.
  ClipFiles files = demo();
  const size_t merges = ClipVocabulary::parse(files).merges.size();
  std::string text;
  for (const char c : *files.merges_txt) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  files.merges_txt = text + "\r\n \n";
  EXPECT_EQ(ClipVocabulary::parse(files).merges.size(), merges);
  EXPECT_EQ(merges, 210u);
}

// OpenAI's file has more lines than CLIP has merges.
TEST(ClipVocabulary, merges_beyond_those_of_clip_are_ignored) {
  constexpr int letters = 222;
  Json ids = {{"<|startoftext|>", 0}, {"<|endoftext|>", 1}};
  const auto add = [&ids](const std::string& token) {
    const size_t next = ids.size();
    ids[token] = next;
    return token;
  };
  std::vector<std::string> left, right;
  for (int i = 0; i < letters; ++i) {
    left.push_back(add(fmt::format("l{}", i)));
    right.push_back(add(fmt::format("r{}", i)));
  }
  ClipFiles files;
  files.merges_txt = "#version: 0.2\n";
  for (const std::string& a : left)
    for (const std::string& b : right) {
      add(a + b);
      *files.merges_txt += fmt::format("{} {}\n", a, b);
    }
  files.vocab_json = ids.dump();
  EXPECT_EQ(ClipVocabulary::parse(files).merges.size(), 48894u);
}

TEST(ClipVocabulary, configurations_that_would_change_ids) {
  const auto with = [](const std::string& key, const Json& value) {
    ClipFiles files = demo();
    Json config = Json::parse(*files.tokenizer_config);
    config[key] = value;
    files.tokenizer_config = config.dump();
    return files;
  };
  expect_error<UnsupportedError>(with("tokenizer_class", "T5Tokenizer"), "'tokenizer_class' = \"T5Tokenizer\" is not supported");
  expect_error<UnsupportedError>(with("add_prefix_space", true), "'add_prefix_space' = true is not supported");
  expect_error<UnsupportedError>(with("do_lower_case", false), "'do_lower_case' = false is not supported");
  expect_error<UnsupportedError>(with("split_special_tokens", true), "split_special_tokens");
  expect_error<UnsupportedError>(with("padding_side", "left"), "padding_side");
  expect_error<UnsupportedError>(with("truncation_side", "left"), "truncation_side");
  expect_error<UnsupportedError>(with("errors", "ignore"), "errors");
  expect_error<UnsupportedError>(with("extra_special_tokens", Json{{"x", "<x>"}}), "extra_special_tokens");
  expect_error<UnsupportedError>(with("add_bos_token", false), "add_bos_token");
  expect_error<UnsupportedError>(with("add_eos_token", false), "add_eos_token");
  expect_error<UnsupportedError>(with("strip_accents", true), "strip_accents");  // not a key of CLIP
  expect_error<WeightError>(with("model_max_length", 1), "model_max_length is 1, expected at least 2");
  expect_error<WeightError>(with("model_max_length", "77"), "model_max_length");
  expect_error<WeightError>(with("added_tokens_decoder", Json::array()), "added_tokens_decoder");
  expect_error<WeightError>(with("added_tokens_decoder", Json{{"x1", "<x>"}}), "has id 'x1'");
  expect_error<WeightError>(with("added_tokens_decoder", Json{{"", "<x>"}}), "has id ''");
  expect_error<WeightError>(with("added_tokens_decoder", Json{{"9999999999", "<x>"}}), "has id '9999999999'");
  expect_error<WeightError>(with("added_tokens_decoder", Json{{"3", "<x>"}}), "id 3 belongs to '$' and to '<x>'");
  expect_error<WeightError>(with("added_tokens_decoder", Json{{"900", "!"}}), "token '!' has id 900, elsewhere it has 0");
  expect_error<WeightError>(with("additional_special_tokens", "x"), "additional_special_tokens");
  expect_error<WeightError>(with("additional_special_tokens", Json::array({""})), "additional_special_tokens: a token is empty");
  EXPECT_EQ(ClipTokenizer::parse(with("extra_special_tokens", Json::array())).max_id(), 723);
  ClipFiles files = with("pad_token", nullptr);
  files.special_tokens_map.reset();
  expect_error<WeightError>(files, "pad_token is null, expected a token");
  files = with("pad_token", 3);
  expect_error<WeightError>(files, "pad_token: a token is 3");
  files = with("pad_token", "<pad>");
  files.special_tokens_map.reset();
  expect_error<WeightError>(files, "pad_token '<pad>' is not in the vocabulary");
}

TEST(ClipVocabulary, lengths_and_defaults) {
  ClipFiles files = demo();
  files.tokenizer_config.reset();
  files.special_tokens_map.reset();
  ClipVocabulary v = ClipVocabulary::parse(files);
  EXPECT_EQ(v.model_max_length, 77);
  EXPECT_EQ(v.bos, 722);
  EXPECT_EQ(v.eos, 723);
  EXPECT_EQ(v.pad, 723);
  EXPECT_EQ(v.tokens.size(), 724u);
  files.tokenizer_config = R"({"model_max_length": 1000000000000000019884624838656})";  // "none": 10³⁰
  EXPECT_EQ(ClipVocabulary::parse(files).model_max_length, 77);
  files.tokenizer_config = R"({"model_max_length": 64, "tokenizer_class": "CLIPTokenizerFast"})";
  EXPECT_EQ(ClipVocabulary::parse(files).model_max_length, 64);
  files.tokenizer_config = R"({"model_max_length": 2})";  // only the start and end tokens
  EXPECT_EQ(ClipTokenizer::parse(files).encode("a red house").ids, (std::vector<int32_t>{722, 723}));
}

TEST(ClipVocabulary, tokenizer_json_must_be_clips) {
  const Json whole = Json::parse(*transformers5().tokenizer_json);
  const auto with = [&](const char* pointer, const Json& value) {
    ClipFiles files = transformers5();
    Json changed = whole;
    changed[Json::json_pointer(pointer)] = value;
    files.tokenizer_json = changed.dump();
    return files;
  };
  expect_error<UnsupportedError>(with("/normalizer", nullptr), "normalizer is null");
  expect_error<UnsupportedError>(with("/normalizer/normalizers/0/type", "NFKC"), "normalizer");
  expect_error<UnsupportedError>(with("/pre_tokenizer/type", "Whitespace"), "pre_tokenizer: type is");
  expect_error<UnsupportedError>(with("/pre_tokenizer/pretokenizers/2", Json::object()), "has 3 stages, expected CLIP's 2");
  expect_error<UnsupportedError>(with("/pre_tokenizer/pretokenizers/0/type", "Digits"), "type is \"Digits\"");
  expect_error<UnsupportedError>(with("/pre_tokenizer/pretokenizers/1/type", "Metaspace"), "type is \"Metaspace\"");
  expect_error<UnsupportedError>(with("/pre_tokenizer/pretokenizers/0/pattern/Regex", "\\s+"), "pattern");
  expect_error<UnsupportedError>(with("/pre_tokenizer/pretokenizers/0/behavior", "Isolated"), "behavior");
  expect_error<UnsupportedError>(with("/pre_tokenizer/pretokenizers/0/invert", false), "invert");
  expect_error<UnsupportedError>(with("/pre_tokenizer/pretokenizers/1/add_prefix_space", true), "add_prefix_space");
  expect_error<UnsupportedError>(with("/pre_tokenizer/pretokenizers/1/use_regex", false), "use_regex");
  expect_error<WeightError>(with("/pre_tokenizer", nullptr), "pre_tokenizer");
  expect_error<UnsupportedError>(with("/model/type", "WordPiece"), "WordPiece");
  expect_error<UnsupportedError>(with("/model/end_of_word_suffix", ""), "end_of_word_suffix");
  expect_error<UnsupportedError>(with("/model/continuing_subword_prefix", "##"), "continuing_subword_prefix");
  expect_error<UnsupportedError>(with("/model/dropout", 0.1), "dropout");
  expect_error<UnsupportedError>(with("/model/fuse_unk", true), "fuse_unk");
  expect_error<UnsupportedError>(with("/model/byte_fallback", true), "byte_fallback");
  expect_error<UnsupportedError>(with("/model/ignore_merges", true), "ignore_merges");
  expect_error<UnsupportedError>(with("/post_processor/type", "ByteLevel"), "post_processor");
  expect_error<UnsupportedError>(with("/post_processor/cls/1", 3), "post_processor");
  expect_error<UnsupportedError>(with("/post_processor/sep/1", 3), "post_processor");
  expect_error<WeightError>(with("/model/merges/0", "th"), "entry 0");
  expect_error<WeightError>(with("/model/merges/0", "t h e"), "entry 0");
  expect_error<WeightError>(with("/model/merges/0", Json{"t", "h e"}), "entry 0 is [\"t\",\"h e\"], expected two pieces");
  expect_error<WeightError>(with("/model/merges/1", Json{"t", "h", "e"}), "entry 1 is [\"t\",\"h\",\"e\"], expected two pieces");
  expect_error<WeightError>(with("/model/merges/0", Json{"t", "qqq"}), "entry 0");
  expect_error<WeightError>(with("/model/vocab", Json::object()), "holds no tokens");
  expect_error<WeightError>(with("/added_tokens", 3), "added_tokens");
  expect_error<WeightError>(with("/added_tokens/0/id", "x"), "id \"x\"");

  // Both forms of merges are accepted.
  Json texts = whole;
  for (Json& merge : texts["model"]["merges"]) merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  ClipFiles files = transformers5();
  files.tokenizer_json = texts.dump();
  EXPECT_EQ(ClipVocabulary::parse(files).merges.size(), 210u);
  EXPECT_EQ(ClipVocabulary::parse(with("/model/continuing_subword_prefix", nullptr)).merges.size(), 210u);  // null means absent
}

}  // namespace
}  // namespace hearth::text
