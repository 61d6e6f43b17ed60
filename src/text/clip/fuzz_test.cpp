// Short deterministic fuzzing: prompts of random bytes, and tokenizer files with random damage. Most useful under sanitizers.
#include <gtest/gtest.h>

#include <random>

#include "core/error.h"
#include "core/text/utf8.h"
#include "support/golden.h"
#include "text/clip/clip_tokenizer.h"

namespace hearth::text {
namespace {

using Random = std::mt19937;  // its numbers, unlike those of the distributions, are the same on every platform

ClipFiles demo() { return ClipFiles::read(test::folder_of(__FILE__) / "../../../assets/demo-model/tokenizer"); }

size_t below(Random& random, size_t n) { return random() % n; }

// Bytes, half of them from the characters that cleaning treats specially.
std::string random_prompt(Random& random) {
  static const std::string_view hot[] = {
      "<|endoftext|>", "<|",       "|>",           "&",        "#",           ";", "x1f600",   "amp",      "\x1b[",
      "3;1m",          "'s",       "\r",           "\n",       " ",           "!", "\xc5\xbf", "\xce\xa3", "\xcd\x85",
      "\xef\xbc\x81",  "\xc2\x85", "\xe2\x80\x99", "\xf0\x9f", "\xed\xa0\x80"};
  std::string prompt;
  for (size_t n = below(random, 40); n > 0; --n) {
    if (random() & 1) prompt += hot[below(random, std::size(hot))];
    else prompt += char(random());
  }
  return prompt;
}

void check(const ClipTokenizer& t, const std::string& prompt) {
  const ClipTokenizer::Encoding encoding = t.encode(prompt);
  ASSERT_EQ(int64_t(encoding.ids.size()), t.model_max_length());
  for (const int32_t id : encoding.ids) ASSERT_TRUE(id >= 0 && id <= t.max_id()) << id;
  const std::vector<int32_t> ids = t.tokenize(prompt);
  ASSERT_EQ(int64_t(ids.size()), encoding.tokens + encoding.dropped);
  ASSERT_EQ(t.pieces(prompt).size(), ids.size());
  const std::string text = t.decode(ids);
  ASSERT_TRUE(is_utf8(text)) << "no valid UTF-8";
}

TEST(Fuzz, prompts_of_random_bytes) {
  Random random(1);
  for (const Cleaning cleaning : {Cleaning::ftfy, Cleaning::basic, Cleaning::fast}) {
    const ClipTokenizer t = ClipTokenizer::parse(demo(), cleaning);
    for (int i = 0; i < 3000; ++i) ASSERT_NO_FATAL_FAILURE(check(t, random_prompt(random)));
  }
}

// Decoding accepts any row of ids: invalid text becomes U+FFFD.
TEST(Fuzz, random_ids) {
  Random random(2);
  const ClipTokenizer t = ClipTokenizer::parse(demo());
  for (int i = 0; i < 2000; ++i) {
    std::vector<int32_t> ids(below(random, 20));
    for (int32_t& id : ids) id = int32_t(below(random, size_t(t.vocab_size())));
    const std::string text = t.decode(ids);
    ASSERT_TRUE(is_utf8(text));
  }
  EXPECT_THROW(t.decode({-1}), UsageError);
  EXPECT_THROW(t.decode({724}), UsageError);
}

void damage(std::string& text, Random& random) {
  for (size_t n = 1 + below(random, 3); n > 0 && !text.empty(); --n) {
    const size_t at = below(random, text.size());
    switch (below(random, 5)) {
      case 0: text[at] = char(random()); break;
      case 1: text.erase(at, 1 + below(random, 20)); break;
      case 2: text.insert(at, text.substr(below(random, text.size()), below(random, 30))); break;
      case 3: text.resize(at); break;
      default: text[at] = "0123456789\"{}[]:, \n"[below(random, 19)]; break;
    }
  }
}

// A damaged folder is refused with one of our errors, or it is another valid tokenizer.
TEST(Fuzz, damaged_files) {
  Random random(3);
  const ClipFiles folder = demo();
  const ClipFiles whole = ClipFiles::read(test::folder_of(__FILE__) / "golden/transformers5");
  int refused = 0, loaded = 0;
  for (int i = 0; i < 800; ++i) {
    ClipFiles files = i % 4 == 3 ? whole : folder;
    std::vector<std::optional<std::string>*> present;
    for (auto* f : {&files.vocab_json, &files.merges_txt, &files.tokenizer_config, &files.special_tokens_map, &files.tokenizer_json})
      if (*f) present.push_back(f);
    damage(**present[below(random, present.size())], random);
    try {
      const ClipTokenizer t = ClipTokenizer::parse(files, i % 2 ? Cleaning::fast : Cleaning::ftfy);
      ++loaded;
      if (t.model_max_length() > 100000) continue;
      ASSERT_NO_FATAL_FAILURE(check(t, random_prompt(random)));
    } catch (const Error& e) {
      ++refused;
      ASSERT_EQ(std::string_view(e.what()).find('\n'), std::string_view::npos) << e.what();
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(loaded, 10);
}

}  // namespace
}  // namespace hearth::text
