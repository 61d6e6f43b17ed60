// Compares each single stage with tokenizers, by golden/stages.json.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/json.h"
#include "core/text/utf8.h"
#include "support/golden.h"
#include "text/tokenizer/decoders.h"
#include "text/tokenizer/gguf_patterns.h"
#include "text/tokenizer/golden_strings_test.h"
#include "text/tokenizer/normalizers.h"
#include "text/tokenizer/pre_tokenizers.h"

namespace hearth::text::pipeline {
namespace {

using Json = nlohmann::json;
using Texts = std::vector<std::string>;

Text whole(const std::string& bytes) {
  const std::string text = valid_utf8(bytes);
  return {.bytes = text, .origin = text.empty() ? 0 : sequence_length(text[0])};
}

std::function<Texts(const std::string&)> function_of(const Json& entry) {
  if (entry.at("kind") == "normalizer")
    return [stage = std::shared_ptr<Normalizer>(make_normalizer(entry.at("stage")))](const std::string& bytes) -> Texts {
      Text text = whole(bytes);
      stage->apply(text);
      return {text.bytes};
    };
  return [stage = std::shared_ptr<PreTokenizer>(make_pre_tokenizer(entry.at("stage")))](const std::string& bytes) {
    std::vector<Text> pieces = {whole(bytes)};
    stage->split(pieces);
    Texts texts;
    for (const Text& piece : pieces) texts.push_back(piece.bytes);
    return texts;
  };
}

// tokens_of() of golden/stages.py.
Texts tokens_of(uint64_t index) {
  const Fragments& f = Fragments::load();
  SplitMix random(index * 104729 + 7);
  static const char* const odd[] = {"<0x41>", "<0xe3>", "<0x81>", "<0x82>", "<pad>", "##ing", "low</w>",
                                    "do not", " n't",   "a ' b",  "e e",    "eee",   "|||",   " . "};
  static const char* const last[] = {"ĵ", "ī", "ģ", "Ĥ"};
  Texts tokens;
  for (uint64_t n = 1 + random.below(10); n > 0; --n) {
    const uint64_t kind = random.below(12);
    std::string token;
    if (kind < 3) token = fmt::format("<0x{:02X}>", random.below(256));
    else if (kind == 3) token = odd[random.below(14)];
    else if (kind == 4 && !tokens.empty()) token = tokens.back();
    else if (kind == 5) token = std::string("ĠĊâĢ") + last[random.below(4)];
    else if (kind == 6) token = std::string("▁ee") + (random.below(2) == 0 ? "▁" : "e");
    else token = f.words[random.below(f.words.size())];
    const std::string once = token;
    if (decode_utf8(once).size() < 3) token += once + once;
    tokens.push_back(token);
  }
  return tokens;
}

std::string decoded(const Decoder& decoder, const Texts& tokens) {
  std::string out;
  const auto sink = decoder.open(collect(out));
  for (const std::string& token : tokens) {
    sink->text(token);
    sink->end();
    EXPECT_EQ(valid_utf8(out), out);
  }
  sink->finish();
  return out;
}

// The groups whose hash differs.
void compare(const Json& hashes, size_t count, size_t group, const std::string& what, const std::function<Texts(size_t)>& value) {
  ASSERT_EQ(hashes.size(), (count + group - 1) / group);
  int wrong = 0;
  std::string groups;
  for (size_t begin = 0; begin < count; begin += group) {
    uint32_t h = fnv_start;
    for (size_t i = begin; i < std::min(begin + group, count); ++i) {
      for (const std::string& text : value(i)) h = hash_text(text, h);
      h = (h ^ 0xfe) * 0x01000193;
    }
    if (h != hashes.at(begin / group) && ++wrong < 20) groups += fmt::format(" {}", begin / group);
  }
  EXPECT_EQ(wrong, 0) << what << ": groups" << groups;
}

TEST(Stages, equal_the_reference) {
  const Json golden = load_json(test::folder_of(__FILE__) / "golden/stages.json");
  std::u32string every;
  for (const auto& [low, high] : Fragments::load().ranges)
    for (char32_t c = low; c <= high; ++c) every += c;
  ASSERT_GT(every.size(), 100000u);
  const size_t count = golden.at("count"), group = golden.at("group");
  for (const Json& entry : golden.at("stages")) {
    const std::string what = entry.at("stage").dump();
    if (entry.at("kind") == "decoder") {
      const auto decoder = make_decoder(entry.at("stage"));
      compare(entry.at("hashes"), count, group, what, [&](size_t i) { return Texts{decoded(*decoder, tokens_of(i))}; });
      continue;
    }
    const auto stage = function_of(entry);
    compare(entry.at("hashes"), count, group, what, [&](size_t i) { return stage(golden_string(i, {})); });
    if (entry.contains("every"))
      compare(entry.at("every"), every.size(), 256, what + " on every character", [&](size_t i) {
        const std::string c = encode_utf8(every.substr(i, 1));
        return stage("a" + c + "b 1" + c + c + ".");
      });
  }
}

// The golden split of architectures: one text split by each published pattern.
TEST(Stages, published_patterns) {
  const std::string text = "I'LL pay  12345 €/$!!\r\n\n\tHTTPServer's naïve  ";
  const auto pieces = [&text](const char* pre) {
    std::vector<Text> split = {whole(text)};
    for (const std::string& pattern : split_rules(pre).patterns)
      make_pre_tokenizer({{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}})->split(split);
    std::string joined;
    for (const Text& piece : split) joined += (joined.empty() ? "" : "¦") + piece.bytes;
    return joined;
  };
  EXPECT_EQ(pieces("gpt-2"), "I¦'¦LL¦ pay¦ ¦ 12345¦ €/$!!¦\r\n\n¦\t¦HTTPServer¦'s¦ naïve¦  ");
  EXPECT_EQ(pieces("llama3"), "I¦'LL¦ pay¦ ¦ ¦123¦45¦ €/$!!\r\n\n¦\tHTTPServer¦'s¦ naïve¦  ");
  EXPECT_EQ(pieces("qwen2"), "I¦'LL¦ pay¦ ¦ ¦1¦2¦3¦4¦5¦ €/$!!\r\n\n¦\tHTTPServer¦'s¦ naïve¦  ");
  EXPECT_EQ(pieces("tekken"), pieces("qwen2"));
  // The result of tokenizers 0.22.2 with Digits and ByteLevel, which these models use there.
  EXPECT_EQ(pieces("smollm"), "I¦'¦LL¦ pay¦  ¦1¦2¦3¦4¦5¦ €/$!!¦\r\n\n¦\t¦HTTPServer¦'s¦ naïve¦  ");
  EXPECT_EQ(pieces("refact"), pieces("smollm"));
  EXPECT_EQ(pieces("command-r"), pieces("smollm"));
  EXPECT_EQ(pieces("dbrx"), pieces("llama3"));
  EXPECT_EQ(pieces("gpt-4o"), "I'LL¦ pay¦ ¦ ¦123¦45¦ €/$!!\r\n\n¦\tHTTPServer's¦ naïve¦  ");
  EXPECT_THROW(split_rules("default"), UnsupportedError);
}

}  // namespace
}  // namespace hearth::text::pipeline
