// Where the time of a run went: every instant of a phase is counted once among the operations and once among the blocks.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/ceilings.h"
#include "core/observe.h"

namespace hearth::api {

// Instants are in seconds from any origin and never go back.
class Profile {
 public:
  explicit Profile(std::optional<Ceilings> ceilings = {}) : ceilings_(ceilings) {}

  void begin_phase(std::string_view name, double now);  // ends the one before; a phase that goes on is not begun again
  void end(double now);
  void enter(std::string_view block, double now);
  void leave(double now);
  void op(const OpEvent& event, double now);  // it ended at `now`
  void debugging(double now);                 // the time until now went into looking on

  // {"ceilings": {"matrix_gflops", "bf16_gflops", "read_gbs"},
  //  "phases": [{"phase", "wall_seconds"}],
  //  "ops": [{"phase", "op", "calls", "seconds", "gflop", "gbs", "fraction"}],
  //  "blocks": [{"phase", "block", "calls", "seconds", "whole_seconds", "gflop", "fraction"}]}
  // In each of the two lists the seconds of a phase's rows sum up to its wall_seconds. A block's seconds are what its inner blocks
  // leave of its whole_seconds. "fraction" is the time that the ceilings allow by the time taken: products at the peak of their
  // factors or, where that takes longer, at the speed of reading their weights once; other operations at the speed of reading what they
  // read and write. It may pass 1 (Winograd's saving, data in a cache). "gbs" is told of operations that are no products, and of products
  // all of which reading bounds; neither it nor "fraction" of rows without work.
  nlohmann::json report() const;

 private:
  struct Row {
    int64_t calls = 0;
    int64_t read = 0, computed = 0;                      // bytes of the calls that reading bounds; number of the others
    double seconds = 0, whole = 0, flop = 0, least = 0;  // least: seconds that the ceilings allow
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
  void spend(double seconds, Row& op);  // on the innermost block, too

  std::optional<Ceilings> ceilings_;
  std::string phase_;
  double since_phase_ = 0, last_ = 0;
  std::vector<std::pair<std::string, double>> phases_;
  std::map<Key, Row> ops_, blocks_;
  Row* between_ = nullptr;  // of the phase
  Row* outside_ = nullptr;
  std::vector<Open> open_;
};

}  // namespace hearth::api
