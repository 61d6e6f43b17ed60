// What `Debug` asks for, gathered while a run goes on.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/observe.h"
#include "hearth/hearth.h"

namespace hearth::api {

class DebugObserver : public Observer {
 public:
  explicit DebugObserver(const Debug& debug) : debug_(debug) {}

  void set_phase(std::string_view phase) { phase_ = phase; }  // "encode", "sample", "decode"
  void on_op(const OpEvent& event) override;                  // with `nan`: NonFiniteError at the first bad result
  void on_tap(std::string_view path, const Tensor&) override;

  // {"timing": {"ops": [{"phase", "op", "calls", "seconds", "gflop"}], "blocks": [{"phase", "block", "calls", "seconds"}]},
  //  "shapes": ["sample: linear … [2, 64, 8] → [2, 64, 8] f32, 20 times"]}; an operation's time counts for the block that ends next
  nlohmann::json report() const;

 private:
  struct Sum {
    int64_t calls = 0;
    double seconds = 0, flop = 0;
  };
  using Key = std::pair<std::string, std::string>;  // phase and name

  Debug debug_;
  std::string phase_, last_block_;
  std::map<Key, Sum> ops_, blocks_;
  double since_block_ = 0;
  std::map<std::string, int64_t> shapes_;
  std::vector<std::string> shape_order_;
};

}  // namespace hearth::api
