#include "backends/cpu/convolution/conv_weights.h"
#include "backends/cpu/convolution/windows.h"
#include "backends/cpu/cpu_class.h"

namespace hearth::cpu {

// Groups multiply f32 factors: they are few and small, and rounding x for each group would take as long as the product.
std::shared_ptr<const PreparedWeight> CpuBackend::prepare_grouped(const Tensor& w, WeightKind kind, const WeightForm& form) {
  const int64_t rows = w.size(0) / form.groups, taps = taps_of(w.shape());
  const size_t size = size_of(w.dtype());
  if (kind == WeightKind::conv && w.size(1) == 1 && rows == 1) {
    auto own = std::make_shared<DepthwiseWeight>();
    own->taps = taps;
    own->bytes = std::max<size_t>(64, size_t(form.groups * taps) * sizeof(float));
    own->data = memory_->allocate(own->bytes);
    auto* const to = reinterpret_cast<float*>(own->data.get());
    pool_.for_ranges(form.groups, 256, [&](int64_t begin, int64_t end) {
      float* const wide = thread_scratch(size_t(2 * taps));
      for (int64_t c = begin; c < end; ++c) {
        const float* from = widened(kernels_, w.dtype(), w.raw() + size_t(c * taps) * size, taps, wide);
        if (form.hold != DType::f32) {  // rounded to the held dtype
          auto* const held = reinterpret_cast<std::byte*>(wide + taps);
          narrowed(kernels_, from, taps, form.hold, held);
          from = widened(kernels_, form.hold, held, taps, wide);
        }
        for (int64_t t = 0; t < taps; ++t) to[t * form.groups + c] = from[t];
      }
    });
    return own;
  }
  auto grouped = std::make_shared<GroupedWeight>();
  for (int64_t g = 0; g < form.groups; ++g) {
    grouped->parts.push_back(prepare(w.slice(0, g * rows, (g + 1) * rows), kind, {.hold = form.hold}));
    grouped->bytes += grouped->parts.back()->bytes;
  }
  return grouped;
}

// [C, O, taps] as the weight [taps·O, C] of a product with every position of x.
std::shared_ptr<const PreparedWeight> CpuBackend::prepare_transposed(const Tensor& w, const WeightForm& form) {
  const int64_t C = w.size(0), O = w.size(1), taps = taps_of(w.shape());
  Tensor turned = Tensor::empty(*this, {taps * O, C});
  pool_.run(C, [&](int64_t c) {
    float* const wide = thread_scratch(size_t(O * taps));
    const float* from = widened(kernels_, w.dtype(), w.raw() + size_t(c * O * taps) * size_of(w.dtype()), O * taps, wide);
    for (int64_t o = 0; o < O; ++o)
      for (int64_t t = 0; t < taps; ++t) turned.data<float>()[(t * O + o) * C + c] = from[o * taps + t];
  });
  return prepare(turned, WeightKind::linear, {.hold = form.hold, .factors = form.factors});
}

}  // namespace hearth::cpu
