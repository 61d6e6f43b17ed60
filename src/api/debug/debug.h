// Collects what `Debug` requests during a run.
#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "api/debug/profile.h"
#include "core/observe.h"
#include "hearth/hearth.h"

namespace hearth::api {

class DebugObserver : public Observer {
 public:
  // With `timing`, first measures the device's ceilings, which takes a few tenths of a second. Then starts the phase "prepare".
  DebugObserver(const Debug& debug, Backend& device);

  std::chrono::steady_clock::time_point began() const { return began_; }  // start of that phase
  bool watches() const { return debug_.timing || debug_.shapes || debug_.nan; }
  void set_phase(std::string_view phase);     // "encode", "sample", "decode", "finish"
  void finish();                              // ends the last phase
  void on_op(const OpEvent& event) override;  // with `nan`: NonFiniteError at the first non-finite result
  void on_tap(std::string_view path, const Tensor&) override { last_block_ = path; }
  void on_enter(std::string_view path) override;
  void on_leave() override;

  // {"timing": Profile::report(), "shapes": ["sample: linear … [2, 64, 8] → [2, 64, 8] f32, 20 times"]}
  nlohmann::json report() const;

 private:
  double now() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count(); }

  std::chrono::steady_clock::time_point began_;
  Debug debug_;
  Profile profile_;
  std::string phase_, last_block_;
  std::map<std::string, int64_t> shapes_;
  std::vector<std::string> shape_order_;
};

}  // namespace hearth::api
