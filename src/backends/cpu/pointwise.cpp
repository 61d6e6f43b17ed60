#include <algorithm>

#include "backends/cpu/cpu_class.h"

namespace hearth::cpu {
namespace {

constexpr int64_t grain = 32768;  // elements per piece of work
constexpr int64_t part = 2048;    // elements of a buffer for 16-bit tensors: stays in L1

std::byte* at(const Tensor& x, int64_t i) { return x.raw() + size_t(i) * size_of(x.dtype()); }

// compute(i, n, y) for [begin, end) in parts of the size of `buffer`, or in one call if y is f32.
template <class F> void into(const Kernels& kernels, Tensor& y, int64_t begin, int64_t end, float* buffer, F compute) {
  const bool direct = y.dtype() == DType::f32;
  for (int64_t i = begin; i < end; i += part) {
    const int64_t n = std::min(part, end - i);
    float* to = direct ? y.data<float>() + i : buffer;
    compute(i, n, to);
    if (!direct) narrowed(kernels, to, n, y.dtype(), at(y, i));
  }
}

}  // namespace

const float* widened(const Kernels& kernels, DType dtype, const std::byte* x, int64_t n, float* buffer) {
  switch (dtype) {
    case DType::f32: return reinterpret_cast<const float*>(x);
    case DType::f16: kernels.widen_f16(x, n, buffer); return buffer;
    case DType::bf16: kernels.widen_bf16(x, n, buffer); return buffer;
    default: fail<UnsupportedError>("cpu: elements are {}, expected f32, f16 or bf16", name_of(dtype));
  }
}

void narrowed(const Kernels& kernels, const float* x, int64_t n, DType dtype, std::byte* y) {
  switch (dtype) {
    case DType::f32: std::copy_n(x, n, reinterpret_cast<float*>(y)); break;
    case DType::f16: kernels.narrow_f16(x, n, y); break;
    case DType::bf16: kernels.narrow_bf16(x, n, y); break;
    default: fail<UnsupportedError>("cpu: results are {}, expected f32, f16 or bf16", name_of(dtype));
  }
}

Act act_of(Activation act) {
  switch (act) {
    case Activation::none: return Act::none;
    case Activation::silu: return Act::silu;
    case Activation::gelu: return Act::gelu;
    case Activation::gelu_tanh: return Act::gelu_tanh;
    case Activation::quick_gelu: return Act::quick_gelu;
    case Activation::relu: return Act::relu;
    case Activation::sigmoid: return Act::sigmoid;
    case Activation::tanh: return Act::tanh;
    case Activation::softplus: return Act::softplus;
    case Activation::squared_relu: return Act::squared_relu;
  }
  fail<UnsupportedError>("cpu: activation {} is unknown", int(act));
}

Tensor CpuBackend::as_f32(const Tensor& x) {
  if (x.dtype() == DType::f32) return x;
  Tensor wide = Tensor::empty(*this, x.shape(), DType::f32);
  pool_.for_ranges(x.numel(), grain, [&](int64_t begin, int64_t end) {
    widened(kernels_, x.dtype(), at(x, begin), end - begin, wide.data<float>() + begin);
  });
  return wide;
}

void CpuBackend::activate(const Tensor& x, Activation act, Tensor& y) {
  pool_.for_ranges(x.numel(), grain, [&](int64_t begin, int64_t end) {
    alignas(64) float a[part], b[part];
    into(kernels_, y, begin, end, b,
         [&](int64_t i, int64_t n, float* to) { kernels_.activate(widened(kernels_, x.dtype(), at(x, i), n, a), n, act_of(act), to); });
  });
}

void CpuBackend::multiply(const Tensor& a, const Tensor& b, Tensor& y) {
  pool_.for_ranges(y.numel(), grain, [&](int64_t begin, int64_t end) {
    alignas(64) float left[part], right[part], product[part];
    into(kernels_, y, begin, end, product, [&](int64_t i, int64_t n, float* to) {
      kernels_.multiply(widened(kernels_, a.dtype(), at(a, i), n, left), widened(kernels_, b.dtype(), at(b, i), n, right), n, to);
    });
  });
}

// In parts of rows, as long as the buffers.
void CpuBackend::affine(const Tensor& x, const Tensor& scale, const Tensor& shift, Tensor& y) {
  const int64_t images = x.size(0), rows = images * x.size(1), C = x.size(2);
  pool_.for_ranges(rows, std::max<int64_t>(1, grain / C), [&](int64_t begin, int64_t end) {
    alignas(64) float wide[part], sum[part];
    for (int64_t r = begin; r < end; ++r) {
      const float *factor = modulation_row(scale, r, images, rows), *added = modulation_row(shift, r, images, rows);
      into(kernels_, y, r * C, (r + 1) * C, sum, [&](int64_t i, int64_t n, float* to) {
        const int64_t c = i - r * C;
        kernels_.affine(widened(kernels_, x.dtype(), at(x, i), n, wide), n, factor ? factor + c : nullptr, added ? added + c : nullptr, to);
      });
    }
  });
}

void CpuBackend::linear_combination(std::span<const Tensor> xs, std::span<const float> factors, Tensor& y) {
  pool_.for_ranges(y.numel(), grain, [&](int64_t begin, int64_t end) {
    alignas(64) float a[part], sum[part];
    into(kernels_, y, begin, end, sum, [&](int64_t i, int64_t n, float* to) {
      for (size_t j = 0; j < xs.size(); ++j)
        (j == 0 ? kernels_.scale : kernels_.add_scaled)(widened(kernels_, xs[j].dtype(), at(xs[j], i), n, a), factors[j], n, to);
    });
  });
}

}  // namespace hearth::cpu
