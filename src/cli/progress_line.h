// How far it is, on a terminal as a bar with the time left, elsewhere as plain lines.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "hearth/progress.h"

namespace hearth::cli {

// "4:05", "1:00:09", "0.4 s" below ten seconds.
std::string format_time(double seconds);
// "512 B", "1.6 GB": powers of ten.
std::string format_bytes(int64_t bytes);

class ProgressLine {
 public:
  using Clock = std::function<double()>;                         // seconds
  using Write = std::function<void(const std::string& output)>;  // to the terminal or the log

  // `columns` of the terminal; 0 where the output is no terminal: then one line per phase and one per tenth of a phase that
  // takes longer than five seconds.
  ProgressLine(int columns, Write write, Clock clock);
  // To stderr with its width, and the system's clock.
  ProgressLine();
  ~ProgressLine();  // finishes

  void update(const Progress& progress);
  // A line of its own, above the bar.
  void say(const std::string& line);
  // Ends the phase with a line of its own; what is printed next stands below it.
  void finish();

 private:
  std::string bar(double elapsed) const;
  std::string amount(int64_t value) const;

  int columns_;
  Write write_;
  Clock clock_;
  std::string phase_;
  int64_t done_ = 0, total_ = 0, begun_ = 0;  // begun_: done when the phase began
  double begin_ = 0, shown_ = 0;              // of the phase; when something was last written
  int tenths_ = 0;                            // of the phase, said in plain lines
  bool open_ = false;                         // a bar stands on the terminal's last line
};

}  // namespace hearth::cli
