#include "sampling/guidance/denoiser.h"

#include <atomic>
#include <cmath>

#include "core/observe.h"
#include "ops/pointwise.h"
#include "ops/shape_ops.h"
#include "support/backend_test.h"
#include "support/golden.h"
#include "support/tolerance.h"

namespace hearth::sampling {
namespace {

using Values = std::vector<float>;
const Shape shape{2, 3, 5, 4};

Tensor named(Backend& device, const std::string& name) { return Tensor::from(device, shape, test::test_values(name, shape.numel())); }

const std::vector<Level> levels{Level::exploding(14.6146, 999),  Level::exploding(0.7, 250),  Level::exploding(0.0292, 0),
                                Level::preserving(14.6146, 999), Level::preserving(0.7, 250), Level::of_alpha_bar(0.00466, 999),
                                Level::of_alpha_bar(0.99915, 0)};

// x = α·x₀ + σ·noise for known x₀ and noise; a network with perfect predictions must give x₀ for every prediction type.
HOST_TEST(Denoiser, a_perfect_network_gives_x0_back) {
  const Tensor x0 = named(device, "x0"), noise = named(device, "noise");
  for (const Level& level : levels) {
    const double scale = std::sqrt(level.alpha * level.alpha + level.sigma * level.sigma);
    const Tensor x = ops::linear_combination({x0, noise}, {float(level.alpha), float(level.sigma)});
    const Tensor v = ops::linear_combination({noise, x0}, {float(level.alpha / scale), float(-level.sigma / scale)});
    const std::pair<Prediction, Tensor> answers[] = {{Prediction::epsilon, noise}, {Prediction::v, v}, {Prediction::sample, x0}};
    for (const auto& [prediction, answer] : answers) {
      const Denoiser denoise = make_denoiser(
          [&, a = answer](const Tensor&, float t) {
            EXPECT_EQ(t, level.timestep);
            return a;
          },
          prediction, 1);
      EXPECT_CLOSE(denoise(x, level).x0, x0, 1e-5);  // observed 2.2e-6, at σ = 14.6 where x₀ is a fifteenth of x
      if (level.alpha != 1) EXPECT_CLOSE(network_output(x, x0, level, prediction), answer, 1e-5);  // observed 2.9e-6
    }
  }
}

// The network's input has variance 1.
HOST_TEST(Denoiser, the_input_has_unit_variance_at_every_level) {
  const int64_t n = 4096;
  const Tensor x0 = Tensor::from(device, {1, 1, n, 1}, test::test_values("a", n)),
               noise = Tensor::from(device, {1, 1, n, 1}, test::test_values("b", n));
  for (const Level& level : levels) {
    double variance = 0;
    const Denoiser denoise = make_denoiser(
        [&](const Tensor& in, float) {
          for (const float v : in.to_vector()) variance += double(v) * v / n * 3;  // uniform on [-1, 1) has variance ⅓
          return in;
        },
        Prediction::epsilon, 1);
    denoise(ops::linear_combination({x0, noise}, {float(level.alpha), float(level.sigma)}), level);
    EXPECT_NEAR(variance, 1, 0.05) << "sigma " << level.sigma;
  }
}

// negative + g·(prompt − negative), the negative half first.
HOST_TEST(Denoiser, guidance_asks_for_both_halves_in_one_batch) {
  const Tensor x = named(device, "x"), negative = named(device, "negative"), positive = named(device, "positive");
  const Level level = Level::preserving(1.3, 400);
  int calls = 0;
  const Network network = [&](const Tensor& in, float) {
    ++calls;
    EXPECT_EQ(in.shape(), (Shape{4, 3, 5, 4}));
    EXPECT_EQ(in.slice(0, 0, 2).to_vector(), in.slice(0, 2, 4).to_vector());
    return ops::concat({negative, positive}, 0);
  };
  const Tensor got = make_denoiser(network, Prediction::sample, 7.5)(x, level).x0;
  EXPECT_EQ(calls, 1);
  const Values n = negative.to_vector(), p = positive.to_vector();
  Values wanted;
  for (size_t i = 0; i < n.size(); ++i) wanted.push_back(n[i] + 7.5f * (p[i] - n[i]));
  EXPECT_CLOSE(got, wanted, 1e-7);  // observed 0
}

HOST_TEST(Denoiser, guidance_up_to_one_is_none) {
  const Tensor x = named(device, "x");
  for (const double guidance : {-2.0, 0.0, 0.5, 1.0}) {
    EXPECT_FALSE(uses_guidance({.scale = guidance}));
    const Denoiser denoise = make_denoiser(
        [](const Tensor& in, float) {
          EXPECT_EQ(in.shape(), shape);
          return in;
        },
        Prediction::sample, guidance);
    EXPECT_EQ(denoise(x, Level::exploding(0, 0)).x0.to_vector(), x.to_vector());
  }
  EXPECT_TRUE(uses_guidance({.scale = 1.001}));
}

// ComfyUI and A1111 apply 0.4 literally; only 1 turns guidance off.
HOST_TEST(Denoiser, guidance_below_one_counts_where_any_scale_does) {
  const Tensor x = named(device, "x"), negative = named(device, "negative"), positive = named(device, "positive");
  const GuidedNetwork network = [&](const Tensor& in, float, const Branches& asked) {
    return asked.negative ? ops::concat({negative, positive}, 0) : in.size(0) == positive.size(0) ? positive : Tensor();
  };
  for (const double scale : {-0.5, 0.0, 0.4, 1.0}) {
    const Guidance guidance{.scale = scale, .any_scale = true};
    EXPECT_EQ(uses_guidance(guidance), scale != 1);
    GuidanceMemory memory;
    const Tensor got = make_denoiser(network, Prediction::sample, guidance, Unconditional::unused, memory)(x, Level::exploding(1, 0)).x0;
    EXPECT_CLOSE(got, ops::linear_combination({negative, positive}, {float(1 - scale), float(scale)}), 1e-6);  // observed 1.2e-7
  }
}

// G-44: a sampler that needs the unconditional estimate receives it even at guidance scale 1.
HOST_TEST(Denoiser, the_unconditional_estimate_comes_whatever_the_guidance) {
  const Tensor x = named(device, "x"), negative = named(device, "negative"), positive = named(device, "positive");
  const Level level = Level::exploding(2, 400);
  const Network network = [&](const Tensor& in, float) {
    EXPECT_EQ(in.size(0), 4);
    return ops::concat({negative, positive}, 0);
  };
  const Estimate one = make_denoiser(network, Prediction::epsilon, 1, Unconditional::needed)(x, level);
  const Estimate more = make_denoiser(network, Prediction::epsilon, 3, Unconditional::needed)(x, level);
  EXPECT_CLOSE(one.x0, ops::linear_combination({x, positive}, {1, -2}), 0);
  EXPECT_CLOSE(one.unconditional, ops::linear_combination({x, negative}, {1, -2}), 0);
  EXPECT_CLOSE(more.unconditional, one.unconditional.to_vector(), 0);
  EXPECT_GT(test::relative_error(more.x0.to_vector(), one.x0.to_vector()), 0.1);
  EXPECT_FALSE(make_denoiser(network, Prediction::epsilon, 3)(x, level).unconditional);
}

// G-05: a network that outputs 16 bits changes x̂₀ only by its own rounding; the arithmetic around it stays f32.
HOST_TEST(Denoiser, predictions_in_16_bits_are_widened) {
  const Tensor x = named(device, "x"), eps = named(device, "eps");
  const Level level = Level::exploding(14.6146, 999);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Tensor rounded = ops::cast(eps, dtype);
    const Tensor got = make_denoiser([&](const Tensor&, float) { return rounded; }, Prediction::epsilon, 1)(x, level).x0;
    const Tensor wide =
        make_denoiser([&](const Tensor&, float) { return ops::cast(rounded, DType::f32); }, Prediction::epsilon, 1)(x, level).x0;
    EXPECT_EQ(got.dtype(), DType::f32);
    EXPECT_EQ(got.to_vector(), wide.to_vector());
  }
}

HOST_TEST(Denoiser, a_prediction_of_another_shape_is_refused) {
  const Denoiser denoise = make_denoiser([](const Tensor& in, float) { return in.slice(3, 0, 2); }, Prediction::sample, 1);
  EXPECT_THROW(denoise(named(device, "x"), levels[0]), ShapeError);
}

HOST_TEST(Denoiser, cancellation_stops_before_the_network) {
  const std::atomic<bool> stop = true;
  const CancelScope scope(stop);
  const Denoiser denoise = make_denoiser(
      [](const Tensor& in, float) {
        ADD_FAILURE();
        return in;
      },
      Prediction::epsilon, 1);
  EXPECT_THROW(denoise(Tensor::zeros(device, shape), levels[0]), Canceled);
}

}  // namespace
}  // namespace hearth::sampling
