#include "cli/progress_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "cli/log.h"

namespace hearth::cli {
namespace {

int columns_of_stderr() {
  if (::isatty(STDERR_FILENO) == 0) return 0;
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// How the phases of hearth/progress.h are shown.
struct Phase {
  std::string_view name, label, unit;
};
constexpr std::array<Phase, 12> phases{{{"load", "load", "B"},
                                        {"download", "download", "B"},
                                        {"encode", "encode", "prompt"},
                                        {"sample", "denoise", "step"},
                                        {"decode", "decode", "image"},
                                        {"prompt", "prefill", "token"},
                                        {"generate", "generate", "token"},
                                        {"score", "evaluate", "token"},
                                        {"quantize", "quantize", "parameter"},
                                        {"convert", "convert", "B"},
                                        {"write", "write", "tensor"},
                                        {"measure", "measure", "part"}}};

Phase shown_as(std::string_view name) {
  const auto found = std::ranges::find(phases, name, &Phase::name);
  return found == phases.end() ? Phase{name, name, ""} : *found;
}

bool in_bytes(const std::string& phase) { return shown_as(phase).unit == "B"; }

std::string amount(const std::string& phase, int64_t value) { return in_bytes(phase) ? format_bytes(value) : std::to_string(value); }

// "20 steps"
std::string counted(const std::string& phase, int64_t value) {
  const std::string_view unit = shown_as(phase).unit;
  if (in_bytes(phase) || unit.empty()) return amount(phase, value);
  return fmt::format("{} {}{}", value, unit, value == 1 ? "" : "s");
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

std::string format_time(double seconds) {
  if (seconds < 0.0995) return fmt::format("{:.0f} ms", seconds * 1000);
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

std::string format_rate(const std::string& phase, int64_t done, double seconds) {
  if (done <= 0 || seconds <= 0) return "";
  const double rate = double(done) / seconds;
  if (in_bytes(phase)) return format_bytes(int64_t(std::min(rate, 9e18))) + "/s";
  if (phase == "sample") return rate > 1 ? fmt::format("{:.0f} ms/step", 1000 / rate) : fmt::format("{:.2f} s/step", 1 / rate);
  if (shown_as(phase).unit == "token") return fmt::format("{:.{}f} tokens/s", rate, rate < 99.5 ? 1 : 0);
  return "";
}

ProgressLine::ProgressLine(int columns, Write write, Clock clock) : columns_(columns), write_(std::move(write)), clock_(std::move(clock)) {}

ProgressLine::ProgressLine()
    : ProgressLine(
          columns_of_stderr(),
          [](const std::string& text) {
            if (verbosity() != Verbosity::quiet) std::fputs(text.c_str(), stderr), std::fflush(stderr);
          },
          now) {
  clears_for_log_ = true;
  set_before_log([this] { clear(); });
}

ProgressLine::~ProgressLine() {
  finish();
  if (clears_for_log_) set_before_log({});
}

std::string ProgressLine::bar(double elapsed) const {
  const double share = total_ > 0 ? std::clamp(double(done_) / double(total_), 0.0, 1.0) : 0;
  std::string tail = fmt::format(" {:3.0f}%  {}/{}", std::floor(share * 100), amount(phase_, done_), amount(phase_, total_));
  if (const std::string rate = format_rate(phase_, done_ - done_at_begin_, elapsed); !rate.empty()) tail += "  " + rate;
  if (done_ > done_at_begin_ && done_ < total_)
    tail += "  " + format_time(elapsed * double(total_ - done_) / double(done_ - done_at_begin_)) + " left";
  const std::string head = fmt::format("{:<8} ", shown_as(phase_).label);
  const int room = std::min(columns_ - 1 - int(head.size()) - int(tail.size()) - 2, 30);
  if (room < 5) return (head + tail).substr(0, size_t(columns_ - 1));
  const int filled = int(share * room);
  return fmt::format("{}[{}{}]{}", head, std::string(size_t(filled), '#'), std::string(size_t(room - filled), '.'), tail);
}

void ProgressLine::finish() {
  if (phase_.empty()) return;
  const double elapsed = clock_() - begin_;
  const std::string whole =
      done_ < total_ ? fmt::format("{} of {}", amount(phase_, done_), counted(phase_, total_)) : counted(phase_, done_);
  const std::string rate = format_rate(phase_, done_ - done_at_begin_, elapsed);
  clear();
  write_(fmt::format("{:<8} {} in {}{}\n", shown_as(phase_).label, whole, format_time(elapsed), rate.empty() ? "" : " (" + rate + ")"));
  phase_.clear();
}

void ProgressLine::update(const Progress& progress) {
  const double time = clock_();
  if (progress.phase != phase_ || progress.done < done_ || progress.total != total_) {
    finish();
    phase_ = progress.phase;
    begin_ = time;
    done_at_begin_ = progress.done;
    tenths_ = 0;
  }
  done_ = progress.done;
  total_ = progress.total;
  const double elapsed = time - begin_;

  if (columns_ > 0) {
    constexpr double between = 0.1;  // so that a terminal on a slow connection keeps up
    if (open_ && time - shown_ < between && done_ < total_) return;
    write_("\r\x1b[K" + bar(elapsed));
    shown_ = time;
    open_ = true;
  } else if (const int tenths = total_ > 0 ? int(10 * done_ / total_) : 0; tenths > tenths_ && done_ < total_ && elapsed > 5) {
    tenths_ = tenths;
    write_(fmt::format("{:<8} {}/{}  {} left\n", shown_as(phase_).label, amount(phase_, done_), amount(phase_, total_),
                       format_time(elapsed * double(total_ - done_) / double(done_))));
  }
}

void ProgressLine::clear() {
  if (open_) write_("\r\x1b[K");
  open_ = false;
}

}  // namespace hearth::cli
