// Where a run spends its time: every instant of a phase counts once among the ops and once among the blocks.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/ceilings.h"
#include "core/observe.h"

namespace hearth::api {

// Times are in seconds from any origin and never decrease.
class Profile {
 public:
  explicit Profile(std::optional<Ceilings> ceilings = {}) : ceilings_(ceilings) {}

  void begin_phase(std::string_view name, double now);  // ends the previous phase; no effect if it is already the current one
  void end(double now);
  void enter(std::string_view block, double now);
  void leave(double now);
  void op(const OpEvent& event, double now);  // it ended at `now`
  void debugging(double now);                 // the time up to now was spent on debugging

  // {"ceilings": {"matrix_gflops", "bf16_gflops", "read_gbs"},
  //  "phases": [{"phase", "wall_seconds"}],
  //  "ops": [{"phase", "op", "calls", "seconds", "gflop", "gbs", "fraction"}],
  //  "blocks": [{"phase", "block", "calls", "seconds", "whole_seconds", "gflop", "fraction"}]}
  // In both lists, the seconds of a phase's rows add up to its wall_seconds. A block's seconds are its whole_seconds without those of its
  // inner blocks. "fraction" is the least time at the ceilings divided by the measured time. The least time of a product is at the peak
  // for its factors or, if longer, at the speed of reading its weights once; that of other ops is at the speed of reading the bytes that
  // they read and write. It can exceed 1 (Winograd, data in a CPU cache). "gbs" is reported for ops other than products, and for products
  // that are all bound by reading; rows without work have neither "gbs" nor "fraction".
  nlohmann::json report() const;

 private:
  struct Row {
    int64_t calls = 0;
    int64_t read = 0, computed = 0;                      // bytes of the calls bound by reading; count of the others
    double seconds = 0, whole = 0, flop = 0, least = 0;  // least: least seconds at the ceilings
  };
  using Key = std::pair<std::string, std::string>;  // phase and name
  struct Open {
    Row* row;
    double since;
  };

  struct Least {
    double computing = 0, reading = 0;  // seconds
  };
  Least least(const OpEvent& event) const;
  void spend(double seconds, Row& op);  // adds to the innermost block, too

  std::optional<Ceilings> ceilings_;
  std::string phase_;
  double since_phase_ = 0, last_ = 0;
  std::vector<std::pair<std::string, double>> phases_;
  std::map<Key, Row> ops_, blocks_;
  Row* between_ = nullptr;  // the phase's row for the time between ops
  Row* outside_ = nullptr;  // and for the time outside blocks
  std::vector<Open> open_;
};

}  // namespace hearth::api
