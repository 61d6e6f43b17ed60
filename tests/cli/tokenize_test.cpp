// hearth tokenize and detokenize, as processes. The tokenizers are tested in text/tokenizer.
#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "core/files/file.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path shapes = fs::path(HEARTH_SOURCE_DIR) / "src/text/tokenizer/golden";
const fs::path golden = fs::path(HEARTH_SOURCE_DIR) / "tests/e2e/golden";
const fs::path demo = fs::path(HEARTH_SOURCE_DIR) / "assets/demo-model";

class TokenizeTest : public CommandTest {
 protected:
  Json tokens(const std::vector<std::string>& arguments) const {
    const Ended r = run(arguments);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.err, "");
    return Json::parse(r.out);
  }
};

std::string joined(const Json& ids) {
  std::string text;
  for (const Json& id : ids) text += id.dump() + ',';
  if (!text.empty()) text.pop_back();
  return text;
}

TEST_F(TokenizeTest, detokenized_tokens_are_the_text) {
  const std::string model = shapes / "llama3";
  const std::string text = "Hello, wörld!\r\n 12345 <|eot_id|>";
  const Json found = tokens({"tokenize", "-m", model, "-p", text, "--json"});
  EXPECT_EQ(found.size(), 2u);
  EXPECT_EQ(found["pieces"][0], "<|begin_of_text|>");
  EXPECT_EQ(found["pieces"].back(), "<|eot_id|>");
  EXPECT_EQ(found["ids"].size(), found["pieces"].size());
  const Json plain = tokens({"tokenize", "-m", model, "-p", text, "--json", "--no-special-tokens"});
  EXPECT_EQ(plain["ids"].size() + 1, found["ids"].size());
  EXPECT_EQ(plain["ids"][0], found["ids"][1]);
  EXPECT_EQ(tokens({"detokenize", "-m", model, "--ids", joined(found["ids"]), "--json"}), Json({{"text", "<|begin_of_text|>" + text}}));
  EXPECT_EQ(run({"detokenize", "-m", model, "--ids", joined(plain["ids"])}).out, text);
}

TEST_F(TokenizeTest, prints_chunks_and_weights_of_a_prompt) {
  const Json all = tokens({"tokenize", "-m", demo, "-p", "a (red:1.5) [house:hill:2] BREAK a AND sea:0.5", "--prompt-syntax", "a1111",
                           "--steps", "4", "--json"});
  ASSERT_EQ(all["encoders"].size(), 1u);
  const Json read = all["encoders"][0];
  EXPECT_EQ(read["encoder"], "text_encoder");
  ASSERT_EQ(read["conditions"].size(), 2u);
  EXPECT_EQ(read["conditions"][1]["weight"], 0.5);
  const Json texts = read["conditions"][0]["texts"];
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0]["end"], 2);
  EXPECT_EQ(texts[0]["text"], "a (red:1.5) house BREAK a");
  EXPECT_EQ(texts[1]["text"], "a (red:1.5) hill BREAK a");
  ASSERT_EQ(texts[0]["chunks"].size(), 2u);
  EXPECT_EQ(texts[0]["chunks"][0][1]["weight"], 1.5);
  EXPECT_EQ(texts[0]["chunks"][0][1]["piece"], "red");
  EXPECT_EQ(texts[0]["chunks"][1].size(), 1u);
  EXPECT_EQ(run({"tokenize", "-m", demo, "-p", "(a:0.5)", "--prompt-syntax", "comfyui"}).out.substr(0, 18), "chunk 1: 1 tokens\n");
  const auto weight = [&](const std::string& emphasis) {
    return tokens({"tokenize", "-m", demo, "-p", "(a:0.5)", "--prompt-syntax", "a1111", "--emphasis", emphasis,
                   "--json"})["encoders"][0]["conditions"][0]["texts"][0]["chunks"][0][0]["weight"];
  };
  EXPECT_EQ(weight("original"), 0.5);
  EXPECT_EQ(weight("ignore"), 1);
  EXPECT_EQ(run({"tokenize", "-m", demo, "-p", "a", "--emphasis", "ignore"}).code, 2);
  EXPECT_EQ(run({"tokenize", "-m", demo, "-p", "a", "--prompt-syntax", "a1111", "--steps", "0"}).code, 2);
  EXPECT_EQ(run({"tokenize", "-m", shapes / "llama3", "-p", "a", "--prompt-syntax", "a1111"}).code, 1);
}

// A folder, a single file and a DDUF file give the same.
TEST_F(TokenizeTest, every_layout_of_a_checkpoint_gives_the_same) {
  const fs::path folder_of = golden / "pndm", single = golden / "single/pndm.safetensors", dduf = folder / "pndm.dduf";
  EXPECT_EQ(run({"convert", "-m", folder_of, "-o", dduf, "--layout", "dduf"}).code, 0);
  const std::vector<std::string> prompt{"-p",
                                        "a (red:1.3) house, [hill] BREAK EMB",
                                        "--prompt-syntax",
                                        "a1111",
                                        "--embedding",
                                        "EMB=" + (golden / "prompts-tiny.safetensors").string()};
  const auto said = [&](std::vector<std::string> arguments, const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended r = run(arguments);
    EXPECT_EQ(r.code, 0) << r.err;
    return r.out;
  };
  const std::string wanted = said({"tokenize", "-m", folder_of}, prompt), plain = said({"tokenize", "-m", folder_of}, {"-p", "red houses"});
  EXPECT_NE(wanted.find("chunk 2: 2 tokens\n vector  1        EMB 1 of 2\n vector  1        EMB 2 of 2\n"), std::string::npos) << wanted;
  EXPECT_NE(wanted.find("  1.3      red\n"), std::string::npos) << wanted;
  EXPECT_EQ(said({"tokenize", "-m", dduf}, prompt), wanted);
  EXPECT_EQ(said({"tokenize", "-m", single, "--config", folder_of}, prompt), wanted);
  EXPECT_EQ(said({"tokenize", "-m", dduf}, {"-p", "red houses"}), plain);
  EXPECT_EQ(said({"tokenize", "-m", single, "--config", folder_of}, {"-p", "red houses"}), plain);
  EXPECT_EQ(said({"detokenize", "-m", single, "--config", folder_of}, {"--ids", "320"}),
            said({"detokenize", "-m", folder_of}, {"--ids", "320"}));
}

// Each encoder has its own tokenizer and its own vectors.
TEST_F(TokenizeTest, prints_a_prompt_for_each_text_encoder) {
  const std::string both = (golden / "prompts-both.safetensors").string();
  const Json read = tokens({"tokenize", "-m", golden / "xl", "-p", "a cat! embedding:EMB", "--prompt-syntax", "comfyui", "--embedding",
                            "EMB=" + both, "--json"});
  ASSERT_EQ(read["encoders"].size(), 2u);
  EXPECT_EQ(read["encoders"][0]["encoder"], "text_encoder");
  EXPECT_EQ(read["encoders"][1]["encoder"], "text_encoder_2");
  for (const Json& encoder : read["encoders"]) {
    const Json last = encoder["conditions"][0]["texts"][0]["chunks"][0].back();
    EXPECT_EQ(last["piece"], "EMB");
    EXPECT_EQ(last["vector"], 2);
    EXPECT_EQ(last["vectors"], 2);
  }
  const std::string text = run({"tokenize", "-m", golden / "xl", "-p", "a", "--prompt-syntax", "plain"}).out;
  EXPECT_EQ(text.find("text_encoder\nchunk 1: 1 tokens\n"), 0u) << text;
  EXPECT_NE(text.find("\ntext_encoder_2\nchunk 1: 1 tokens\n"), std::string::npos) << text;

  const Ended width = run({"tokenize", "-m", golden / "xl", "-p", "a", "--prompt-syntax", "plain", "--embedding",
                           (golden / "prompts-tiny.safetensors").string()});
  EXPECT_EQ(width.code, 1);
  EXPECT_NE(width.err.find("the embedding has width 24, expected that of the text encoder, 12"), std::string::npos) << width.err;
  EXPECT_EQ(run({"tokenize", "-m", golden / "xl", "-p", "a", "--embedding", both}).code, 2);
  EXPECT_EQ(run({"tokenize", "-m", golden / "xl", "-p", "a", "--config", golden / "xl"}).code, 2);
  EXPECT_EQ(run({"tokenize", "-m", golden / "xl/tokenizer", "-p", "a", "--prompt-syntax", "plain", "--embedding", both}).code, 2);
}

TEST_F(TokenizeTest, files_and_standard_input_are_read_byte_for_byte) {
  const std::string model = shapes / "qwen2";
  write_file(folder / "text", std::string_view("\xef\xbb\xbf"
                                               "a\r\n\0b\xff\n",
                                               10));
  const Json found = tokens({"tokenize", "-m", model, "--file", "text", "--json"});
  EXPECT_EQ(run({"detokenize", "-m", model, "--ids", joined(found["ids"])}).out, std::string_view("\xef\xbb\xbf"
                                                                                                  "a\r\n\0b\xef\xbf\xbd\n",
                                                                                                  12));
  const std::string input = folder / "text";
  const Ended piped = run({"tokenize", "-m", model, "--json"}, [input] { dup2(open(input.c_str(), O_RDONLY), 0); });
  EXPECT_EQ(Json::parse(piped.out), found);
}

TEST_F(TokenizeTest, accepts_every_kind_of_path) {
  const Json folder_ids = tokens({"tokenize", "-m", shapes / "llama_model", "-p", "a b", "--json"});
  EXPECT_EQ(tokens({"tokenize", "-m", shapes / "llama_model/tokenizer.model", "-p", "a b", "--json"}), folder_ids);
  EXPECT_EQ(tokens({"tokenize", "-m", shapes / "gpt2/tokenizer.json", "-p", "a b", "--json"}),
            tokens({"tokenize", "-m", shapes / "gpt2", "-p", "a b", "--json"}));
  const Json clip = tokens({"tokenize", "-m", demo, "-p", "a red house", "--json"});
  EXPECT_EQ(clip["pieces"].size(), clip["ids"].size());
  EXPECT_EQ(clip["ids"].size(), tokens({"tokenize", "-m", demo, "-p", "a red house", "--json", "--no-special-tokens"})["ids"].size() + 2);
  const Ended lines = run({"tokenize", "-m", shapes / "gpt2", "-p", "a\nb"});
  EXPECT_EQ(std::count(lines.out.begin(), lines.out.end(), '\n'), 3) << lines.out;
}

TEST_F(TokenizeTest, an_empty_text_has_no_ids) {
  EXPECT_EQ(tokens({"tokenize", "-m", shapes / "gpt2", "-p", "", "--json"}), Json({{"ids", Json::array()}, {"pieces", Json::array()}}));
  EXPECT_EQ(tokens({"tokenize", "-m", shapes / "llama3", "-p", "", "--json"})["ids"].size(), 1u);
  EXPECT_EQ(tokens({"detokenize", "-m", shapes / "gpt2", "--ids", "", "--json"})["text"], "");
}

TEST_F(TokenizeTest, errors_are_one_line) {
  const std::string model = shapes / "gpt2";
  EXPECT_EQ(not_one_line(run({"tokenize", "-p", "a"}), 2), "");
  EXPECT_EQ(not_one_line(run({"tokenize", "-m", model, "-p", "a", "--file", "b"}), 2), "");
  EXPECT_EQ(not_one_line(run({"tokenize", "-m", model, "--file", "nowhere"}), 1), "");
  EXPECT_EQ(not_one_line(run({"tokenize", "-m", "nowhere", "-p", "a"}), 1), "");
  EXPECT_EQ(not_one_line(run({"detokenize", "-m", model}), 2), "");
  for (const char* ids : {"a", "1,,2", "1,-2", "99999999999", "1 2"})
    EXPECT_EQ(not_one_line(run({"detokenize", "-m", model, "--ids", ids}), 2), "") << ids;
  write_file(folder / "tokenizer.json", "{\"model\": [1,\n2");
  EXPECT_EQ(not_one_line(run({"tokenize", "-m", folder, "-p", "a"}), 1), "");
  write_file(folder / "tokenizer.json", R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})");
  EXPECT_EQ(not_one_line(run({"tokenize", "-m", folder, "-p", "a"}), 1), "");
  write_file(folder / "tokenizer.json", R"({"normalizer": {"type": "Magic"}, "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})");
  const Ended unknown = run({"tokenize", "-m", folder, "-p", "a"});
  EXPECT_EQ(not_one_line(unknown, 1), "");
  EXPECT_NE(unknown.err.find("Magic"), std::string::npos) << unknown.err;
}

}  // namespace
}  // namespace hearth::test
