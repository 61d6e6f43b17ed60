#include "sampling/tokens/stop_strings.h"
#include "core/text/utf8.h"

#include <gtest/gtest.h>

#include <random>

#include "core/error.h"
#include "support/files.h"

namespace hearth::sampling {
namespace {

using Strings = std::vector<std::string>;
using Stop = StopStrings::Stop;

TEST(StopStrings, holds_back_what_may_become_a_stop) {
  StopStrings stops({"</s>", "\n\nUser:"});
  EXPECT_EQ(stops.feed("Hello"), "Hello");
  EXPECT_EQ(stops.feed(" <"), " ");
  EXPECT_EQ(stops.feed("b>\n"), "<b>");
  EXPECT_EQ(stops.feed("\nUs"), "");
  EXPECT_EQ(stops.feed("A\n\n\n"), "\n\nUsA\n");  // the last two may start the stop sequence, the first no longer can
  EXPECT_FALSE(stops.stop());
  EXPECT_EQ(stops.feed("User: x"), "");
  EXPECT_EQ(stops.stop(), (Stop{1, 15}));
  EXPECT_EQ(stops.feed("more"), "");
  EXPECT_EQ(stops.flush(), "");
}

TEST(StopStrings, the_end_releases_what_was_held) {
  StopStrings stops({"abc"});
  EXPECT_EQ(stops.feed("xab"), "x");
  EXPECT_EQ(stops.flush(), "ab");
  EXPECT_EQ(stops.flush(), "");
  StopStrings none({});
  EXPECT_EQ(none.feed("xab"), "xab");
  EXPECT_EQ(none.flush(), "");
}

TEST(StopStrings, the_first_to_be_complete_counts_then_the_longest) {
  const auto run = [](const Strings& strings, const std::string& text) {
    StopStrings stops(strings);
    const std::string out = stops.feed(text);
    return std::pair(out, stops.stop());
  };
  EXPECT_EQ(run({"ab", "abc"}, "xabc"), std::pair(std::string("x"), std::optional(Stop{0, 1})));       // a prefix of the other
  EXPECT_EQ(run({"abc", "bc", "c"}, "xabc"), std::pair(std::string("x"), std::optional(Stop{0, 1})));  // suffixes
  EXPECT_EQ(run({"c", "bc", "abc"}, "xabc"), std::pair(std::string("x"), std::optional(Stop{2, 1})));
  EXPECT_EQ(run({"abcde", "bcd"}, "xabcde"), std::pair(std::string("xa"), std::optional(Stop{1, 2})));  // inside
  EXPECT_EQ(run({"aab"}, "aaab"), std::pair(std::string("a"), std::optional(Stop{0, 1})));
  EXPECT_EQ(run({"ab", "ab"}, "ab"), std::pair(std::string(), std::optional(Stop{0, 0})));
}

TEST(StopStrings, an_empty_or_broken_text_is_an_error) {
  EXPECT_EQ(test::message_of<UsageError>([] { StopStrings({"a", ""}); }), "--stop: the text is empty, expected at least one character");
  for (const char* bad : {"\x80", "a\xc3", "\xc0\xaf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                          "\xf5\x80\x80\x80", "\xe2\x82", "\xe2\x82z", "\xf0\x9f\x98", "\xf0\x9f\x98z", "\xff", "\xc3\xc3"})
    EXPECT_EQ(test::message_of<UsageError>([&] { StopStrings({bad}); }), "--stop: the text is not valid UTF-8");
  for (const char* good : {"\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc3\xa9z"})
    EXPECT_NO_THROW(StopStrings({good}));
}

size_t characters_whole(const std::string& s) {  // 0: s starts and ends at a character boundary
  if (s.empty()) return 0;
  size_t bad = is_continuation(s[0]);
  size_t i = 0;
  while (i < s.size()) i += sequence_length(s[i]);
  return bad + (i != s.size());
}

// Compared with a search over the whole text, split anywhere between characters: the same stop, the same text, and after each piece
// nothing is held back except the longest suffix that starts a stop sequence.
TEST(StopStrings, however_the_text_is_cut) {
  std::mt19937 random(1);
  const auto below = [&](uint32_t n) { return random() % n; };
  const Strings alphabet{"a", "b", "é", "è", "語", "誮", "😀", "😁"};  // share first bytes
  const auto text_of = [&](size_t length) {
    std::string text;
    const size_t letters = 2 + below(alphabet.size() - 1), first = below(alphabet.size());
    for (size_t i = 0; i < length; ++i) text += alphabet[(first + below(letters)) % alphabet.size()];
    return text;
  };
  int stopped = 0;
  for (int round = 0; round < 4000; ++round) {
    Strings strings;
    for (size_t i = 1 + below(3); i > 0; --i) strings.push_back(text_of(1 + below(5)));
    const std::string text = text_of(1 + below(40));

    std::optional<Stop> expected;
    size_t longest = 0;
    for (size_t end = 1; end <= text.size() && !expected; ++end)
      for (size_t i = 0; i < strings.size(); ++i)
        if (strings[i].size() > longest && end >= strings[i].size() &&
            text.compare(end - strings[i].size(), strings[i].size(), strings[i]) == 0) {
          longest = strings[i].size();
          expected = Stop{i, end - longest};
        }

    StopStrings stops(strings);
    std::string out;
    for (size_t at = 0; at < text.size();) {
      size_t next = std::min(text.size(), at + 1 + below(9));
      while (next < text.size() && is_continuation(text[next])) ++next;
      const std::string piece = stops.feed(std::string_view(text).substr(at, next - at));
      EXPECT_EQ(characters_whole(piece), 0u);
      out += piece;
      at = next;
      if (stops.stop()) continue;
      size_t held = 0;
      for (const std::string& s : strings)
        for (size_t n = 1; n < s.size() && n <= at; ++n)
          if (text.compare(at - n, n, s, 0, n) == 0) held = std::max(held, n);
      EXPECT_EQ(out.size(), at - held);
    }
    out += stops.flush();
    ASSERT_EQ(stops.stop(), expected) << text;
    EXPECT_EQ(out, expected ? text.substr(0, expected->position) : text);
    stopped += expected.has_value();
  }
  EXPECT_GT(stopped, 1000);
  EXPECT_LT(stopped, 3500);
}

TEST(StopStrings, time_is_linear_in_a_hostile_text) {
  StopStrings stops({std::string(200000, 'a') + "b"});
  const std::string text(1000000, 'a');
  EXPECT_EQ(stops.feed(text).size(), 800000u);
  EXPECT_EQ(stops.flush().size(), 200000u);
}

}  // namespace
}  // namespace hearth::sampling
