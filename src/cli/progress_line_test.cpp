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

TEST(ProgressLine, times_sizes_and_rates) {
  EXPECT_EQ(format_time(0), "0 ms");
  EXPECT_EQ(format_time(0.0994), "99 ms");
  EXPECT_EQ(format_time(0.1), "0.1 s");
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
  EXPECT_EQ(format_rate("load", 3'200'000'000, 2), "1.6 GB/s");
  EXPECT_EQ(format_rate("sample", 4, 6), "1.50 s/step");
  EXPECT_EQ(format_rate("sample", 8, 2), "250 ms/step");
  EXPECT_EQ(format_rate("prompt", 410, 2), "205 tokens/s");
  EXPECT_EQ(format_rate("generate", 41, 2), "20.5 tokens/s");
  EXPECT_EQ(format_rate("decode", 1, 2), "");
  EXPECT_EQ(format_rate("load", 0, 2), "");
  EXPECT_EQ(format_rate("load", 2, 0), "");
}

TEST(ProgressLine, the_bar_has_rate_and_time_left) {
  Screen s(80);
  s.line.update({"sample", 0, 20});
  EXPECT_EQ(s.take(), "\r\x1b[Kdenoise  [" + std::string(30, '.') + "]   0%  0/20");
  s.time += 5;
  s.line.update({"sample", 5, 20});
  // 5 of 20 steps took 5 s: 15 s are left.
  EXPECT_EQ(s.take(), "\r\x1b[Kdenoise  [#######" + std::string(23, '.') + "]  25%  5/20  1.00 s/step  0:15 left");
  s.time += 0.05;
  s.line.update({"sample", 6, 20});
  EXPECT_EQ(s.take(), "");  // too soon after the last update
  s.time += 20;
  s.line.update({"sample", 20, 20});
  EXPECT_NE(s.take().find("] 100%  20/20  1.25 s/step"), std::string::npos);
  s.line.update({"decode", 0, 1});
  EXPECT_EQ(s.take().rfind("\r\x1b[Kdenoise  20 steps in 0:25 (1.25 s/step)\n\r\x1b[Kdecode   [", 0), 0u);
  s.line.finish();
  EXPECT_EQ(s.take(), "\r\x1b[Kdecode   0 of 1 image in 0 ms\n");
  s.line.finish();
  EXPECT_EQ(s.take(), "");
}

TEST(ProgressLine, the_bar_fits_every_width) {
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

TEST(ProgressLine, without_a_terminal_there_are_plain_lines) {
  Screen s(0);
  s.line.update({"load", 0, 2'000'000'000});
  s.time += 1;
  s.line.update({"load", 2'000'000'000, 2'000'000'000});
  EXPECT_EQ(s.take(), "");
  s.line.update({"sample", 0, 20});
  EXPECT_EQ(s.take(), "load     2.0 GB in 1.0 s (2.0 GB/s)\n");
  for (int i = 1; i <= 20; ++i) {
    s.time += 2;
    s.line.update({"sample", i, 20});
  }
  EXPECT_EQ(s.take(),
            "denoise  3/20  0:34 left\ndenoise  4/20  0:32 left\ndenoise  6/20  0:28 left\ndenoise  8/20  0:24 left\n"
            "denoise  10/20  0:20 left\ndenoise  12/20  0:16 left\ndenoise  14/20  0:12 left\ndenoise  16/20  8.0 s left\n"
            "denoise  18/20  4.0 s left\n");
  s.line.finish();
  EXPECT_EQ(s.take(), "denoise  20 steps in 0:40 (2.00 s/step)\n");
}

TEST(ProgressLine, a_phase_that_starts_over_is_a_new_one) {
  Screen s(0);
  s.line.update({"sample", 0, 4});
  s.time += 1;
  s.line.update({"sample", 4, 4});
  s.line.update({"sample", 0, 4});
  EXPECT_EQ(s.take(), "denoise  4 steps in 1.0 s (250 ms/step)\n");
  s.time += 3;
  s.line.update({"sample", 4, 4});
  s.line.finish();
  EXPECT_EQ(s.take(), "denoise  4 steps in 3.0 s (750 ms/step)\n");
}

TEST(ProgressLine, work_before_the_first_update_does_not_count_for_the_rate) {
  Screen s(0);
  s.line.update({"prompt", 512, 1024});
  s.time += 2;
  s.line.update({"prompt", 1024, 1024});
  s.line.finish();
  EXPECT_EQ(s.take(), "prefill  1024 tokens in 2.0 s (256 tokens/s)\n");
}

TEST(ProgressLine, more_done_than_the_total_is_harmless) {
  Screen s(200);
  s.line.update({"sample", 999, 1000});
  EXPECT_NE(s.take().find("[" + std::string(29, '#') + ".]  99%  999/1000"), std::string::npos);
  s.line.update({"sample", 5, 4});
  EXPECT_NE(s.take().find("[" + std::string(30, '#') + "] 100%  5/4"), std::string::npos);
}

TEST(ProgressLine, another_name_or_total_is_another_phase) {
  Screen s(80);
  s.line.update({"encode", 0, 1});
  s.take();
  s.line.update({"sample", 0, 1});
  EXPECT_EQ(s.take().rfind("\r\x1b[Kencode   0 of 1 prompt in 0 ms\n\r\x1b[Kdenoise  [", 0), 0u);
  s.line.update({"sample", 1, 4});
  EXPECT_EQ(s.take().rfind("\r\x1b[Kdenoise  0 of 1 step in 0 ms\n\r\x1b[Kdenoise  [", 0), 0u);
  s.line.update({"sample", 4, 4});  // the last is shown however soon it comes
  EXPECT_NE(s.take().find("] 100%  4/4"), std::string::npos);
}

TEST(ProgressLine, every_phase_has_its_tenths) {
  Screen s(0);
  for (int run = 0; run < 2; ++run) {
    s.line.update({"sample", 0, 2});
    s.time += 6;
    s.take();
    s.line.update({"sample", 1, 2});
    EXPECT_EQ(s.take(), "denoise  1/2  6.0 s left\n") << run;
    s.line.update({"sample", 2, 2});
  }
}

TEST(ProgressLine, the_destructor_finishes_the_phase) {
  std::string written;
  {
    ProgressLine line(
        0, [&](const std::string& text) { written += text; }, [] { return 1.0; });
    line.update({"decode", 1, 1});
  }
  EXPECT_EQ(written, "decode   1 image in 0 ms\n");
}

TEST(ProgressLine, clear_makes_room_for_a_log_line) {
  Screen s(80);
  s.line.update({"sample", 1, 4});
  s.take();
  s.line.clear();
  EXPECT_EQ(s.take(), "\r\x1b[K");
  s.line.clear();
  EXPECT_EQ(s.take(), "");
  s.line.update({"sample", 2, 4});  // soon after the last update, but the bar is gone
  EXPECT_NE(s.take().find("  2/4"), std::string::npos);
  Screen plain(0);
  plain.line.clear();
  EXPECT_EQ(plain.take(), "");
}

TEST(ProgressLine, an_unknown_total_is_harmless) {
  for (const int columns : {0, 80}) {
    Screen s(columns);
    s.line.update({"load", 0, 0});
    s.time += 100;
    s.line.update({"load", 0, 0});
    s.line.finish();
    EXPECT_NE(s.written.find("load     0 B in 1:40"), std::string::npos) << s.written;
    EXPECT_EQ(s.written.find("nan"), std::string::npos) << s.written;
  }
}

}  // namespace
}  // namespace hearth::cli
