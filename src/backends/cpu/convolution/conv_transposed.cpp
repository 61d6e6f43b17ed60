#include <algorithm>

#include "backends/cpu/convolution/conv_weights.h"
#include "backends/cpu/convolution/windows.h"
#include "backends/cpu/cpu_class.h"
#include "backends/cpu/products/product.h"
#include "backends/cpu/whole_units.h"

// Transposed convolutions: one product of every position of x with the kernel, after which each position of y gathers the taps that fall
// on it, in the order of the taps. The outermost axis is split so that the products stay in cache.
namespace hearth::cpu {
namespace {

constexpr int64_t strip_bytes = int64_t(16) << 20;  // products of a strip

int64_t rounded_up(int64_t n, int64_t unit) { return n > 0 ? parts(n, unit) : -(-n / unit); }

// The position of x that axis `i` of output position `out` reads for tap t; −1 for none.
int64_t source(const ConvAxes& axes, size_t i, int64_t out, int64_t t) {
  const ConvSpec::Axis& a = axes.spec[i];
  const int64_t at = out + a.before - t * a.dilation;
  return at < 0 || at % a.stride != 0 || at / a.stride >= axes.in[i] ? -1 : at / a.stride;
}

}  // namespace

void CpuBackend::conv_transposed(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e, Tensor& y) {
  const ConvAxes axes(x, w.shape, spec, y);
  const int64_t rows = axes.out[1], columns = axes.out[2];
  const auto outer = size_t(5 - w.shape.rank());  // the axis that is split into strips
  const ConvSpec::Axis& a = axes.spec[outer];
  const int64_t groups = w.form.groups, C = w.shape[0] / groups, O = w.shape[1], taps = axes.kernel(), width = taps * O;
  const int64_t positions = axes.positions(), inner_out = positions / axes.out[outer];
  const int64_t inner_in = axes.in[0] * axes.in[1] * axes.in[2] / axes.in[outer], extra = axes.reach(outer) / a.stride + 1;
  const int64_t most_in = std::clamp<int64_t>(strip_bytes / (inner_in * width * int64_t(sizeof(float))),
                                              extra + std::min<int64_t>(8, axes.in[outer]), axes.in[outer] + extra);
  const int64_t height = std::min(axes.out[outer], (most_in - extra) * a.stride);  // height of a strip of y
  const Tensor room = Tensor::empty(*this, {1, std::min(most_in, axes.in[outer]) * inner_in, width});
  const auto* parts_of = groups > 1 ? &static_cast<const GroupedWeight&>(*w.prepared).parts : nullptr;

  for (int64_t b = 0; b < x.size(0); ++b)
    for (int64_t first = 0; first < axes.out[outer]; first += height) {
      const int64_t last = std::min(axes.out[outer], first + height);
      const int64_t begin = std::clamp<int64_t>(rounded_up(first + a.before - axes.reach(outer) + 1, a.stride), 0, axes.in[outer]);
      const int64_t end = std::clamp<int64_t>((last - 1 + a.before) / a.stride + 1, begin, axes.in[outer]);
      const Tensor own = x.slice(0, b, b + 1).slice(1, begin, end).view({1, (end - begin) * inner_in, x.size(-1)});
      for (int64_t g = 0; g < groups; ++g) {
        Tensor products = room.slice(1, 0, own.size(1)), left = own;
        if (groups > 1 && own.numel() > 0) {
          left = Tensor::empty(*this, {1, own.size(1), C}, x.dtype());
          copy(own.slice(2, g * C, (g + 1) * C), left);
        }
        const Weight part{.name = w.name,
                          .shape = {width, C},
                          .form = {.hold = w.form.hold, .factors = parts_of ? DType::f32 : w.form.factors},
                          .prepared = parts_of ? (*parts_of)[size_t(g)] : w.prepared,
                          .backend = this};
        if (own.numel() > 0) linear(left, part, {}, {}, {}, products);

        const TileStore store(kernels_, O, false, bias, e, positions, y, g * O);
        pool_.for_ranges((last - first) * inner_out, std::max<int64_t>(1, 8192 / O), [&](int64_t p0, int64_t p1) {
          float* const sum = thread_scratch(size_t(O));
          for (int64_t p = p0; p < p1; ++p) {
            const int64_t at = first * inner_out + p;
            const std::array<int64_t, 3> place{at / (rows * columns), at / columns % rows, at % columns};
            std::fill_n(sum, O, 0.0f);
            for (int64_t t = 0; t < taps; ++t) {
              const int64_t f = source(axes, 0, place[0], t / (axes.taps[1] * axes.taps[2])),
                            r = source(axes, 1, place[1], t / axes.taps[2] % axes.taps[1]), c = source(axes, 2, place[2], t % axes.taps[2]);
              if (f < 0 || r < 0 || c < 0) continue;
              const int64_t from = (f * axes.in[1] + r) * axes.in[2] + c - begin * inner_in;
              kernels_.add_scaled(products.data<float>() + from * width + t * O, 1, O, sum);
            }
            for (int64_t c = 0; c < O; c += most_stored) store.store(sum + c, b * positions + at, 1, c, std::min(most_stored, O - c));
          }
        });
      }
    }
}

}  // namespace hearth::cpu
