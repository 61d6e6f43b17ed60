// Random inputs for comparing a backend with the reference backend on the same rounded values.
#pragma once

#include <random>

#include "backends/backends.h"
#include "support/backend_test.h"
#include "support/tolerance.h"

namespace hearth::test {

inline Backend& reference_backend() {
  static const std::unique_ptr<Backend> backend = make_backend({.name = "reference", .threads = 2});
  return *backend;
}

// A copy of x with values changed by f(float*).
template <class F> Tensor edited(const Tensor& x, F f) {
  std::vector<float> values = x.to_vector();
  f(values.data());
  return Tensor::from(x.backend(), x.shape(), values, x.dtype());
}

// Number of members of Activation.
inline constexpr int activations = int(Activation::squared_relu) + 1;

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}

  int64_t between(int64_t low, int64_t high) { return low + int64_t(engine_() % uint32_t(high - low + 1)); }
  bool chance() { return engine_() % 2; }
  DType dtype() { return std::array{DType::f32, DType::f16, DType::bf16}[engine_() % 3]; }
  // A random form of a weight; bf16 factors only if the device multiplies them.
  WeightForm form(const Backend& device) {
    if (device.multiplies_bf16() && chance()) return {.hold = DType::bf16, .factors = DType::bf16};
    return {.hold = dtype()};
  }
  // The same values on the device under test and on the reference backend.
  struct Pair {
    Tensor device, reference;
  };
  Pair normal(Backend& device, const Shape& shape, DType dtype = DType::f32, float scale = 1) {
    std::normal_distribution<float> distribution(0, scale);
    std::vector<float> values;
    for (int64_t i = 0; i < shape.numel(); ++i) values.push_back(distribution(engine_));
    return {Tensor::from(device, shape, values, dtype), Tensor::from(reference_backend(), shape, values, dtype)};
  }
  struct WeightPair {
    Weight device, reference;
  };
  WeightPair weight(Backend& device, const Shape& shape, WeightKind kind, const WeightForm& form) {
    const Pair w = normal(device, shape, DType::f32, 1 / std::sqrt(float(shape.numel() / shape[0])));
    const auto make = [&](Backend& backend, const Tensor& t) {
      return Weight{
          .name = "w", .shape = shape, .form = form, .prepared = backend.prepare(t, kind, form), .backend = &backend, .kind = kind};
    };
    return {make(device, w.device), make(reference_backend(), w.reference)};
  }

 private:
  std::mt19937 engine_;
};

}  // namespace hearth::test
