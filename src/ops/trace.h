// Every op starts with an OpTrace: it stops a canceled run, measures the op and notifies the observers.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "core/backend.h"
#include "core/factors.h"
#include "core/observe.h"

namespace hearth::ops {

class OpTrace {
 public:
  OpTrace(std::string_view op, const Tensor& x, double flop = 0, DType factors = DType::f32)
      : op_(op), x_(x), flop_(flop), factors_(factors), watching_(observed()) {
    check_canceled();
    if (watching_) start_ = std::chrono::steady_clock::now();
  }
  // A product with a weight.
  OpTrace(std::string_view op, const Tensor& x, const Weight& w, double flop)
      : OpTrace(op, x, flop, factors_of(w.form, x.numel() / std::max<int64_t>(1, x.size(-1)))) {
    weight_ = w.name;
    if (watching_) weight_bytes_ = held_bytes(w);
  }
  // `read`: bytes of all inputs, if x is not the only one.
  Tensor done(Tensor y, std::optional<int64_t> read = {}) const {
    if (watching_) report(y, seconds(), read);
    return y;
  }
  double seconds() const {
    if (watching_) x_.backend().finish();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  void report(const Tensor& y, double seconds, std::optional<int64_t> read = {}) const {
    if (!watching_) return;
    const int64_t bytes = read.value_or(bytes_of(x_)) + bytes_of(y);
    notify({.op = op_,
            .weight = weight_,
            .x = x_,
            .y = y,
            .seconds = seconds,
            .flop = flop_,
            .factors = factors_,
            .bytes = bytes,
            .weight_bytes = weight_bytes_});
  }
  static int64_t bytes_of(const Tensor& x) { return int64_t(x.bytes()); }

 private:
  std::string_view op_, weight_;
  const Tensor& x_;
  double flop_;
  DType factors_;
  int64_t weight_bytes_ = 0;
  bool watching_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace hearth::ops
