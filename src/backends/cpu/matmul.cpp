#include <algorithm>

#include "backends/cpu/bf16.h"
#include "backends/cpu/cpu_class.h"
#include "backends/cpu/rows.h"

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
  if (const auto* bf16 = dynamic_cast<const Bf16Weight*>(w.prepared.get())) return linear_bf16(x, *bf16, bias, e, y);
  if (const auto* rows = dynamic_cast<const RowsWeight*>(w.prepared.get())) {
    const int64_t M = x.size(0) * x.size(1);
    if (rows->factors == DType::bf16 && M >= fewest_bf16_rows) return linear_rows_bf16(x, *rows, bias, e, y);
    const Tensor left = rows->rounds_x() ? rounded_to_bf16(x) : x;
    if (!are_few(M, *rows)) return linear_rows(left, *rows, bias, e, y);
    const LinearCall call{w, bias, e, y};
    return linear_few(left, {&call, 1});
  }
  const auto [B, M, K] = x.dims<3>();
  const Tensor left = as_f32(x);
  product(DenseRows(left.data<float>(), K), B * M, M, static_cast<const PackedWeight&>(*w.prepared), bias, e, y);
}

void CpuBackend::linears(const Tensor& x, std::span<LinearCall> calls) {
  const auto few = [&](const LinearCall& c) {
    const auto* rows = dynamic_cast<const RowsWeight*>(c.w.prepared.get());
    return rows && are_few(x.size(0) * x.size(1), *rows) &&
           rows->rounds_x() == static_cast<const RowsWeight&>(*calls[0].w.prepared).rounds_x();
  };
  if (std::all_of(calls.begin(), calls.end(), few))
    return linear_few(static_cast<const RowsWeight&>(*calls[0].w.prepared).rounds_x() ? rounded_to_bf16(x) : x, calls);
  Backend::linears(x, calls);
}

}  // namespace hearth::cpu
