#include "cli/progress_line.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

namespace hearth::cli {
namespace {

struct Screen {
  explicit Screen(int columns)
      : line(
            columns, [this](const std::string& text) { written += text; }, [this] { return time; }) {}
  std::string take() { return std::exchange(written, ""); }

  std::string written;
  double time = 100;
  ProgressLine line;
};

TEST(ProgressLine, times_and_sizes) {
  EXPECT_EQ(format_time(0), "0.0 s");
  EXPECT_EQ(format_time(9.94), "9.9 s");
  EXPECT_EQ(format_time(9.96), "0:10");
  EXPECT_EQ(format_time(59.4), "0:59");
  EXPECT_EQ(format_time(245), "4:05");
  EXPECT_EQ(format_time(3600), "1:00:00");
  EXPECT_EQ(format_time(3609), "1:00:09");
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "1.0 kB");
  EXPECT_EQ(format_bytes(12'345'678), "12 MB");
  EXPECT_EQ(format_bytes(1'640'000'000), "1.6 GB");
  EXPECT_EQ(format_bytes(999'600), "1.0 MB");
  EXPECT_EQ(format_bytes(9'960'000), "10 MB");
  EXPECT_EQ(format_bytes(std::numeric_limits<int64_t>::max()), "9.2 EB");
}

TEST(ProgressLine, a_bar_with_the_time_left) {
  Screen s(60);
  s.line.update({"sample", 0, 20});
  EXPECT_EQ(s.take(), "\r\x1b[Ksample  [" + std::string(37, '.') + "] 0/20   0%  ");
  s.time += 5;
  s.line.update({"sample", 5, 20});
  // 5 of 20 took 5 s: 15 s are left.
  EXPECT_EQ(s.take(), "\r\x1b[Ksample  [#######" + std::string(21, '.') + "] 5/20  25%  0:15 left");
  s.time += 0.05;
  s.line.update({"sample", 6, 20});
  EXPECT_EQ(s.take(), "");  // too soon after the last
  s.time += 20;
  s.line.update({"sample", 20, 20});
  EXPECT_NE(s.take().find("] 20/20 100%"), std::string::npos);
  s.line.update({"decode", 0, 1});
  EXPECT_EQ(s.take().rfind("\r\x1b[Ksample  20 in 0:25\n\r\x1b[Kdecode  [", 0), 0u);
  s.line.finish();
  EXPECT_EQ(s.take(), "\r\x1b[Kdecode  0 of 1 in 0.0 s\n");
  s.line.finish();
  EXPECT_EQ(s.take(), "");
}

TEST(ProgressLine, every_width_holds_the_line) {
  for (int columns = 1; columns < 130; ++columns) {
    Screen s(columns);
    s.line.update({"load", 1'000'000, 3'000'000'000});
    s.time += 1000;
    s.line.update({"load", 1'999'000'000, 3'000'000'000});
    const std::string last = s.written.substr(s.written.rfind("\x1b[K") + 3);
    EXPECT_LT(last.size(), size_t(columns)) << last;
    if (const size_t open = last.find('['); open != std::string::npos) { EXPECT_GT(last.find(']') - open, 5u) << last; }
  }
}

TEST(ProgressLine, plain_lines_where_there_is_no_terminal) {
  Screen s(0);
  s.line.update({"load", 0, 2'000'000'000});
  s.time += 1;
  s.line.update({"load", 2'000'000'000, 2'000'000'000});
  EXPECT_EQ(s.take(), "");
  s.line.update({"sample", 0, 20});
  EXPECT_EQ(s.take(), "load    2.0 GB in 1.0 s\n");
  for (int i = 1; i <= 20; ++i) {
    s.time += 2;
    s.line.update({"sample", i, 20});
  }
  EXPECT_EQ(s.take(),
            "sample  3/20, 0:34 left\nsample  4/20, 0:32 left\nsample  6/20, 0:28 left\nsample  8/20, 0:24 left\nsample  10/20, 0:20 "
            "left\nsample  12/20, 0:16 left\n"
            "sample  14/20, 0:12 left\nsample  16/20, 8.0 s left\nsample  18/20, 4.0 s left\n");
  s.line.finish();
  EXPECT_EQ(s.take(), "sample  20 in 0:40\n");
}

TEST(ProgressLine, the_same_phase_again_begins_anew) {
  Screen s(0);
  s.line.update({"sample", 0, 4});
  s.time += 1;
  s.line.update({"sample", 4, 4});
  s.line.update({"sample", 0, 4});
  EXPECT_EQ(s.take(), "sample  4 in 1.0 s\n");
  s.time += 3;
  s.line.update({"sample", 4, 4});
  s.line.finish();
  EXPECT_EQ(s.take(), "sample  4 in 3.0 s\n");
}

TEST(ProgressLine, parts_that_do_not_fit_the_whole) {
  Screen s(200);
  s.line.update({"sample", 999, 1000});
  EXPECT_NE(s.take().find("[" + std::string(39, '#') + ".] 999/1000  99%"), std::string::npos);
  s.line.update({"sample", 5, 4});
  EXPECT_NE(s.take().find("[" + std::string(40, '#') + "] 5/4 100%  "), std::string::npos);
}

TEST(ProgressLine, what_makes_a_phase) {
  Screen s(60);
  s.line.update({"encode", 0, 1});
  s.take();
  s.line.update({"sample", 0, 1});
  EXPECT_EQ(s.take().rfind("\r\x1b[Kencode  0 of 1 in 0.0 s\n\r\x1b[Ksample  [", 0), 0u);
  s.line.update({"sample", 1, 4});
  EXPECT_EQ(s.take().rfind("\r\x1b[Ksample  0 of 1 in 0.0 s\n\r\x1b[Ksample  [", 0), 0u);
  s.line.update({"sample", 4, 4});  // the last is shown however soon it comes
  EXPECT_NE(s.take().find("] 4/4 100%"), std::string::npos);
}

TEST(ProgressLine, every_phase_has_its_tenths) {
  Screen s(0);
  for (int run = 0; run < 2; ++run) {
    s.line.update({"sample", 0, 2});
    s.time += 6;
    s.take();
    s.line.update({"sample", 1, 2});
    EXPECT_EQ(s.take(), "sample  1/2, 6.0 s left\n") << run;
    s.line.update({"sample", 2, 2});
  }
}

TEST(ProgressLine, its_end_finishes_it) {
  std::string written;
  {
    ProgressLine line(
        0, [&](const std::string& text) { written += text; }, [] { return 1.0; });
    line.update({"decode", 1, 1});
  }
  EXPECT_EQ(written, "decode  1 in 0.0 s\n");
}

TEST(ProgressLine, a_message_takes_the_place_of_the_bar) {
  Screen s(60);
  s.line.update({"sample", 1, 4});
  s.take();
  s.line.say("hearth: warning: x");
  EXPECT_EQ(s.take(), "\r\x1b[Khearth: warning: x\n");
  s.line.say("y");
  EXPECT_EQ(s.take(), "y\n");
  s.line.update({"sample", 2, 4});  // soon after the last, but the bar is gone
  EXPECT_NE(s.take().find("] 2/4"), std::string::npos);
  Screen plain(0);
  plain.line.say("x");
  EXPECT_EQ(plain.take(), "x\n");
}

TEST(ProgressLine, nothing_known_about_the_total) {
  for (const int columns : {0, 60}) {
    Screen s(columns);
    s.line.update({"load", 0, 0});
    s.time += 100;
    s.line.update({"load", 0, 0});
    s.line.finish();
    EXPECT_NE(s.written.find("load    0 B in 1:40"), std::string::npos) << s.written;
    EXPECT_EQ(s.written.find("nan"), std::string::npos) << s.written;
  }
}

}  // namespace
}  // namespace hearth::cli
