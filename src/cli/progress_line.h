// Progress in one style: on a terminal a bar with rate and time left, elsewhere a line when a phase ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "hearth/progress.h"

namespace hearth::cli {

// "4:05", "1:00:09", "0.4 s" below ten seconds, "40 ms" below a tenth.
std::string format_time(double seconds);
// "512 B", "1.6 GB": powers of ten.
std::string format_bytes(int64_t bytes);
// "load", 1.6 GB in 1 s → "1.6 GB/s"; "sample" → "1.42 s/step"; "prompt" → "210 tokens/s". Empty if nothing was done.
std::string format_rate(const std::string& phase, int64_t done, double seconds);

class ProgressLine {
 public:
  using Clock = std::function<double()>;                         // seconds
  using Write = std::function<void(const std::string& output)>;  // to the terminal or the log

  // `columns` of the terminal; 0 if the output is not a terminal: then one line per phase, and one per tenth of a phase that takes longer
  // than five seconds.
  ProgressLine(int columns, Write write, Clock clock);
  // To stderr with its width, and the system's clock; with --quiet to nowhere. Log lines then go above the bar.
  ProgressLine();
  ~ProgressLine();  // finishes
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(const Progress& progress);
  // Clears the bar to make room for another line.
  void clear();
  // Ends the phase with a summary line.
  void finish();

 private:
  std::string bar(double elapsed) const;

  int columns_;
  Write write_;
  Clock clock_;
  bool clears_for_log_ = false;
  std::string phase_;
  int64_t done_ = 0, total_ = 0, done_at_begin_ = 0;  // done_at_begin_: when the phase began
  double begin_ = 0, shown_ = 0;                      // of the phase; when something was last written
  int tenths_ = 0;                                    // of the phase, reported in plain lines
  bool open_ = false;                                 // a bar is on the terminal's last line
};

}  // namespace hearth::cli
