#include "backends/reference/reference_class.h"

namespace hearth::reference {
namespace {

// Three axes of a convolution; those that its kernel lacks have one position.
struct Axes {
  Axes(const Tensor& x, const Weight& w, const ConvSpec& spec_, const Tensor& y) {
    const int count = w.shape.rank() - 2;
    for (int i = 0; i < count; ++i) {
      const auto at = size_t(3 - count + i);
      in[at] = x.size(1 + i), out[at] = y.size(1 + i), taps[at] = w.shape[2 + i], spec[at] = spec_.axis(i, count);
    }
  }
  int64_t positions() const { return out[0] * out[1] * out[2]; }
  int64_t kernel() const { return taps[0] * taps[1] * taps[2]; }

  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1}, taps{1, 1, 1};
  std::array<ConvSpec::Axis, 3> spec{};
};

std::array<int64_t, 3> split(int64_t i, const std::array<int64_t, 3>& sizes) {
  return {i / (sizes[1] * sizes[2]), i / sizes[2] % sizes[1], i % sizes[2]};
}

int64_t joined(const std::array<int64_t, 3>& at, const std::array<int64_t, 3>& sizes) {
  return (at[0] * sizes[1] + at[1]) * sizes[2] + at[2];
}

// Where a tap of output position `out` lies in x; −1 where it meets a zero.
int64_t source(const Axes& a, int64_t out, int64_t tap) {
  const auto place = split(out, a.out), taps = split(tap, a.taps);
  std::array<int64_t, 3> from{};
  for (size_t i = 0; i < 3; ++i) {
    from[i] = place[i] * a.spec[i].stride + taps[i] * a.spec[i].dilation - a.spec[i].before;
    if (a.spec[i].edge == ConvSpec::Edge::nearest) from[i] = std::clamp<int64_t>(from[i], 0, a.in[i] - 1);
    if (from[i] < 0 || from[i] >= a.in[i]) return -1;
  }
  return joined(from, a.in);
}

// The same for the transposed form: the position of x whose tap falls there.
int64_t transposed_source(const Axes& a, int64_t out, int64_t tap) {
  const auto place = split(out, a.out), taps = split(tap, a.taps);
  std::array<int64_t, 3> from{};
  for (size_t i = 0; i < 3; ++i) {
    from[i] = place[i] + a.spec[i].before - taps[i] * a.spec[i].dilation;
    if (from[i] % a.spec[i].stride != 0) return -1;
    from[i] /= a.spec[i].stride;
    if (from[i] < 0 || from[i] >= a.in[i]) return -1;
  }
  return joined(from, a.in);
}

}  // namespace

void ReferenceBackend::conv(const Tensor& input, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e,
                            const GroupNormSpec& norm, Tensor& y) {
  if (norm) return conv(normalized(input, norm), w, bias, spec, e, {}, y);
  const Tensor x = as_factors(input, w.form.factors);
  if (spec.resize_to[0] > 0) {
    Tensor resized = Tensor::empty(*this, {x.size(0), spec.resize_to[0], spec.resize_to[1], x.size(3)}, x.dtype());
    resize_nearest(x, resized);
    ConvSpec plain = spec;
    plain.resize_to = {0, 0};
    return conv(resized, w, bias, plain, e, {}, y);
  }
  const Axes axes(x, w, spec, y);
  const bool transposed = w.kind == WeightKind::conv_transposed;
  const int64_t C = x.size(-1), O = y.size(-1), groups = w.form.groups, positions = axes.positions(), taps = axes.kernel(),
                image = x.numel() / (x.size(0) * C);
  const float* values = static_cast<const Raw&>(*w.prepared).values.data();
  // Of channel c of a group of x and output o, at tap 0.
  const auto value_of = [&](int64_t c, int64_t o) {
    const int64_t group = o / (O / groups);
    return transposed ? ((group * (C / groups) + c) * (O / groups) + o % (O / groups)) * taps : (o * (C / groups) + c) * taps;
  };
  pool_.run(y.size(0) * positions, [&](int64_t position) {
    const int64_t b = position / positions;
    for (int64_t o = 0; o < O; ++o) {
      const int64_t first = o / (O / groups) * (C / groups);
      double acc = 0;
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t from = (transposed ? transposed_source : source)(axes, position % positions, tap);
        if (from < 0) continue;
        for (int64_t c = 0; c < C / groups; ++c) acc += at(x, (b * image + from) * C + first + c) * values[value_of(c, o) + tap];
      }
      store(y, position * O + o, activated(shifted(acc, b, o, O, bias, e), e.activation), b, o, O, e);
    }
  });
}

}  // namespace hearth::reference
