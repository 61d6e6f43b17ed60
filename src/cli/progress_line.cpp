#include "cli/progress_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace hearth::cli {
namespace {

int columns_of_stderr() {
  if (::isatty(STDERR_FILENO) == 0) return 0;
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

std::string format_time(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto s = int64_t(std::lround(seconds));
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string format_bytes(int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double value = double(bytes) / 1000;
  const char* unit = "kMGTPE";
  while (value >= 999.5) {  // 2⁶³ bytes are 9.2 EB
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}B", value, value < 9.95 ? 1 : 0, *unit);
}

ProgressLine::ProgressLine(int columns, Write write, Clock clock) : columns_(columns), write_(std::move(write)), clock_(std::move(clock)) {}

ProgressLine::ProgressLine()
    : ProgressLine(
          columns_of_stderr(), [](const std::string& text) { std::fputs(text.c_str(), stderr), std::fflush(stderr); }, now) {}

ProgressLine::~ProgressLine() { finish(); }

std::string ProgressLine::amount(int64_t value) const {
  return phase_ == "load" || phase_ == "download" ? format_bytes(value) : std::to_string(value);
}

std::string ProgressLine::bar(double elapsed) const {
  const double part = total_ > 0 ? std::clamp(double(done_) / double(total_), 0.0, 1.0) : 0;
  std::string left;
  if (phase_ == "download" && elapsed > 0) left = fmt::format("{}/s  ", format_bytes(int64_t(double(done_ - begun_) / elapsed)));
  if (done_ > begun_ && done_ < total_) left += format_time(elapsed * double(total_ - done_) / double(done_ - begun_)) + " left";
  const std::string head = fmt::format("{:<7} ", phase_),
                    tail = fmt::format(" {}/{} {:3.0f}%  {}", amount(done_), amount(total_), std::floor(part * 100), left);
  const int room = std::min(columns_ - 1 - int(head.size()) - int(tail.size()) - 2, 40);
  if (room < 5) return (head + tail).substr(0, size_t(columns_ - 1));
  const int filled = int(part * room);
  return fmt::format("{}[{}{}]{}", head, std::string(size_t(filled), '#'), std::string(size_t(room - filled), '.'), tail);
}

void ProgressLine::finish() {
  if (phase_.empty()) return;
  const double elapsed = clock_() - begin_;
  const std::string whole = done_ < total_ ? fmt::format("{} of {}", amount(done_), amount(total_)) : amount(done_);
  const std::string line = fmt::format("{:<7} {} in {}", phase_, whole, format_time(elapsed));
  write_(open_ ? "\r\x1b[K" + line + "\n" : line + "\n");
  open_ = false;
  phase_.clear();
}

void ProgressLine::update(const Progress& progress) {
  const double time = clock_();
  if (progress.phase != phase_ || progress.done < done_ || progress.total != total_) {
    finish();
    phase_ = progress.phase;
    begin_ = time;
    begun_ = progress.done;
    tenths_ = 0;
  }
  done_ = progress.done;
  total_ = progress.total;
  const double elapsed = time - begin_;

  if (columns_ > 0) {
    constexpr double between = 0.1;  // a terminal over a slow line keeps up
    if (open_ && time - shown_ < between && done_ < total_) return;
    write_("\r\x1b[K" + bar(elapsed));
    shown_ = time;
    open_ = true;
  } else if (const int tenths = total_ > 0 ? int(10 * done_ / total_) : 0; tenths > tenths_ && done_ < total_ && elapsed > 5) {
    tenths_ = tenths;
    write_(fmt::format("{:<7} {}/{}, {} left\n", phase_, amount(done_), amount(total_),
                       format_time(elapsed * double(total_ - done_) / double(done_))));
  }
}

void ProgressLine::say(const std::string& line) {
  write_((open_ ? "\r\x1b[K" : "") + line + "\n");
  open_ = false;
}

}  // namespace hearth::cli
