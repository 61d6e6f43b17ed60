#include "sampling/guidance/guidance_methods.h"

#include "ops/pointwise.h"
#include "support/backend_test.h"
#include "support/golden.h"
#include "support/tolerance.h"

namespace hearth::sampling {
namespace {

const Shape shape{2, 3, 5, 4};

// One formula on the predictions of the golden's first step, compared with the reference.
struct Case {
  explicit Case(Backend& device_) : device(device_), golden(__FILE__, "guidance", device_) {}
  Tensor of(const char* name) const { return golden.tensor(name).slice(0, 0, 1).view(shape); }
  std::vector<float> wanted(const char* name) const { return golden.tensor(name).slice(0, 0, 1).to_vector(); }

  Backend& device;
  test::Golden golden;
  Tensor prompt = of("prompt"), negative = of("negative"), other = of("other");
};

HOST_TEST(GuidanceFormulas, two_predictions_are_combined_as_in_diffusers) {
  const Case c(device);
  constexpr double limit = 2e-6;  // observed 3.4e-7 (tcfg, whose reference uses an SVD in f32), 1.3e-7 the others
  EXPECT_CLOSE(classifier_free(c.negative, c.prompt, 7.5), c.wanted(R"(cfg|{"scale": 7.5})"), limit);
  const Tensor guided = classifier_free(c.negative, c.prompt, 7.5);
  EXPECT_CLOSE(rescaled(guided, c.prompt, 0.7), c.wanted(R"(cfg|{"scale": 7.5, "rescale": 0.7})"), limit);
  EXPECT_CLOSE(classifier_free(scaled_towards(c.negative, c.prompt), c.prompt, 5),
               c.wanted(R"(cfg_zero_star|{"scale": 5, "zero_steps": 0})"), limit);
  EXPECT_CLOSE(classifier_free(tangential(c.negative, c.prompt), c.prompt, 5), c.wanted(R"(tcfg|{"scale": 5})"), limit);
  EXPECT_CLOSE(magnitude_aware(c.negative, c.prompt, 5, 1.5), c.wanted(R"(mag|{"scale": 5, "alpha": 1.5})"), limit);
}

HOST_TEST(GuidanceFormulas, the_projected_difference_goes_on_with_its_momentum) {
  const Case c(device);
  Tensor running;
  const Tensor wanted = c.golden.tensor(R"(apg|{"scale": 6, "momentum": -0.5, "norm_threshold": 2.5, "eta": 0})");
  for (int64_t step = 0; step < 3; ++step) {
    const Tensor prompt = c.golden.tensor("prompt").slice(0, step, step + 1).view(shape);
    const Tensor negative = c.golden.tensor("negative").slice(0, step, step + 1).view(shape);
    const Tensor difference = projected_difference(negative, prompt, running, -0.5, 2.5, 0);
    const Tensor guided = ops::linear_combination({negative, difference}, {1, 6});
    EXPECT_CLOSE(guided, wanted.slice(0, step, step + 1), 9e-7);  // observed 9.7e-8
  }
}

HOST_TEST(GuidanceFormulas, a_third_prediction_is_combined_as_in_diffusers) {
  const Case c(device);
  constexpr double limit = 6e-7;  // observed 6.9e-8
  EXPECT_CLOSE(away_from(classifier_free(c.negative, c.prompt, 5), c.prompt, c.other, 3), c.wanted(R"(pag|{"scale": 5, "pag_scale": 3})"),
               limit);
  EXPECT_CLOSE(dual(c.negative, c.other, c.prompt, 1.5, 7.5), c.wanted(R"(dual|{"scale": 7.5, "image_scale": 1.5})"), limit);
}

HOST_TEST(GuidanceFormulas, norms_are_kept_or_limited_as_in_the_pipelines) {
  const Case c(device);
  constexpr double limit = 1e-6;  // observed 1.1e-7
  const Tensor guided = classifier_free(c.negative, c.prompt, 4);
  EXPECT_CLOSE(with_norms_of(guided, c.prompt), c.wanted(R"(norm_preserving|{"scale": 4})"), limit);
  EXPECT_CLOSE(with_norm_at_most(guided, c.prompt, 1), c.wanted(R"(norm_cap|{"scale": 4, "most": 1.0})"), limit);
  EXPECT_CLOSE(with_norm_at_most(guided, c.prompt, 2), c.wanted(R"(norm_cap|{"scale": 4, "most": 2.0})"), limit);
}

HOST_TEST(GuidanceFormulas, tokens_of_several_pixels_have_one_norm) {
  const Tensor guided = Tensor::from(device, {1, 2, 4, 1}, std::vector<float>{3, 0, 1, 0, 4, 0, 0, 0}),
               prompt = Tensor::from(device, {1, 2, 4, 1}, std::vector<float>{0, 6, 0, 0, 0, 8, 0, 3});
  EXPECT_EQ(with_norms_of(guided, prompt, 2).to_vector(), (std::vector<float>{6, 0, 3, 0, 8, 0, 0, 0}));
  EXPECT_EQ(with_norms_of(guided, prompt, 1).to_vector(), std::vector<float>(8, 0));
  EXPECT_THROW(with_norms_of(guided, prompt, 4), ShapeError);
}

HOST_TEST(GuidanceFormulas, large_estimates_are_thresholded_as_in_diffusers) {
  const Case c(device);
  constexpr double limit = 5e-7;  // observed 5.0e-8
  EXPECT_CLOSE(dynamically_thresholded(c.prompt, 0.995, 1), c.wanted(R"(threshold|{"ratio": 0.995, "most": 1.0})"), limit);
  EXPECT_CLOSE(dynamically_thresholded(c.prompt, 0.9, 1.5), c.wanted(R"(threshold|{"ratio": 0.9, "most": 1.5})"), limit);
  EXPECT_CLOSE(dynamically_thresholded(c.prompt, 0.6, 100), c.wanted(R"(threshold|{"ratio": 0.6, "most": 100.0})"), limit);
}

// The quantile of all values is the largest; between the last two of three it is half way.
HOST_TEST(GuidanceFormulas, thresholds_at_the_end_of_the_values) {
  const Tensor x = Tensor::from(device, {1, 1, 3, 1}, std::vector<float>{-4, 1, 2});
  EXPECT_CLOSE(dynamically_thresholded(x, 1, 100), (std::vector<float>{-1, 0.25f, 0.5f}), 0);
  EXPECT_CLOSE(dynamically_thresholded(x, 0.75, 100), (std::vector<float>{-1, 1 / 3.f, 2 / 3.f}), 1e-7);
  EXPECT_CLOSE(dynamically_thresholded(x, 1, 2), (std::vector<float>{-1, 0.5f, 1}), 0);
}

HOST_TEST(GuidanceFormulas, the_growing_scale_is_cogvideox_s) {
  const Case c(device);
  const std::vector<float> wanted = c.golden.values("growing");
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(growing_scale(6, 1 - double(i) / 10), wanted[i], 1e-6);  // observed 2.4e-7
}

// The images of a batch do not affect each other.
HOST_TEST(GuidanceFormulas, a_batch_of_n_equals_n_singles_bit_for_bit) {
  const Case c(device);
  const auto check = [&](const auto& formula) {
    const Tensor all = formula(c.negative, c.prompt);
    for (int64_t k = 0; k < 2; ++k)
      EXPECT_EQ(all.slice(0, k, k + 1).to_vector(), formula(c.negative.slice(0, k, k + 1), c.prompt.slice(0, k, k + 1)).to_vector());
  };
  check([](const Tensor& n, const Tensor& p) { return rescaled(n, p, 0.5); });
  check([](const Tensor& n, const Tensor& p) { return scaled_towards(n, p); });
  check([](const Tensor& n, const Tensor& p) { return tangential(n, p); });
  check([](const Tensor& n, const Tensor& p) { return with_norm_at_most(n, p, 0.5); });
  check([](const Tensor& n, const Tensor& p) { return with_norms_of(n, p); });
  check([](const Tensor& n, const Tensor& p) { return magnitude_aware(n, p, 4, 2); });
  check([](const Tensor& n, const Tensor&) { return dynamically_thresholded(n, 0.9, 2); });
  check([](const Tensor& n, const Tensor& p) {
    Tensor running;
    return projected_difference(n, p, running, 0.5, 2, 0.5);
  });
}

}  // namespace
}  // namespace hearth::sampling
