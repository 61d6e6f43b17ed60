#include "server/api/responses_store.h"

#include <gtest/gtest.h>

#include <thread>

namespace hearth::server::test {
namespace {

std::shared_ptr<ResponseTurn> turn(const std::string& id, std::shared_ptr<ResponseTurn> previous = nullptr, size_t size = 0) {
  auto made = std::make_shared<ResponseTurn>();
  made->previous = std::move(previous);
  made->input = {{{"id", "in_" + id}, {"text", std::string(size, 'x')}}};
  made->response = {{"id", id}, {"output", {{{"id", "out_" + id}}}}};
  return made;
}

std::string ids(const Json& items) {
  std::string all;
  for (const Json& item : items) all += item["id"].get<std::string>() + " ";
  return all;
}

TEST(ResponseStore, finds_turns_and_their_items) {
  ResponseStore store(1 << 20);
  store.keep(turn("a"));
  store.keep(turn("b", store.find("a")));
  EXPECT_EQ(store.find("x"), nullptr);
  EXPECT_EQ(ids(store.find("a")->context()), "in_a out_a ");
  EXPECT_EQ(ids(store.find("b")->context()), "in_a out_a in_b out_b ");
  EXPECT_EQ(store.item("out_a")->at("id"), "out_a");
  EXPECT_EQ(store.item("in_b")->at("id"), "in_b");
  EXPECT_FALSE(store.item("out_x"));
  EXPECT_TRUE(store.remove("a"));
  EXPECT_FALSE(store.remove("a"));
  EXPECT_EQ(store.find("a"), nullptr);
  EXPECT_FALSE(store.item("in_a"));
  EXPECT_EQ(ids(store.find("b")->context()), "in_a out_a in_b out_b ") << "what follows a removed turn still has it";
  EXPECT_TRUE(store.remove("b"));
  EXPECT_EQ(store.bytes(), 0u);
}

TEST(ResponseStore, lets_the_turns_go_that_were_not_used_for_longest) {
  ResponseStore store(10'000);
  for (const char* id : {"a", "b", "c"}) store.keep(turn(id, nullptr, 2500));
  EXPECT_NE(store.find("a"), nullptr);  // now b is the oldest
  EXPECT_TRUE(store.item("out_c"));     // a use, too
  store.keep(turn("d", nullptr, 2500));
  EXPECT_EQ(store.find("b"), nullptr);
  for (const char* id : {"a", "c", "d"}) EXPECT_NE(store.find(id), nullptr) << id;
  EXPECT_LE(store.bytes(), 10'000u);
  store.keep(turn("large", nullptr, 20'000));
  EXPECT_EQ(store.find("large"), nullptr);
  EXPECT_EQ(store.bytes(), 0u);
}

// Turns that others hold count as long as they live.
TEST(ResponseStore, counts_what_later_turns_hold) {
  ResponseStore store(10'000);
  store.keep(turn("a", nullptr, 2500));
  const size_t one = store.bytes();
  {
    const auto held = store.find("a");
    store.remove("a");
    EXPECT_EQ(store.bytes(), one);
  }
  EXPECT_EQ(store.bytes(), 0u);
  store.keep(turn("a", nullptr, 2500));
  store.keep(turn("b", store.find("a"), 2500));
  store.remove("a");
  EXPECT_GT(store.bytes(), 5000u);
  store.remove("b");
  EXPECT_EQ(store.bytes(), 0u);
}

TEST(ResponseStore, long_conversations_end_without_deep_recursion) {
  ResponseStore store(size_t(1) << 40);
  store.keep(turn("0"));
  for (int i = 1; i < 100'000; ++i) {
    store.keep(turn(std::to_string(i), store.find(std::to_string(i - 1))));
    store.remove(std::to_string(i - 1));
  }
  EXPECT_GT(store.bytes(), 0u);
  store.remove("99999");
  EXPECT_EQ(store.bytes(), 0u);
}

TEST(ResponseStore, many_threads_may_use_it) {
  ResponseStore store(20'000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&store, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string id = std::to_string(t) + "-" + std::to_string(i);
        store.keep(turn(id, i ? store.find(std::to_string(t) + "-" + std::to_string(i - 1)) : nullptr, 100));
        store.item("out_" + id);
        if (i % 3 == 0) store.remove(id);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_LE(store.bytes(), 20'000u);
}

}  // namespace
}  // namespace hearth::server::test
