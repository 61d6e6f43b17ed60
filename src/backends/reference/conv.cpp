#include "backends/reference/reference_class.h"
#include "core/axes.h"

namespace hearth::reference {
namespace {

// Where a tap of output position `out` lies in x; −1 where it meets a zero.
int64_t source(const ConvAxes& a, int64_t out, int64_t tap) {
  const Position place = position_of(out, a.out), taps = position_of(tap, a.taps);
  Position from{};
  for (size_t i = 0; i < 3; ++i) {
    from[i] = place[i] * a.spec[i].stride + taps[i] * a.spec[i].dilation - a.spec[i].before;
    if (a.spec[i].edge == ConvSpec::Edge::nearest) from[i] = std::clamp<int64_t>(from[i], 0, a.in[i] - 1);
    if (from[i] < 0 || from[i] >= a.in[i]) return -1;
  }
  return index_of(from, a.in);
}

// The same for the transposed form: the position of x whose tap falls there.
int64_t transposed_source(const ConvAxes& a, int64_t out, int64_t tap) {
  const Position place = position_of(out, a.out), taps = position_of(tap, a.taps);
  Position from{};
  for (size_t i = 0; i < 3; ++i) {
    from[i] = place[i] + a.spec[i].before - taps[i] * a.spec[i].dilation;
    if (from[i] % a.spec[i].stride != 0) return -1;
    from[i] /= a.spec[i].stride;
    if (from[i] < 0 || from[i] >= a.in[i]) return -1;
  }
  return index_of(from, a.in);
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
  const ConvAxes axes(x, w.shape, spec, y);
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
