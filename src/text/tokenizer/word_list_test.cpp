// vocab.txt gives the tokenizer that tokenizer.json describes (golden/bert, whose strings golden_test compares with the reference).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/files/json.h"
#include "support/complaint.h"
#include "support/files.h"
#include "support/golden.h"
#include "text/tokenizer/golden_strings_test.h"
#include "text/tokenizer/tokenizer.h"

namespace hearth::text {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path golden = test::folder_of(__FILE__) / "golden";

// The vocabulary of a golden, a token per line.
std::string word_list(const char* shape, std::string_view line_end) {
  std::map<int64_t, std::string> tokens;
  const Json vocab = load_json(golden / shape / "tokenizer.json").at("model").at("vocab");
  for (const auto& [token, id] : vocab.items()) tokens[id] = token;
  std::string list;
  for (const auto& [id, token] : tokens) list += token + std::string(line_end);
  return list;
}

TEST(WordList, equals_tokenizer_json) {
  for (const char* shape : {"bert", "bert_cased"}) {
    const test::TemporaryFolder folder;
    write_file(folder / "vocab.txt", word_list(shape, shape == std::string("bert") ? "\n" : "\r\n"));
    fs::copy_file(golden / shape / "tokenizer_config.json", folder / "tokenizer_config.json");
    const Tokenizer tokenizer = Tokenizer::open(folder.path()), wanted = Tokenizer::open(golden / shape);
    EXPECT_EQ(tokenizer.vocab_size(), wanted.vocab_size());
    const auto special = load_json(golden / shape / "golden.json").at("special").get<std::vector<std::string>>();
    for (uint64_t i = 0; i < 1000; ++i) {
      const std::string text = golden_string(i, special);
      const std::vector<int32_t> ids = wanted.encode(text);
      ASSERT_EQ(tokenizer.encode(text), ids) << text;
      ASSERT_EQ(tokenizer.decode(ids), wanted.decode(ids)) << text;
    }
    EXPECT_EQ(tokenizer.pad(), wanted.pad());
  }
}

TEST(WordList, the_last_of_equal_lines_counts) {
  const test::TemporaryFolder folder;
  write_file(folder / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\na\n");
  write_file(folder / "tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer"})");
  EXPECT_EQ(Tokenizer::open(folder.path()).encode("a b c"), (std::vector<int32_t>{2, 7, 6, 1, 3}));
}

TEST(WordList, faults_are_named) {
  const test::TemporaryFolder folder;
  write_file(folder / "tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer"})");
  const auto said = [&] { return test::message_of<Error>([&] { Tokenizer::open(folder.path()); }, folder.path()); };
  EXPECT_EQ(said(), "FOLDER: holds no tokenizer, expected tokenizer.json, vocab.txt, or vocab.json and merges.txt");
  write_file(folder / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\na\n");
  EXPECT_EQ(said(), "FOLDER/vocab.txt: the vocabulary has no '[SEP]'");
}

}  // namespace
}  // namespace hearth::text
