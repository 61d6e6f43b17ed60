#include <algorithm>
#include <utility>
#include <vector>

#include "backends/reference/reference_class.h"
#include "core/axes.h"

namespace hearth::reference {
namespace {

// Position in x of a tap of output position `out`; −1 if the tap falls on a zero.
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

// The same for a transposed convolution: the position of x whose tap falls there.
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
  // Offset of the weight for the first channel of a group of x and output o, at tap 0; and the step from one channel to the next.
  const auto first_value = [&](int64_t o) {
    const int64_t group = o / (O / groups);
    return transposed ? (group * (C / groups) * (O / groups) + o % (O / groups)) * taps : o * (C / groups) * taps;
  };
  const int64_t step = transposed ? O / groups * taps : taps;
  pool_.run(y.size(0) * positions, [&](int64_t position) {
    const int64_t b = position / positions;
    std::vector<std::pair<int64_t, std::vector<double>>> inputs;  // the taps inside x, and the channels of x there
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t from = (transposed ? transposed_source : source)(axes, position % positions, tap);
      if (from < 0) continue;
      std::vector<double>& channels = inputs.emplace_back(tap, std::vector<double>(C)).second;
      for (int64_t c = 0; c < C; ++c) channels[c] = at(x, (b * image + from) * C + c);
    }
    // Several outputs of a group at once: each is summed in the same order, and the sums are independent.
    for (int64_t o = 0, count; o < O; o += count) {
      count = std::min(side_by_side, (o / (O / groups) + 1) * (O / groups) - o);
      const int64_t first = o / (O / groups) * (C / groups);
      const float* rows[side_by_side];
      for (int64_t j = 0; j < side_by_side; ++j) rows[j] = values + first_value(o + std::min(j, count - 1));
      double sums[side_by_side] = {};
      for (const auto& [tap, channels] : inputs)
        for (int64_t c = 0; c < C / groups; ++c)
          for (int64_t j = 0; j < side_by_side; ++j) sums[j] += channels[first + c] * rows[j][c * step + tap];
      for (int64_t j = 0; j < count; ++j)
        store(y, position * O + o + j, activated(shifted(sums[j], position, b, o + j, O, bias, e), e.activation), b, o + j, O, e);
    }
  });
}

}  // namespace hearth::reference
