// The scheduler in simulated time, with pages that are only numbers.
#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

namespace hearth::engine {
namespace {

struct Text final : Job {
  int64_t prompt = 0, wants = 0;  // tokens
  int64_t fed = 0, made = 0, pages = 0;
  int64_t admissions = 0, stops = 0;
  double first = -1, end = -1;
};

constexpr int64_t page = 4;

class Pages final : public Scheduler::Memory {
 public:
  explicit Pages(int64_t count) : free(count) {}

  bool admit(Job& job) override {
    Text& text = static_cast<Text&>(job);
    text.todo = text.prompt + text.made - text.fed;
    text.generates = false;
    if (needed(text, text.prompt + text.made) > free) return false;
    ++text.admissions;
    order.push_back(&text);
    return true;
  }
  int64_t piece(const Job&, int64_t count) override { return count; }
  bool reserve(Job& job, int64_t count) override {
    Text& text = static_cast<Text&>(job);
    const int64_t more = needed(text, text.fed + count);
    if (more > free) return false;
    free -= more, text.pages += more;
    return true;
  }
  void stop(Job& job) override {
    Text& text = static_cast<Text&>(job);
    ++text.stops;
    release(text);
    text.fed = 0, text.generates = false;
  }
  void release(Text& text) { free += std::exchange(text.pages, 0); }
  static int64_t needed(const Text& text, int64_t length) { return std::max<int64_t>(0, (length + page - 1) / page - text.pages); }

  int64_t free;
  std::vector<Text*> order;  // of admissions
};

// Requests arrive at random; each pass takes a second. All end, the budget is kept, pages come back, and within a class the first come are
// the first to be admitted.
TEST(Scheduler, everything_ends_in_simulated_time) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    const auto between = [&](int64_t low, int64_t high) { return low + int64_t(random() % uint32_t(high - low + 1)); };
    const Scheduler::Limits limits{.tokens = between(8, 40), .parallel = between(2, 6), .patience = 10};
    Scheduler scheduler(limits);
    Pages pages(between(30, 60));
    const int64_t total = pages.free;
    std::vector<std::unique_ptr<Text>> texts;
    size_t open = 0, arrived = 0;
    double now = 0;
    for (; now < 5000 && (arrived < 60 || open > 0); ++now) {
      while (arrived < 60 && random() % 3 == 0) {
        auto text = std::make_unique<Text>();
        text->prompt = between(1, 60), text->wants = between(1, 50), text->todo = text->prompt;
        text->draft = between(0, 3);
        scheduler.add(*text, now);
        texts.push_back(std::move(text));
        ++arrived, ++open;
      }
      const auto shares = scheduler.pass(pages, now);
      int64_t tokens = 0;
      for (const auto& share : shares) {
        Text& text = static_cast<Text&>(*share.job);
        ASSERT_TRUE(text.runs);
        tokens += share.tokens + share.draft;
        ASSERT_LE((text.fed + share.tokens + page - 1) / page, text.pages);
        text.fed += share.tokens;
        if (text.fed < text.prompt + text.made) {
          text.todo -= share.tokens;
          continue;
        }
        if (text.first < 0) text.first = now;
        ++text.made;
        text.generates = true, text.todo = 1;
        if (text.made < text.wants) continue;
        text.end = now;
        scheduler.remove(text);
        pages.release(text);
        --open;
      }
      ASSERT_LE(tokens, limits.tokens);
      ASSERT_LE(scheduler.running(), limits.parallel);
      ASSERT_GE(pages.free, 0);
      ASSERT_TRUE(open == 0 || !shares.empty()) << "nothing is computed";
    }
    EXPECT_EQ(open, 0u) << seed;
    EXPECT_EQ(pages.free, total);
    EXPECT_EQ(scheduler.waiting() + scheduler.running(), 0);
    std::vector<const Text*> first_admissions;
    for (const Text* text : pages.order)
      if (std::ranges::find(first_admissions, text) == first_admissions.end()) first_admissions.push_back(text);
    EXPECT_TRUE(std::ranges::is_sorted(first_admissions, {}, &Text::order)) << seed;
    EXPECT_EQ(texts.front()->stops, 0) << "the first one was stopped";
  }
}

// A text that waits is admitted at last, however many more important ones arrive.
TEST(Scheduler, waiting_improves_the_priority) {
  Scheduler scheduler({.tokens = 8, .parallel = 1, .patience = 10});
  Pages pages(100);
  std::vector<std::unique_ptr<Text>> texts;
  const auto add = [&](int64_t priority, double now) {
    auto text = std::make_unique<Text>();
    text->prompt = 4, text->wants = 1, text->todo = 4, text->priority = priority;
    scheduler.add(*text, now);
    texts.push_back(std::move(text));
  };
  add(0, 0), add(3, 0);
  double end = -1;
  for (double now = 0; now < 100 && end < 0; ++now) {
    add(0, now);
    for (const auto& share : scheduler.pass(pages, now)) {
      if (share.job == texts[1].get()) end = now;
      scheduler.remove(*share.job);
      pages.release(static_cast<Text&>(*share.job));
    }
  }
  EXPECT_GE(end, 29);
  EXPECT_LE(end, 60);
}

// Texts that generate come before prompts, and a draft never costs another text its place.
TEST(Scheduler, generating_texts_come_first) {
  Scheduler scheduler({.tokens = 10, .parallel = 4});
  Pages pages(10);
  Text generating, prompt;
  prompt.prompt = 30, prompt.todo = 30;
  generating.prompt = 8, generating.todo = 8;
  scheduler.add(generating, 0), scheduler.add(prompt, 0);
  auto shares = scheduler.pass(pages, 0);
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[1].tokens, 2);
  generating.fed = 8, generating.made = 1, generating.generates = true, generating.todo = 1, generating.draft = 3;
  prompt.fed = 2, prompt.todo = 28;
  shares = scheduler.pass(pages, 1);
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[0].job, &generating);
  EXPECT_EQ(shares[0].tokens + shares[0].draft, 4);
  EXPECT_EQ(shares[1].tokens, 6);
  pages.free = 0;  // no room for a draft of a text whose page is full
  generating.fed = 12, prompt.fed = 8, prompt.todo = 22;
  shares = scheduler.pass(pages, 2);
  EXPECT_EQ(prompt.stops, 1);
  ASSERT_EQ(shares.size(), 1u);
  EXPECT_EQ(shares[0].job, &generating);
}

}  // namespace
}  // namespace hearth::engine
