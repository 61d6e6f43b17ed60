#include <algorithm>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/products/bf16.h"
#include "backends/cpu/products/rows.h"

namespace hearth::cpu {
namespace {

class DenseRows final : public LeftRows {
 public:
  DenseRows(const float* x, int64_t depth) : x_(x), depth_(depth) {}
  int64_t segments(int64_t row, int64_t rows, int64_t k0, int64_t k1, Segment* out) const override {
    for (int64_t r = 0; r < rows; ++r) out->row[r] = x_ + (row + r) * depth_ + k0;
    out->length = k1 - k0;
    return 1;
  }

 private:
  const float* x_;
  int64_t depth_;
};

}  // namespace

void CpuBackend::linear(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, const GroupNormSpec& norm, Tensor& y) {
  if (norm) return normalized_linear(x, w, bias, e, norm, y);
  const int64_t rows = x.size(0) * x.size(1);
  const Route route = route_of(w, rows);
  const auto wide = [&] { return as_f32(x); };
  const auto left = [&] { return rounds_x(route) ? rounded_to_bf16(wide()) : wide(); };
  switch (route) {
    case Route::panels: {
      const Tensor f32 = wide();
      return product(DenseRows(f32.data<float>(), x.size(2)), rows, x.size(1), static_cast<const PackedWeight&>(*w.prepared), bias, e, y);
    }
    case Route::bf16_panels: return linear_bf16(x, static_cast<const Bf16Weight&>(*w.prepared), bias, e, y);
    case Route::one_row:
    case Route::one_rounded_row:
    case Route::few_integers: {
      const LinearCall call{w, bias, e, y};
      return linear_few(left(), {&call, 1});
    }
    case Route::rows:
    case Route::rounded_rows: return linear_rows(left(), w, bias, e, y);
    case Route::turned_rows: return linear_turned(wide(), w, bias, e, y);
    case Route::paired_rows: return linear_rows_bf16(wide(), w, bias, e, y);
    case Route::integers: return linear_integers(wide(), w, bias, e, y);
    case Route::gated_rows: return linear_gated(wide(), w, bias, e, y);
  }
}

void CpuBackend::linears(const Tensor& x, std::span<LinearCall> calls) {
  const auto route = [&](const LinearCall& c) { return route_of(c.w, x.size(0) * x.size(1)); };
  const bool rounded = rounds_x(route(calls[0]));
  const auto together = [&](const LinearCall& c) { return is_few(route(c)) && rounds_x(route(c)) == rounded; };
  if (std::all_of(calls.begin(), calls.end(), together)) return linear_few(rounded ? rounded_to_bf16(as_f32(x)) : as_f32(x), calls);
  Backend::linears(x, calls);
}

}  // namespace hearth::cpu
