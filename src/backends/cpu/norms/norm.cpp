#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/cpu_class.h"

namespace hearth::cpu {
namespace {

// Rows of x that are read twice while they are in L2. A function of C only, because results must not depend on threads or batch.
int64_t chunk_rows(int64_t C) { return std::clamp<int64_t>(65536 / C, 1, 256); }

// Scale and shift for row r of x.
RowAffine affine_of(const NormSpec& spec, int64_t r, const Tensor& x) {
  const int64_t images = x.size(0), rows = images * x.size(1);
  const auto vector = [](const Tensor& t) { return t ? t.data<float>() : nullptr; };
  return {vector(spec.gamma), vector(spec.beta), modulation_row(spec.scale, r, images, rows), modulation_row(spec.shift, r, images, rows)};
}

}  // namespace

// Mean and squared deviations of each channel in chunks of rows; then all chunks and channels of a group are merged in double as in
// Chan, Golub & LeVeque 1979.
ChannelNorm CpuBackend::statistics(const Tensor& x, const GroupNormSpec& spec) {
  const Tensor &gamma = spec.gamma, &beta = spec.beta, &scale = spec.scale, &shift = spec.shift;
  const int64_t groups = spec.groups, B = x.size(0), C = x.size(-1), P = x.numel() / (B * C), width = C / groups, step = chunk_rows(C),
                chunks = (P + step - 1) / step;
  const auto rows_of = [&](int64_t chunk) { return std::min(step, P - chunk * step); };

  const auto store = memory_->allocate(size_t(B * (2 * chunks + 3) * C) * sizeof(float));
  float* const mean = reinterpret_cast<float*>(store.get());  // [B][C], the group's
  float* const factor = mean + B * C;                         // [B][C]
  float* const shifts = factor + B * C;                       // [B][C]
  float* const means = shifts + B * C;                        // [B][chunks][C]
  float* const squares = means + B * chunks * C;

  pool_.run(B * chunks, [&](int64_t i) {
    const int64_t b = i / chunks, chunk = i % chunks, n = rows_of(chunk) * C;
    float* buffer = x.dtype() == DType::f32 ? nullptr : thread_scratch(size_t(n));
    const std::byte* from = x.raw() + size_t((b * P + chunk * step) * C) * size_of(x.dtype());
    kernels_.column_moments(widened(kernels_, x.dtype(), from, n, buffer), rows_of(chunk), C, means + i * C, squares + i * C);
  });
  pool_.run(B * groups, [&](int64_t i) {
    const int64_t b = i / groups, first = i % groups * width;
    double sum = 0, total = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      for (int64_t c = first; c < first + width; ++c) sum += double(rows_of(chunk)) * means[(b * chunks + chunk) * C + c];
    const double center = sum / double(P * width);
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      for (int64_t c = first; c < first + width; ++c) {
        const double off = means[(b * chunks + chunk) * C + c] - center;
        total += squares[(b * chunks + chunk) * C + c] + double(rows_of(chunk)) * off * off;
      }
    const double rstd = 1 / std::sqrt(total / double(P * width) + double(spec.eps));
    for (int64_t c = first; c < first + width; ++c) {
      const double modulation = scale ? 1 + double(scale.data<float>()[b * scale.stride(0) + c]) : 1;
      mean[b * C + c] = float(center);
      factor[b * C + c] = float(rstd * (gamma ? double(gamma.data<float>()[c]) : 1) * modulation);
      shifts[b * C + c] = float((beta ? double(beta.data<float>()[c]) : 0) * modulation +
                                (shift ? double(shift.data<float>()[b * shift.stride(0) + c]) : 0));
    }
  });
  return {store, mean, factor, shifts};
}

void CpuBackend::normalize(const Tensor& x, int64_t first, const ChannelNorm& norm, Activation act, Tensor& y) {
  const int64_t C = x.size(-1), P = x.numel() / (x.size(0) * C), step = chunk_rows(C), chunks = (P + step - 1) / step;
  const bool x_direct = x.dtype() == DType::f32, y_direct = y.dtype() == DType::f32;
  pool_.run(x.size(0) * chunks, [&](int64_t i) {
    const int64_t image = i / chunks, row = i % chunks * step, rows = std::min(step, P - row), n = rows * C, c = (first + image) * C;
    const auto at = [&](const Tensor& t) { return t.raw() + size_t((image * P + row) * C) * size_of(t.dtype()); };
    float* buffer = x_direct && y_direct ? nullptr : thread_scratch(size_t(n));
    const float* from = widened(kernels_, x.dtype(), at(x), n, buffer);
    float* to = y_direct ? reinterpret_cast<float*>(at(y)) : buffer;
    kernels_.normalize_columns(from, rows, C, norm.mean + c, norm.factor + c, norm.beta + c, act_of(act), to);
    if (!y_direct) narrowed(kernels_, to, n, y.dtype(), at(y));
  });
}

void CpuBackend::group_norm(const Tensor& x, const GroupNormSpec& spec, Tensor& y) {
  normalize(x, 0, statistics(x, spec), spec.activation, y);
}

// Rows are widened on load and rounded on store.
template <class F> void CpuBackend::for_rows(const Tensor& x, Tensor& y, const F& row) {
  const int64_t C = x.size(-1);
  pool_.for_ranges(x.numel() / C, std::max<int64_t>(1, 16384 / C), [&](int64_t begin, int64_t end) {
    float* buffer = thread_scratch(size_t(C));
    for (int64_t r = begin; r < end; ++r) {
      const float* from = widened(kernels_, x.dtype(), x.raw() + size_t(r * C) * size_of(x.dtype()), C, buffer);
      std::byte* target = y.raw() + size_t(r * C) * size_of(y.dtype());
      float* to = y.dtype() == DType::f32 ? reinterpret_cast<float*>(target) : buffer;
      row(r, from, to);
      if (y.dtype() != DType::f32) narrowed(kernels_, to, C, y.dtype(), target);
    }
  });
}

void CpuBackend::layer_norm(const Tensor& x, const NormSpec& spec, Tensor& y) {
  const int64_t C = x.size(-1);
  for_rows(x, y, [&](int64_t r, const float* from, float* to) {
    float mean, squares;
    kernels_.moments(from, C, &mean, &squares);
    const float rstd = float(1 / std::sqrt(double(squares) / double(C) + double(spec.eps)));
    kernels_.normalize(from, C, mean, rstd, affine_of(spec, r, x), to);
  });
}

void CpuBackend::rms_norm(const Tensor& x, const NormSpec& spec, Tensor& y) {
  const int64_t C = x.size(-1);
  for_rows(x, y, [&](int64_t r, const float* from, float* to) {
    const float rstd = float(1 / std::sqrt(double(kernels_.squares(from, C)) / double(C) + double(spec.eps)));
    kernels_.normalize(from, C, 0, rstd, affine_of(spec, r, x), to);
  });
}

}  // namespace hearth::cpu
