// Every op opens with one: it lets a cancelled run stop here, measures, and tells the observers.
#pragma once

#include <chrono>

#include "core/observe.h"
#include "core/weight.h"

namespace hearth::ops {

class OpTrace {
 public:
  OpTrace(std::string_view op, const Tensor& x, std::string_view weight = {}, double flop = 0)
      : op_(op), weight_(weight), x_(x), flop_(flop), watching_(observed()) {
    check_cancelled();
    if (watching_) start_ = std::chrono::steady_clock::now();
  }
  Tensor done(Tensor y) const {
    if (watching_) notify({op_, weight_, x_, y, std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(), flop_});
    return y;
  }

 private:
  std::string_view op_, weight_;
  const Tensor& x_;
  double flop_;
  bool watching_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace hearth::ops
