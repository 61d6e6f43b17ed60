#include "bench/bench_op_cases.h"

#include <fmt/format.h>

#include <cmath>

#include "core/threads.h"
#include "ops/attention.h"
#include "ops/conv.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "ops/rope.h"

namespace hearth::api {
namespace {

Tensor like(const Tensor& x) { return filled(x.backend(), x.shape()); }

OpForm attention(const char* what, int64_t T, int64_t S, int64_t N, int64_t G, int64_t D, AttentionSpec spec = {}) {
  return {fmt::format("attention {}x{} heads {}x{} size {}{}", N, G, T, S, D, what), [=](Backend& device, const WeightForm& form) {
            const Tensor q = filled(device, {1, T, N, D}), k = filled(device, {1, S, G, D}), v = like(k);
            AttentionSpec own = spec;
            own.scale = 1 / std::sqrt(float(D)), own.factors = form.factors;
            return OpCase{.kind = "attention form", .x = q.shape(), .y = q.shape(), .flop = 4 * double(T * S) * double(N * D), .run = [=] {
                            ops::attention(q, k, v, own);
                          }};
          }};
}

using Over = std::function<std::function<void()>(const Tensor& x)>;

// An op bound by memory: `passes` reads and writes of x.
OpForm over(const char* name, const char* kind, const Shape& shape, int64_t passes, const Over& make) {
  return {fmt::format("{} {}", name, shape), [=](Backend& device, const WeightForm&) {
            const Tensor x = filled(device, shape);
            return OpCase{.kind = kind, .x = shape, .y = shape, .bytes = passes * int64_t(x.bytes()), .run = make(x)};
          }};
}

OpForm convolution(const char* name, const Shape& x, const Shape& w, int64_t groups, const ConvSpec& spec) {
  return {name, [=](Backend& device, const WeightForm& form) {
            WeightForm own = form;
            own.groups = groups;
            const Weight weight{
                .name = "w",
                .shape = w,
                .form = own,
                .prepared = device.prepare(filled(device, w, 1 / std::sqrt(float(w.numel() / w[0]))), WeightKind::conv, own),
                .backend = &device,
                .kind = WeightKind::conv};
            const Tensor in = filled(device, x), bias = filled(device, {w[0]}), y = ops::conv(in, weight, bias, spec);
            return OpCase{
                .kind = "conv form", .x = x, .y = y.shape(), .w = w, .flop = 2 * double(y.numel()) * double(w.numel() / w[0]), .run = [=] {
                  ops::conv(in, weight, bias, spec);
                }};
          }};
}

}  // namespace

Tensor filled(Backend& device, const Shape& shape, float scale) {
  Tensor x = Tensor::empty(device, shape);
  device.threads().for_ranges(x.numel(), 1 << 16, [&](int64_t begin, int64_t end) {
    uint32_t state = uint32_t(begin) + 12345;
    for (int64_t i = begin; i < end; ++i) {
      state = state * 1664525 + 1013904223;
      x.data<float>()[i] = (float(state >> 8) / 8388608 - 1) * scale;
    }
  });
  return x;
}

const std::vector<OpForm>& op_forms() {
  const Shape tokens{1, 4096, 1536};  // tokens of a 1024 × 1024 image
  const auto image_vector = [](const Tensor& x) { return filled(x.backend(), {1, x.size(-1)}); };
  const auto ones = [](const Tensor& x) { return Tensor::filled(x.backend(), {x.size(-1)}, 1); };
  const ConvSpec::Axis same{.before = 1, .after = 1}, causal{.before = 2, .edge = ConvSpec::Edge::nearest};
  static const std::vector<OpForm> all = {
      attention("", 1024, 1024, 24, 24, 96),
      attention("", 1024, 1024, 24, 8, 96),
      attention("", 1024, 1024, 40, 40, 128),
      attention("", 1024, 1024, 40, 8, 128),
      attention(" causal", 1024, 1024, 40, 8, 128, {.mask = Mask::causal}),
      attention(" window 256", 1024, 1024, 40, 8, 128, {.mask = Mask::causal, .window = 256}),
      attention(" soft cap", 1024, 1024, 24, 8, 96, {.soft_cap = 50}),
      over("layer_norm", "layer_norm form", tokens, 2,
           [=](const Tensor& x) -> std::function<void()> {
             return [x, gamma = ones(x), beta = ones(x)] { ops::layer_norm(x, {.gamma = gamma, .beta = beta}); };
           }),
      over("layer_norm modulated", "layer_norm form", tokens, 2,
           [=](const Tensor& x) -> std::function<void()> {
             return [x, scale = image_vector(x), shift = image_vector(x)] { ops::layer_norm(x, {.scale = scale, .shift = shift}); };
           }),
      over("rms_norm", "rms_norm form", tokens, 2,
           [=](const Tensor& x) -> std::function<void()> { return [x, gamma = ones(x)] { ops::rms_norm(x, {.gamma = gamma}); }; }),
      over("rms_norm modulated", "rms_norm form", tokens, 2,
           [=](const Tensor& x) -> std::function<void()> {
             return [x, gamma = ones(x), scale = image_vector(x)] { ops::rms_norm(x, {.gamma = gamma, .scale = scale}); };
           }),
      over("add", "add", tokens, 3, [](const Tensor& x) -> std::function<void()> { return [x, b = like(x)] { ops::add(x, b); }; }),
      over("multiply", "multiply", tokens, 3,
           [](const Tensor& x) -> std::function<void()> { return [x, b = like(x)] { ops::multiply(x, b); }; }),
      over("affine by image", "affine", tokens, 2,
           [=](const Tensor& x) -> std::function<void()> {
             return [x, scale = image_vector(x), shift = image_vector(x)] { ops::affine(x, scale, shift); };
           }),
      over("rope", "rope", {2, 1024, 24, 128}, 2,
           [](const Tensor& x) -> std::function<void()> {
             return [x, table = filled(x.backend(), {2, 1024, 1, 2, 64})] { ops::rope(x, table, RotaryPairs::neighbors); };
           }),
      convolution("conv 3x3 256->256 at 64", {1, 64, 64, 256}, {256, 256, 3, 3}, 1, ConvSpec::same(3)),
      convolution("conv 3x3 256->256 at 64 groups 8", {1, 64, 64, 256}, {256, 32, 3, 3}, 8, ConvSpec::same(3)),
      convolution("conv 3x3 256->256 at 64 depthwise", {1, 64, 64, 256}, {256, 1, 3, 3}, 256, ConvSpec::same(3)),
      convolution("conv 5x5 1152->1152 at 32 depthwise", {1, 32, 32, 1152}, {1152, 1, 5, 5}, 1152, ConvSpec::same(5)),
      convolution("conv 3x3 288->96 at 64 of 4 images", {4, 64, 64, 288}, {96, 288, 3, 3}, 1, ConvSpec::same(3)),
      // The same number of multiplications, with frames instead of channels.
      convolution("conv 3x3x3 96->96 at 4x64 causal", {1, 4, 64, 64, 96}, {96, 96, 3, 3, 3}, 1,
                  {.frames = causal, .rows = same, .columns = same}),
  };
  return all;
}

}  // namespace hearth::api
