#include "server/log_queue.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <utility>
#include <vector>

namespace hearth::server {
namespace {

using namespace std::chrono_literals;

TEST(LogQueue, writes_all_lines_in_their_order) {
  std::vector<std::string> written;
  {
    LogQueue queue([&](const std::string& line) { written.push_back(line); });
    for (int i = 0; i < 1000; ++i) queue.add(std::to_string(i));
  }
  ASSERT_EQ(written.size(), 1000u);
  for (size_t i = 0; i < written.size(); ++i) EXPECT_EQ(written[i], std::to_string(i));
}

TEST(LogQueue, says_how_many_lines_it_left_out) {
  std::promise<void> began, go;
  std::vector<std::string> written;
  {
    LogQueue queue(
        [&, first = true](const std::string& line) mutable {
          if (std::exchange(first, false)) began.set_value(), go.get_future().wait();
          written.push_back(line);
        },
        3);
    queue.add("a");
    began.get_future().wait();
    for (const char* line : {"b", "c", "d", "e", "f"}) queue.add(line);
    go.set_value();
  }
  EXPECT_EQ(written, (std::vector<std::string>{"a", "b", "c", "d",
                                               "2 lines of the log were left out: they came faster than they could be written"}));
}

TEST(LogQueue, ends_although_a_line_is_never_written) {
  const auto go = std::make_shared<std::promise<void>>();
  const auto returned = std::make_shared<std::promise<void>>();
  const auto began = std::chrono::steady_clock::now();
  {
    LogQueue queue([go, returned](const std::string&) {
      go->get_future().wait();
      returned->set_value();
    });
    queue.add("a");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
  go->set_value();
  EXPECT_EQ(returned->get_future().wait_for(60s), std::future_status::ready);
}

TEST(LogQueue, goes_on_after_a_line_that_fails) {
  std::vector<std::string> written;
  {
    LogQueue queue([&](const std::string& line) {
      if (line == "a") throw std::runtime_error("the disk is full");
      written.push_back(line);
    });
    queue.add("a");
    queue.add("b");
  }
  EXPECT_EQ(written, std::vector<std::string>{"b"});
}

}  // namespace
}  // namespace hearth::server
