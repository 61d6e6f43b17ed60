#include "text/tokenizer/world_vocabulary.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/file.h"
#include "core/files/json.h"
#include "support/files.h"
#include "support/golden.h"
#include "text/tokenizer/gguf_vocabulary.h"

namespace hearth::text {
namespace {

using pipeline::bytes_of_world_token, pipeline::escaped_world_token, pipeline::read_world_vocabulary;
using Json = nlohmann::json;

std::filesystem::path golden() { return test::folder_of(__FILE__) / "golden" / "world"; }

TEST(WorldVocabulary, lines_are_python_literals) {
  const std::vector<std::string> tokens = read_world_vocabulary(
      "1 '\\x00' 1\n2 b'\\xe4' 1\n3 '\\xe4' 2\n4 '\\u2003' 3\n5 '\\t\\n\\\\' 3\n7 \"it's\" 4\r\n8 ' ' 1\n9 '\xc3\xa9 b' 4", "file");
  EXPECT_EQ(tokens, (std::vector<std::string>{"", std::string(1, '\0'), "\xe4", "\xc3\xa4", "\xe2\x80\x83", "\t\n\\", "", "it's", " ",
                                              "\xc3\xa9 b"}));
}

TEST(WorldVocabulary, tokens_are_escaped_as_python_escapes_bytes) {
  for (const auto& [bytes, escaped] : std::initializer_list<std::pair<std::string, std::string>>{
           {"a b", "a b"}, {"\n\t\r\\", "\\n\\t\\r\\\\"}, {"it's", "it's"}, {"\"", "\""}, {"'\"", "\\'\""}, {"\xe4\x01", "\\xe4\\x01"}}) {
    EXPECT_EQ(escaped_world_token(bytes), escaped);
    EXPECT_EQ(bytes_of_world_token(escaped), bytes);
  }
}

TEST(WorldVocabulary, malformed_lines_are_refused) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      read_world_vocabulary(text, "file");
    } catch (const WeightError& e) { return e.what(); }
    return "";
  };
  const std::string malformed = "file: line 2 is malformed, expected an id, a literal and its number of bytes";
  for (const char* line : {"2", "2 'a'", "x 'a' 1", "2 'a' 2", "2 a 1", "2 'a 1", "2 '\\q' 1", "-1 'a' 1", "99999999999 'a' 1"})
    EXPECT_EQ(refusal(std::string("1 'b' 1\n") + line), malformed) << line;
  EXPECT_EQ(refusal("1 'b' 1\n1 'c' 1"), "file: line 2 has the id 1 again");
}

// A made-up vocabulary in the form of the published one. The ids are those of the reference.
TEST(WorldVocabulary, ids_are_those_of_the_reference) {
  const Tokenizer folder = Tokenizer::open(golden());
  const std::vector<std::string> tokens =
      read_world_vocabulary(read_file(golden() / pipeline::world_vocabulary_file), "rwkv_vocab_v20230424.txt");
  GgufVocabulary v;
  v.model = gguf_world;
  v.bos = v.eos = 0;
  for (size_t id = 0; id < tokens.size(); ++id) {
    const bool padding = tokens[id].empty() && id > 0;
    v.tokens.push_back(id == 0 ? "<s>" : padding ? "[PAD" + std::to_string(id) + "]" : escaped_world_token(tokens[id]));
    v.token_types.push_back(id == 0 ? 3 : padding ? 5 : 1);
  }
  const Tokenizer gguf = Tokenizer::from_gguf(v);
  for (const Json& sample : load_json(golden() / "golden.json")) {
    const std::string text = sample.at("text");
    const auto ids = sample.at("ids").get<std::vector<int32_t>>();
    EXPECT_EQ(folder.encode(text), ids) << text;
    EXPECT_EQ(gguf.encode(text), ids) << text;
    EXPECT_EQ(folder.decode(ids), text);
    EXPECT_EQ(gguf.decode(ids), text);
  }
  EXPECT_EQ(folder.eos(), std::optional<int32_t>(0));
  EXPECT_EQ(gguf.eos(), std::optional<int32_t>(0));
}

}  // namespace
}  // namespace hearth::text
