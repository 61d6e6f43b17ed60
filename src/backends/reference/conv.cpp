#include "backends/reference/reference_class.h"

namespace hearth::reference {

void ReferenceBackend::conv2d(const Tensor& input, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e,
                              const InputNorm& norm, Tensor& y) {
  if (norm) return conv2d(normalized(input, norm), w, bias, spec, e, {}, y);
  const Tensor x = as_factors(input, w.form.factors);
  if (spec.resize_to[0] > 0) {
    Tensor resized = Tensor::empty(*this, {x.size(0), spec.resize_to[0], spec.resize_to[1], x.size(3)}, x.dtype());
    resize_nearest(x, resized);
    ConvSpec plain = spec;
    plain.resize_to = {0, 0};
    return conv2d(resized, w, bias, plain, e, {}, y);
  }
  const int64_t H = x.size(1), W = x.size(2), C = x.size(3);
  const int64_t rows = y.size(1), columns = y.size(2), O = y.size(3), kh = w.shape[2], kw = w.shape[3];
  const float* values = static_cast<const Raw&>(*w.prepared).values.data();
  pool_.run(y.size(0) * rows * columns, [&](int64_t position) {
    const int64_t b = position / (rows * columns), oy = position / columns % rows, ox = position % columns;
    for (int64_t o = 0; o < O; ++o) {
      double acc = 0;
      for (int64_t dy = 0; dy < kh; ++dy)
        for (int64_t dx = 0; dx < kw; ++dx) {
          const int64_t iy = oy * spec.stride + dy - spec.padding[0], ix = ox * spec.stride + dx - spec.padding[1];
          if (iy < 0 || iy >= H || ix < 0 || ix >= W) continue;
          for (int64_t c = 0; c < C; ++c) acc += at(x, ((b * H + iy) * W + ix) * C + c) * values[((o * C + c) * kh + dy) * kw + dx];
        }
      store(y, position * O + o, activated(shifted(acc, b, o, O, bias, e), e.activation), b, o, O, e);
    }
  });
}

}  // namespace hearth::reference
