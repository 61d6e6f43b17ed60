// The fields of ConvSpec over one to three axes, and groups.
#include <cmath>

#include "ops/conv.h"
#include "ops/norm.h"
#include "ops/refusal_test.h"
#include "ops/shape_ops.h"
#include "ops/spec_test.h"

namespace hearth {
namespace {

using test::Random;
constexpr auto nearest = ConvSpec::Edge::nearest;

struct Problem {
  Shape x, w;
  ConvSpec spec;
  int64_t groups = 1;
};

// A random convolution over `axes` axes.
Problem some_fields(Random& random, int axes, int round) {
  Problem p{.x = {random.between(1, 2)}, .groups = random.chance() ? 1 : random.between(2, 5)};
  const int64_t per_group = round % 5 == 0 ? random.between(8, 40) : random.between(1, 4),
                outputs = p.groups * (round % 7 == 0 ? random.between(8, 20) : random.between(1, 4));
  p.w = {outputs, per_group};
  ConvSpec::Axis* const all[] = {&p.spec.frames, &p.spec.rows, &p.spec.columns};
  for (int i = 0; i < axes; ++i) {
    ConvSpec::Axis& a = *all[3 - axes + i];
    const int64_t taps = random.between(1, 4);
    a = {.stride = random.between(1, 3),
         .before = random.between(0, 3),
         .after = random.between(0, 3),
         .dilation = random.chance() ? 1 : random.between(2, 3),
         .edge = random.chance() ? nearest : ConvSpec::Edge::zeros};
    const int64_t reach = a.dilation * (taps - 1) + 1;
    p.x.push_back(random.between(std::max<int64_t>(1, reach - a.before - a.after), axes == 3 ? 10 : 14));
    p.w.push_back(taps);
  }
  p.x.push_back(p.groups * per_group);
  return p;
}

BACKEND_TEST(ConvSpec, equals_the_reference_over_one_to_three_axes) {
  Random random(81);
  for (int round = 0; round < 120; ++round) {
    const int axes = round % 3 + 1;
    const Problem p = some_fields(random, axes, round);
    const DType dtype = random.dtype(), out = random.dtype();
    WeightForm form = random.form(device);
    form.groups = p.groups;
    const int64_t B = p.x[0], C = p.x[-1], O = p.w[0];
    const auto x = random.normal(device, p.x, dtype), bias = random.normal(device, {O}), per_image = random.normal(device, {B, O}),
               gate = random.normal(device, {B, O}), gamma = random.normal(device, {C});
    SCOPED_TRACE(
        fmt::format("x {} {} w {} groups {} factors {} out {}", name_of(dtype), p.x, p.w, p.groups, name_of(form.factors), name_of(out)));
    test::supported(device, [&] {
      const auto w = random.weight(device, p.w, WeightKind::conv, form);
      Epilogue e{.activation = random.chance() ? Activation::silu : Activation::none, .out = out}, e_truth = e;
      GroupNormSpec norm, norm_truth;
      if (round % 4 == 0) {
        norm = norm_truth = {.groups = p.groups, .activation = Activation::silu};
        norm.gamma = norm.beta = gamma.device, norm_truth.gamma = norm_truth.beta = gamma.reference;
      }
      if (random.chance()) e.per_image = per_image.device, e_truth.per_image = per_image.reference;
      if (random.chance()) e.gate = gate.device, e_truth.gate = gate.reference;
      // A norm's result is not bit-identical to the reference's, and may round to another bf16.
      const double limit = norm && form.factors == DType::bf16 ? 5e-3 : test::op_tolerance(out);
      const Tensor y = ops::conv(x.device, w.device, bias.device, p.spec, e, norm);
      test::expect_product(y, w.reference, limit, [&](const Weight& reference) {
        return ops::conv(x.reference, reference, bias.reference, p.spec, e_truth, norm_truth);
      });
      const auto residual = random.normal(device, y.shape(), random.dtype());
      e.residual = residual.device, e_truth.residual = residual.reference;
      test::expect_product(ops::conv(x.device, w.device, {}, p.spec, e, norm), w.reference, limit,
                           [&](const Weight& reference) { return ops::conv(x.reference, reference, {}, p.spec, e_truth, norm_truth); });
    });
  }
}

// Many channels with a kernel each, and groups as wide as a register and wider.
BACKEND_TEST(ConvSpec, groups_of_every_width) {
  Random random(82);
  for (const int64_t width : {1, 2, 3, 8, 16, 17, 48})
    for (const int64_t groups : {1, 5, 16, 33}) {
      const int64_t C = width * groups, O = random.chance() ? groups : 2 * groups;
      if (C > 400) continue;
      const DType dtype = random.dtype();
      const auto x = random.normal(device, {2, 6, 7, C}, dtype);
      SCOPED_TRACE(fmt::format("{} channels in {} groups to {} {}", C, groups, O, name_of(dtype)));
      test::supported(device, [&] {
        const auto w = random.weight(device, {O, width, 3, 3}, WeightKind::conv, {.hold = dtype, .groups = groups});
        EXPECT_CLOSE(ops::conv(x.device, w.device, {}, ConvSpec::same(3)), ops::conv(x.reference, w.reference, {}, ConvSpec::same(3)),
                     test::op_tolerance(dtype));
      });
    }
}

BACKEND_TEST(ConvSpec, groups_equal_separate_convolutions) {
  Random random(83);
  const int64_t groups = 3, width = 5, outputs = 4;
  const Tensor x = random.normal(device, {2, 6, 5, groups * width}).device;
  const std::vector<float> values = random.normal(device, {groups * outputs, width, 3, 2}).device.to_vector();
  test::supported(device, [&] {
    const Weight whole = test::weight_of(device, {groups * outputs, width, 3, 2}, values, WeightKind::conv, groups);
    const ConvSpec spec = ConvSpec::plane(1, {1, 0, 1, 1});
    std::vector<Tensor> parts;
    const size_t size = values.size() / groups;
    for (int64_t g = 0; g < groups; ++g) {
      const std::vector<float> own(values.begin() + std::ptrdiff_t(size) * g, values.begin() + std::ptrdiff_t(size) * (g + 1));
      parts.push_back(ops::conv(x.slice(3, g * width, (g + 1) * width),
                                test::weight_of(device, {outputs, width, 3, 2}, own, WeightKind::conv), {}, spec));
    }
    EXPECT_CLOSE(ops::conv(x, whole, {}, spec), ops::concat(parts, 3), 1e-6);
  });
}

BACKEND_TEST(ConvSpec, known_answers) {
  const auto line = [&](const std::vector<float>& x, const std::vector<float>& w, const ConvSpec::Axis& axis) {
    return ops::conv(Tensor::from(device, {1, int64_t(x.size()), 1}, x),
                     test::weight_of(device, {1, 1, int64_t(w.size())}, w, WeightKind::conv), {}, {.columns = axis})
        .to_vector();
  };
  using Line = std::vector<float>;
  const Line x{1, 2, 3, 4, 5};
  test::supported(device, [&] { EXPECT_EQ(line(x, {1, 10}, {}), (Line{21, 32, 43, 54})); });
  test::supported(device, [&] { EXPECT_EQ(line(x, {1, 10}, {.before = 1}), (Line{10, 21, 32, 43, 54})); });
  test::supported(device, [&] { EXPECT_EQ(line(x, {1, 10}, {.stride = 2, .after = 1}), (Line{21, 43, 5})); });
  test::supported(device, [&] { EXPECT_EQ(line(x, {1, 10, 100}, {.dilation = 2}), (Line{531})); });
  test::supported(device, [&] {
    EXPECT_EQ(line(x, {1, 10}, {.before = 2, .after = 1, .edge = nearest}), (Line{11, 11, 21, 32, 43, 54, 55}));
  });
  test::supported(device, [&] { EXPECT_EQ(line({7}, {1, 10, 100}, {.before = 3, .after = 1, .edge = nearest}), (Line{777, 777, 777})); });
  // Each of the three axes has its own fields: the kernel [2, 1, 2] covers two frames and every other column.
  test::supported(device, [&] {
    const Tensor space = Tensor::from(device, {1, 2, 1, 3, 1}, Line{1, 2, 3, 4, 5, 6});
    const Weight w = test::weight_of(device, {1, 1, 2, 1, 2}, {1, 10, 100, 1000}, WeightKind::conv);
    EXPECT_EQ(ops::conv(space, w, {}, {.columns = {.dilation = 2}}).to_vector(), (Line{1 + 30 + 400 + 6000}));
    EXPECT_EQ(ops::conv(space, w, {}, {.frames = {.before = 1, .edge = nearest}, .columns = {.stride = 2, .after = 1}}).to_vector(),
              (Line{1 + 20 + 100 + 2000, 3 + 300, 1 + 20 + 400 + 5000, 3 + 600}));
  });
}

// Repeated edges are equivalent to an x extended by copies of its first and last positions.
BACKEND_TEST(ConvSpec, repeated_edges_equal_an_extended_input) {
  Random random(84);
  const auto x = random.normal(device, {2, 4, 5, 6}).device;
  const auto values = random.normal(device, {3, 6, 3, 2}).device.to_vector();
  test::supported(device, [&] {
    const Weight w = test::weight_of(device, {3, 6, 3, 2}, values, WeightKind::conv);
    const Tensor top = x.slice(1, 0, 1), bottom = x.slice(1, 3, 4), tall = ops::concat({top, top, x, bottom}, 1),
                 left = tall.slice(2, 0, 1), right = tall.slice(2, 4, 5), wide = ops::concat({left, tall, right, right, right}, 2);
    EXPECT_CLOSE(ops::conv(x, w, {},
                           {.rows = {.stride = 2, .before = 2, .after = 1, .edge = nearest},
                            .columns = {.before = 1, .after = 3, .dilation = 2, .edge = nearest}}),
                 ops::conv(wide, w, {}, {.rows = {.stride = 2}, .columns = {.dilation = 2}}), 1e-6);
  });
}

// Video in chunks: each chunk starts with the last frames of the previous one.
BACKEND_TEST(ConvSpec, causal_frames_in_chunks_equal_the_whole) {
  Random random(85);
  const Tensor x = random.normal(device, {1, 7, 4, 5, 6}).device;
  const auto values = random.normal(device, {8, 6, 3, 3, 3}).device.to_vector();
  for (const auto edge : {ConvSpec::Edge::zeros, nearest})
    test::supported(device, [&] {
      const Weight w = test::weight_of(device, {8, 6, 3, 3, 3}, values, WeightKind::conv);
      ConvSpec spec = ConvSpec::same(3), going_on = spec;
      spec.frames = {.before = 2, .edge = edge};
      const Tensor whole = ops::conv(x, w, {}, spec);
      const Tensor parts = ops::concat({ops::conv(x.slice(1, 0, 3), w, {}, spec), ops::conv(x.slice(1, 1, 4), w, {}, going_on),
                                        ops::conv(x.slice(1, 2, 7), w, {}, going_on)},
                                       1);
      EXPECT_CLOSE(parts, whole, 1e-6);
    });
}

BACKEND_TEST(ConvSpec, images_do_not_depend_on_their_batch) {
  Random random(86);
  const Tensor x = random.normal(device, {3, 4, 5, 6, 8}).device;
  const auto values = random.normal(device, {12, 4, 2, 3, 3}).device.to_vector();
  test::supported(device, [&] {
    const Weight w = test::weight_of(device, {12, 4, 2, 3, 3}, values, WeightKind::conv, 2);
    const ConvSpec spec{.frames = {.before = 1, .edge = nearest}, .rows = {.dilation = 2}};
    const Tensor together = ops::conv(x, w, {}, spec);
    for (int64_t b = 0; b < 3; ++b)
      EXPECT_EQ(ops::conv(x.slice(0, b, b + 1), w, {}, spec).to_vector(), together.slice(0, b, b + 1).to_vector()) << b;
  });
}

BACKEND_TEST(ConvSpec, shapes) {
  Random random(87);
  const auto shape = [&](const Shape& x, const Shape& w, const ConvSpec& spec, int64_t groups = 1) {
    const std::vector<float> values(size_t(w.numel()), 1.0f);
    return ops::conv(Tensor::zeros(device, x), test::weight_of(device, w, values, WeightKind::conv, groups), {}, spec).shape();
  };
  test::supported(device, [&] { EXPECT_EQ(shape({2, 9, 3}, {4, 3, 3}, {}), (Shape{2, 7, 4})); });
  test::supported(device, [&] { EXPECT_EQ(shape({2, 9, 6}, {4, 3, 3}, {.columns = {.stride = 2, .before = 1}}, 2), (Shape{2, 4, 4})); });
  test::supported(device, [&] {
    const ConvSpec spec{.frames = {.before = 2}, .rows = {.stride = 2, .after = 1}, .columns = {.dilation = 3}};
    EXPECT_EQ(shape({1, 4, 6, 7, 3}, {5, 3, 3, 3, 3}, spec), (Shape{1, 4, 3, 1, 5}));
  });
  test::supported(device, [&] { EXPECT_EQ(shape({0, 4, 4, 4, 3}, {5, 3, 3, 3, 3}, {}), (Shape{0, 2, 2, 2, 5})); });
  // If x has no positions, y has those that come from zero padding: the bias alone.
  test::supported(device, [&] {
    const Weight w = test::weight_of(device, {1, 2, 2}, {1, 1, 1, 1}, WeightKind::conv);
    const Tensor bias = Tensor::from(device, {1}, std::vector<float>{3});
    EXPECT_EQ(ops::conv(Tensor::zeros(device, {1, 0, 2}), w, bias, {.columns = {.before = 1, .after = 2}}).to_vector(),
              (std::vector<float>{3, 3}));
  });
}

BACKEND_TEST(ConvSpec, refuses_invalid_arguments) {
  const auto weight = [&](const Shape& shape, int64_t groups = 1, WeightKind kind = WeightKind::conv) {
    return Weight{.name = "w", .shape = shape, .form = {.groups = groups}, .backend = &device, .kind = kind};  // nothing is computed
  };
  const auto refusal = [&](const Shape& x, const Weight& w, const ConvSpec& spec) {
    return test::refusal([&] { ops::conv(Tensor::zeros(device, x), w, {}, spec); });
  };
  const Shape plane{1, 5, 5, 6};
  EXPECT_EQ(refusal(plane, weight({4, 6}), {}),
            "conv: weight w [4, 6] is not a convolution's, expected [out, in, kernel …] with one to three kernel axes");
  EXPECT_EQ(refusal(plane, weight({4, 6, 1, 1, 1, 1}), {}),
            "conv: weight w [4, 6, 1, 1, 1, 1] is not a convolution's, expected [out, in, kernel …] with one to three kernel axes");
  EXPECT_EQ(refusal(plane, weight({4, 6, 3, 3}, 1, WeightKind::linear), {}),
            "conv: weight w [4, 6, 3, 3] is not a convolution's, expected [out, in, kernel …] with one to three kernel axes");
  EXPECT_EQ(refusal(plane, weight({4, 6, 3}), {}), "conv1d: x [1, 5, 5, 6] and weight w [4, 6, 3] are incompatible, expected x of rank 3");
  EXPECT_EQ(refusal(plane, weight({4, 6, 3, 3, 3}), {}),
            "conv3d: x [1, 5, 5, 6] and weight w [4, 6, 3, 3, 3] are incompatible, expected x of rank 5");
  EXPECT_EQ(refusal(plane, weight({4, 2, 3, 3}, 3), {}), "conv2d: 3 groups do not divide the 4 rows of weight w [4, 2, 3, 3]");
  EXPECT_EQ(refusal(plane, weight({4, 2, 3, 3}, 0), {}), "conv2d: 0 groups do not divide the 4 rows of weight w [4, 2, 3, 3]");
  EXPECT_EQ(refusal(plane, weight({4, 2, 3, 3}, 2), {}), "conv2d: x [1, 5, 5, 6] has 6 channels, weight w [4, 2, 3, 3] needs 4");
  EXPECT_EQ(refusal({1, 5, 5, 0}, weight({4, 0, 3, 3}), {}), "conv2d: weight w [4, 0, 3, 3] has no inputs");
  EXPECT_EQ(refusal(plane, weight({4, 6, 3, 0}), {}), "conv2d: weight w [4, 6, 3, 0] has no inputs");
  EXPECT_EQ(refusal(plane, weight({4, 6, 3, 3}), {.rows = {.stride = 0}}),
            "conv2d: stride is 0 and dilation 1, expected at least 1 (weight w)");
  EXPECT_EQ(refusal(plane, weight({4, 6, 3, 3}), {.columns = {.dilation = -1}}),
            "conv2d: stride is 1 and dilation -1, expected at least 1 (weight w)");
  EXPECT_EQ(refusal(plane, weight({4, 6, 3, 3}), {.columns = {.before = 1, .after = -1}}),
            "conv2d: padding is 1 and -1, expected 0 or more (weight w)");
  EXPECT_EQ(refusal({1, 5, 0, 6}, weight({4, 6, 3, 1}), {.columns = {.before = 2, .edge = nearest}}),
            "conv2d: x [1, 5, 0, 6] has no edge to repeat");
  EXPECT_EQ(refusal(plane, weight({4, 6, 3, 3}), {.rows = {.before = 1, .dilation = 3}}),
            "conv2d: x [1, 5, 5, 6] has 6 positions along an axis, padding included, fewer than the kernel of w [4, 6, 3, 3] covers, "
            "expected at least 7");
  EXPECT_EQ(refusal({1, 2, 5, 5, 6}, weight({4, 6, 3, 3, 3}), {}).substr(0, 27), "conv3d: x [1, 2, 5, 5, 6] h");
  EXPECT_EQ(refusal({1, 2, 5, 5, 6}, weight({4, 6, 1, 3, 3}), {.resize_to = {9, 9}}),
            "conv3d: x [1, 2, 5, 5, 6] cannot be resized to 9 × 9");
  EXPECT_EQ(refusal(plane, weight({4, 6, 3, 3}), {.resize_to = {0, 9}}), "conv2d: x [1, 5, 5, 6] cannot be resized to 0 × 9");
  EXPECT_EQ(refusal(plane, weight({4, 6, 3, 3}), {.resize_to = {-3, 0}}), "conv2d: x [1, 5, 5, 6] cannot be resized to -3 × 0");
}

}  // namespace
}  // namespace hearth
