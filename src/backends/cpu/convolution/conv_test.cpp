// Convolutions over one to three axes in every form, against the reference backend, and the conditions under which bits must not change.
#include "ops/conv.h"

#include "ops/norm.h"
#include "ops/random_test.h"
#include "ops/shape_ops.h"

namespace hearth {
namespace {

using test::Random;

ConvSpec::Axis random_axis(Random& random, int64_t taps, bool transposed) {
  ConvSpec::Axis axis{.stride = random.between(1, 3), .dilation = random.chance() ? 1 : random.between(1, 3)};
  axis.before = random.between(0, transposed ? 1 : taps), axis.after = random.between(transposed ? -1 : 0, transposed ? 1 : taps);
  if (!transposed && random.chance()) axis.edge = ConvSpec::Edge::nearest;
  return axis;
}

struct Layer {
  Shape x, w;
  WeightKind kind;
  ConvSpec spec;
  int64_t groups;
};

Layer random_layer(Random& random, int round, bool transposed) {
  const int axes = 1 + round % 3;
  const int64_t groups = round % 4 == 3 ? random.between(2, 4) : 1, depth = groups * random.between(1, round % 5 == 0 ? 40 : 6),
                out = groups * random.between(1, round % 5 == 1 ? 40 : 6);
  const bool depthwise = round % 8 == 7 && !transposed;
  Layer layer{.x = {random.between(1, 2)},
              .w = transposed  ? Shape{depth, out / groups}
                   : depthwise ? Shape{depth, 1}
                               : Shape{out, depth / groups},
              .kind = transposed ? WeightKind::conv_transposed : WeightKind::conv,
              .spec = {},
              .groups = depthwise ? depth : groups};
  ConvSpec::Axis* const all[] = {&layer.spec.frames, &layer.spec.rows, &layer.spec.columns};
  for (int i = 0; i < axes; ++i) {
    const int64_t taps = random.between(1, 4);
    ConvSpec::Axis& axis = *all[3 - axes + i];
    axis = random_axis(random, taps, transposed);
    layer.x.push_back(std::max<int64_t>(random.between(transposed ? 3 : 2, axes == 1 ? 60 : 9), axis.dilation * (taps - 1) + 1));
    layer.w.push_back(taps);
  }
  layer.x.push_back(depth);
  return layer;
}

void compare(Backend& device, Random& random, const Layer& layer, WeightForm form) {
  form.groups = layer.groups;
  const DType type = random.dtype(), out = random.dtype();
  SCOPED_TRACE(
      fmt::format("x {} {} w {} {} groups {} y {}", name_of(type), layer.x, layer.w, name_of(form.hold), layer.groups, name_of(out)));
  const auto x = random.normal(device, layer.x, type);
  const auto w = random.weight(device, layer.w, layer.kind, form);
  const auto bias = random.normal(device, {w.device.out()}), image = random.normal(device, {layer.x[0], w.device.out()}),
             gate = random.normal(device, {layer.x[0], w.device.out()});
  const Tensor plain = ops::conv(x.reference, w.reference, {}, layer.spec);
  const auto residual = random.normal(device, plain.shape(), out);
  const auto epilogue = [&](const Tensor Random::Pair::*of) {
    return Epilogue{
        .alpha = 0.7f, .activation = Activation::silu, .per_image = image.*of, .gate = gate.*of, .residual = residual.*of, .out = out};
  };
  EXPECT_CLOSE(ops::conv(x.device, w.device, bias.device, layer.spec, epilogue(&Random::Pair::device)),
               ops::conv(x.reference, w.reference, bias.reference, layer.spec, epilogue(&Random::Pair::reference)),
               form.factors == DType::bf16 && layer.groups > 1 ? 6e-3 : test::op_tolerance(out));
}

HOST_TEST(CpuConv, over_one_to_three_axes_with_strides_dilations_edges_and_groups) {
  Random random(61);
  for (int round = 0; round < 120; ++round) {
    const Layer layer = random_layer(random, round, false);
    compare(device, random, layer, random.form(device));
  }
}

HOST_TEST(CpuConv, transposed) {
  Random random(62);
  for (int round = 0; round < 80; ++round) {
    const Layer layer = random_layer(random, round, true);
    compare(device, random, layer, random.form(device));
  }
}

// Sizes that are split: Winograd with repeated edges, deep products over frames, wide depthwise rows, strips of a transposed convolution.
HOST_TEST(CpuConv, larger_layers) {
  Random random(63);
  const ConvSpec::Axis same{.before = 1, .after = 1}, repeated{.before = 1, .after = 1, .edge = ConvSpec::Edge::nearest};
  const ConvSpec::Axis causal{.before = 2, .edge = ConvSpec::Edge::nearest};
  const bool slow = device.name() == "reference" || device.features() == "emulated";
  if (slow) return;
  for (const Layer& layer :
       {Layer{{1, 9, 14, 64}, {64, 64, 3, 3}, WeightKind::conv, {.rows = repeated, .columns = repeated}, 1},
        Layer{{1, 3, 6, 7, 80}, {70, 80, 3, 3, 3}, WeightKind::conv, {.frames = causal, .rows = same, .columns = repeated}, 1},
        Layer{{1, 5, 9, 600}, {600, 1, 3, 3}, WeightKind::conv, {.rows = same, .columns = same}, 600},
        Layer{{1, 3, 4, 5, 19}, {19, 1, 2, 3, 3}, WeightKind::conv, {.frames = {.before = 1}, .rows = same, .columns = same}, 19},
        Layer{{2, 7, 6, 96}, {80, 24, 3, 3}, WeightKind::conv, {.rows = same, .columns = same}, 4},
        Layer{{1, 1300, 2}, {2, 400, 9}, WeightKind::conv_transposed, {.columns = {.stride = 4, .before = 3, .after = 2}}, 1},
        Layer{{2, 70, 24}, {24, 4, 5}, WeightKind::conv_transposed, {.columns = {.stride = 2, .before = 1, .after = 0}}, 6}})
    compare(device, random, layer, {.hold = DType::f16});
}

HOST_TEST(CpuConv, normalized_input_in_every_form) {
  Random random(64);
  const auto gamma = random.normal(device, {8}), scale = random.normal(device, {2, 8});
  const auto check = [&](const Shape& shape, const Shape& w_shape, WeightKind kind, const ConvSpec& spec, int64_t groups) {
    SCOPED_TRACE(fmt::format("{} {}", shape, w_shape));
    const auto x = random.normal(device, shape);
    const auto w = random.weight(device, w_shape, kind, {.groups = groups});
    EXPECT_CLOSE(ops::conv(x.device, w.device, {}, spec, {}, {.groups = 2, .gamma = gamma.device, .scale = scale.device}),
                 ops::conv(x.reference, w.reference, {}, spec, {}, {.groups = 2, .gamma = gamma.reference, .scale = scale.reference}),
                 2e-6);
  };
  check({2, 9, 8}, {5, 8, 3}, WeightKind::conv, {.columns = {.before = 2}}, 1);
  check({2, 4, 5, 6, 8}, {5, 8, 2, 3, 3}, WeightKind::conv, {.frames = {.before = 1}}, 1);
  check({2, 5, 6, 8}, {8, 1, 3, 3}, WeightKind::conv, ConvSpec::same(3), 8);
  check({2, 5, 6, 8}, {8, 3, 2, 2}, WeightKind::conv_transposed, ConvSpec::plane(2), 1);
}

// Bit-identical: an image alone or in a batch, and on any number of threads.
HOST_TEST(CpuConv, independent_of_batch_and_threads) {
  Random random(65);
  const std::unique_ptr<Backend> more =
      device.name() == "cpu" ? test::make_test_backend("cpu_" + device.features(), 5) : test::make_test_backend("reference", 3);
  for (int round = 0; round < 24; ++round) {
    Layer layer = random_layer(random, round, round % 4 == 0);
    layer.x[0] = 2;
    WeightForm form = random.form(device);
    form.groups = layer.groups;
    const Tensor x = random.normal(device, layer.x).device, values = random.normal(device, layer.w).device;
    const auto weight = [&](Backend& backend) {
      return Weight{.name = "w",
                    .shape = layer.w,
                    .form = form,
                    .prepared = backend.prepare(values.to(backend), layer.kind, form),
                    .backend = &backend,
                    .kind = layer.kind};
    };
    const std::vector<float> both = ops::conv(x, weight(device), {}, layer.spec).to_vector();
    EXPECT_EQ(both, ops::conv(x.to(*more), weight(*more), {}, layer.spec).to_vector()) << fmt::format("{} {}", layer.x, layer.w);
    const std::vector<float> second = ops::conv(ops::contiguous(x.slice(0, 1, 2)), weight(device), {}, layer.spec).to_vector();
    EXPECT_TRUE(std::equal(second.begin(), second.end(), both.begin() + int64_t(both.size() / 2)))
        << fmt::format("{} {}", layer.x, layer.w);
  }
}

}  // namespace
}  // namespace hearth
