#include "text/clip/clip_tokenizer.h"
#include "core/text/utf8.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"
#include "support/golden.h"
#include "text/unicode.h"

namespace hearth::text {
namespace {

const std::filesystem::path repository = test::folder_of(__FILE__) / "../../..";

const ClipTokenizer& official(Cleaning cleaning) {
  static std::map<Cleaning, ClipTokenizer> loaded;
  if (!loaded.contains(cleaning)) loaded.emplace(cleaning, ClipTokenizer::load(repository / "assets/clip-vit-l-14", cleaning));
  return loaded.at(cleaning);
}

using Ids = std::vector<int32_t>;

TEST(ClipTokenizer, vocabulary_of_gotchas21) {
  const ClipTokenizer& t = official(Cleaning::ftfy);
  EXPECT_EQ(t.vocab_size(), 49408);
  EXPECT_EQ(t.max_id(), 49407);
  EXPECT_EQ(t.model_max_length(), 77);
  EXPECT_EQ(t.bos(), 49406);
  EXPECT_EQ(t.eos(), 49407);
  EXPECT_EQ(t.pad(), 49407);
  EXPECT_EQ(t.unk(), 49407);
  EXPECT_EQ(t.id_of("a</w>"), 320);
  EXPECT_EQ(t.id_of("cute</w>"), 2242);
  EXPECT_EQ(t.id_of("cat</w>"), 2368);
  EXPECT_EQ(t.id_of("no such token"), -1);
  EXPECT_EQ(t.tokenize("a cute cat"), (Ids{320, 2242, 2368}));
  EXPECT_EQ(t.decode({320, 216}), "a");  // 216 is U+001C, which Python's strip() removes
}

struct Example {
  const char* prompt;
  Ids ftfy, basic, fast;
};

// Reference ids of the three cleanings (transformers 4.57.1).
TEST(ClipTokenizer, cleanings_of_gotchas21) {
  const Example examples[] = {
      {"“quotes” and ‘single’",
       {257, 5808, 257, 537, 568, 17005, 262},
       {728, 506, 5808, 728, 507, 537, 728, 502, 2688, 728, 503},
       {728, 506, 5808, 728, 507, 537, 728, 502, 2688, 728, 503}},
      {"ＡＢＣ full width",
       {5334, 1476, 23571},
       {171, 121, 223, 171, 121, 224, 171, 121, 481, 1476, 23571},
       {171, 121, 223, 171, 121, 224, 171, 121, 481, 1476, 23571}},
      {"ﬁne ligature", {3797, 19915, 4490}, {171, 105, 223, 1422, 19915, 4490}, {171, 105, 223, 1422, 19915, 4490}},
      {"&amp; &lt;b&gt;",
       {261, 283, 321, 285},
       {261, 6259, 282, 261, 3333, 282, 321, 261, 4725, 282},
       {261, 6259, 282, 261, 3333, 282, 321, 261, 4725, 282}},
      {"中文 描述",
       {19759, 255, 29032, 485, 162, 237, 237, 164, 123, 364},
       {19759, 511, 29032, 485, 162, 237, 493, 164, 123, 364},
       {19759, 255, 29032, 485, 162, 237, 237, 164, 123, 364}},
      {"emoji 👩‍👩‍👧 ok",
       {16327, 26304, 26304, 964, 356, 2481},
       {16327, 18800, 18800, 964, 356, 2481},
       {16327, 26304, 26304, 964, 356, 2481}},
      {"a\u200bb", {320, 9844, 321}, {3937}, {320, 9844, 321}},
      {"ΣΊΣΥΦΟΣ",
       {139, 225, 138, 107, 139, 225, 139, 227, 139, 228, 138, 123, 139, 480},
       {139, 225, 138, 107, 139, 225, 139, 227, 139, 228, 138, 123, 139, 480},
       {139, 225, 138, 107, 139, 225, 139, 227, 139, 228, 138, 123, 139, 481}},
  };
  for (const Example& e : examples) {
    EXPECT_EQ(official(Cleaning::ftfy).tokenize(e.prompt), e.ftfy) << e.prompt;
    EXPECT_EQ(official(Cleaning::basic).tokenize(e.prompt), e.basic) << e.prompt;
    EXPECT_EQ(official(Cleaning::fast).tokenize(e.prompt), e.fast) << e.prompt;
  }
}

// G-07: ids depend neither on the order in which a file lists its tokens nor on the order of a hash table.
TEST(ClipTokenizer, order_of_the_vocabulary_does_not_matter) {
  ClipFiles files = ClipFiles::read(repository / "assets/demo-model/tokenizer");
  const ClipTokenizer a = ClipTokenizer::parse(files);
  nlohmann::ordered_json reversed;
  const auto vocabulary = nlohmann::ordered_json::parse(*files.vocab_json);
  for (auto it = vocabulary.end(); it != vocabulary.begin();) {
    --it;
    reversed[it.key()] = it.value();
  }
  files.vocab_json = reversed.dump();
  ASSERT_EQ(reversed.begin().key(), "<|endoftext|>");
  const ClipTokenizer b = ClipTokenizer::parse(files);
  const std::string prompt = "a red house on green hills at sunset, two pine trees & 3 \"quoted\" cats!";
  EXPECT_EQ(a.tokenize(prompt), b.tokenize(prompt));
  EXPECT_EQ(a.pieces(prompt), b.pieces(prompt));
}

// Ten thousand characters, and a single word of 300 000: a merge that scans every pair again would need hours.
TEST(ClipTokenizer, long_prompts) {
  const ClipTokenizer& t = official(Cleaning::ftfy);
  std::string prompt;
  while (prompt.size() < 10000) prompt += "a cute cat, ";
  const ClipTokenizer::Encoding encoding = t.encode(prompt);
  EXPECT_EQ(encoding.tokens, 75);
  EXPECT_EQ(encoding.dropped, int64_t(prompt.size() / 12 * 4 - 75));
  EXPECT_EQ(encoding.truncated_text.substr(0, 22), ", a cute cat , a cute ");

  std::string word;
  for (uint32_t x = 1; word.size() < 300000; x = x * 1664525 + 1013904223) word += char('a' + x / 7 % 26);
  std::string joined;
  for (const std::string& piece : t.pieces(word)) joined += piece;
  EXPECT_EQ(joined, word + "</w>");
  std::string references;
  while (references.size() < 10000) references += "&amp;";
  EXPECT_EQ(t.tokenize(references + "amp;").size(), t.tokenize(std::string(2000, '&') + "amp;").size());
}

TEST(ClipTokenizer, shared_between_threads) {
  const ClipTokenizer& t = official(Cleaning::ftfy);
  const std::string prompt = "“ﬁne” ＡＢＣ &eacute; 中文 emoji 👩‍👩‍👧 ΣΊΣΥΦΟΣ";
  const Ids expected = t.tokenize(prompt);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 200; ++k) wrong += t.tokenize(prompt) != expected;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// CLIPTokenizer 4.57.1 edits its list of spans in place: a single_word token next to another character becomes text, and a token that is
// followed only by its white space is processed again. The pieces are those of convert_ids_to_tokens.
TEST(ClipTokenizer, added_tokens_without_room) {
  ClipFiles files = ClipFiles::read(repository / "assets/clip-vit-l-14");
  files.tokenizer_config = R"({"added_tokens_decoder": {"0": {"content": "!", "special": true},
      "49409": {"content": "<one>", "single_word": true}, "49500": {"content": "<both>", "rstrip": true, "single_word": true}}})";
  const ClipTokenizer t = ClipTokenizer::parse(files);
  const std::pair<std::string, std::string> cases[] = {
      {"e<both><both>!!d", "e</w> <</w> both</w> ></w> <</w> both</w> > !</w> ! d</w>"},
      {"e <both><both>!!d", "e</w> <</w> both</w> ><</w> both</w> ></w> ! ! d</w>"},
      {"e <both> <both>!!d", "e</w> <both> <</w> both</w> > !</w> ! d</w>"},
      {"<both>\n!", "<</w> both</w> > !</w>"},
      {"x <both> !", "x</w> <both> !"},
      {"<one>!", "<</w> one</w> > !</w>"},
      {"<one><one>!", "<</w> one</w> ><</w> one</w> ></w> !"},
  };
  for (const auto& [prompt, pieces] : cases) EXPECT_EQ(fmt::format("{}", fmt::join(t.pieces(prompt), " ")), pieces) << prompt;
}

// A vocabulary without "é": each of its two bytes is unknown, and pieces() returns the characters that represent them.
TEST(ClipTokenizer, bytes_that_the_vocabulary_lacks) {
  ClipFiles files = ClipFiles::read(repository / "assets/demo-model/tokenizer");
  nlohmann::json vocabulary = nlohmann::json::parse(*files.vocab_json);
  for (const char* token : {"Ã", "©</w>"}) ASSERT_EQ(vocabulary.erase(token), 1u);
  files.vocab_json = vocabulary.dump();
  const ClipTokenizer t = ClipTokenizer::parse(files);
  EXPECT_EQ(t.tokenize("é"), (Ids{t.unk(), t.unk()}));
  EXPECT_EQ(t.pieces("é the"), (std::vector<std::string>{"Ã", "©</w>", "the</w>"}));
  EXPECT_EQ(t.pieces("&lt;|endoftext|&gt;"), (std::vector<std::string>{"<|endoftext|>"}));
  // A special word that is not a token.
  nlohmann::json config = nlohmann::json::parse(*files.tokenizer_config);
  config["bos_token"] = "<|endoftext|>";
  files.tokenizer_config = config.dump();
  files.special_tokens_map.reset();
  vocabulary.erase("<|startoftext|>");
  files.vocab_json = vocabulary.dump();
  EXPECT_EQ(ClipTokenizer::parse(files).tokenize("&lt;|startoftext|&gt;"), (Ids{t.unk()}));
  EXPECT_EQ(ClipTokenizer::parse(files).pieces("&lt;|startoftext|&gt;"), (std::vector<std::string>{"<|startoftext|>"}));
}

// Cases of fix_text beyond the corpus: lines of a million characters are split, '<' stops expansion from its line on.
TEST(FixText, lines) {
  EXPECT_EQ(fix_text(U"&lt;\n<&lt;\n&lt;"), U"<\n<&lt;\n&lt;");
  std::u32string cut(999'998, U'a');
  EXPECT_EQ(fix_text(cut + U"&gt;"), cut + U"&gt;");  // ftfy 6.3.1 splits inside the reference, too
  EXPECT_EQ(fix_text(cut.substr(2) + U"&gt;"), cut.substr(2) + U">");
}

// Like ftfy 6.3.1: references without digits or a name, or with too many characters, are unchanged, and so is a semicolon.
TEST(FixText, invalid_references) {
  for (const std::u32string_view text : {U"&#x;", U"&#;", U"&zzzz;", U"&#59;", U"a&#x3b;b", U"&#0000000000000000000000065;"})
    EXPECT_EQ(fix_text(text), text);
  EXPECT_EQ(fix_text(U"&#000000000000000000000065;"), U"A");
  EXPECT_EQ(fix_text(U"&#xfffe;|&#x1ffff;|&#12;|&#9;|&#31;|&#127;|"), U"||\f|\t|||");
}

std::vector<std::string> words_of(const std::string& text, WordPattern pattern) {
  std::vector<std::string> words;
  for (const pipeline::Span& w : split_words(text, pattern)) words.push_back(text.substr(w.begin, w.end - w.begin));
  return words;
}

TEST(SplitWords, only_special_tokens_fall_apart) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(words_of("<|endoftext|>", WordPattern::exact_with_specials), (Words{"<|", "endoftext", "|>"}));
  EXPECT_EQ(words_of("<|+++|> <>", WordPattern::exact_with_specials), (Words{"<|+++|>", "<>"}));
  EXPECT_EQ(words_of("<>a", WordPattern::exact_with_specials), (Words{"<>", "a"}));
}

TEST(Cleaning, basic_deletes_unassigned_and_replacement_characters) {
  EXPECT_EQ(clean(U"a\ufa6e\ufffd\U000e0fffb", Cleaning::basic), U"ab");
  EXPECT_EQ(clean(U"a\ufa6db", Cleaning::basic), U"a \u8218 b");  // an ideograph, which NFC replaces
}

TEST(Cleaning, edges_are_stripped) {
  EXPECT_EQ(clean(U" \u00a0 A  b\n", Cleaning::ftfy), U"a b");
  EXPECT_EQ(clean(U" \u00a0 A  b\n", Cleaning::basic), U"a b");
  EXPECT_EQ(clean(U" \u00a0 A  b\n", Cleaning::fast), U" a b ");
}

}  // namespace
}  // namespace hearth::text
