#include "nn/timestep_embedding.h"

#include "support/backend_test.h"
#include "support/tolerance.h"

namespace hearth {
namespace {

// Values of diffusers 0.39's get_timestep_embedding, which computes the angle in f32 (against f64, sin 50 differs by 3.5e-6).
BACKEND_TEST(TimestepEmbedding, cosine_first) {
  const std::vector<float> t{500};
  EXPECT_CLOSE(nn::embed_timesteps(device, t, {.channels = 8}),
               (std::vector<float>{-0.883849263f, 0.964965045f, 0.283662200f, 0.877582550f, -0.467771798f, -0.262378544f, -0.958924294f,
                                   0.479425520f}),
               1e-7);
  EXPECT_CLOSE(nn::embed_timesteps(device, t, {.channels = 8, .cosine_first = false}),
               (std::vector<float>{-0.467771798f, -0.262378544f, -0.958924294f, 0.479425520f, -0.883849263f, 0.964965045f, 0.283662200f,
                                   0.877582550f}),
               1e-7);
}

BACKEND_TEST(TimestepEmbedding, wide_fractional_and_one_per_image) {
  const std::vector<float> t{999, 999, 250.5f};
  const std::vector<float> y = nn::embed_timesteps(device, t, {.channels = 320}).to_vector();
  const std::vector<float> start(y.begin(), y.begin() + 3), sines(y.begin() + 160, y.begin() + 163);
  EXPECT_CLOSE(start, (std::vector<float>{0.99965f, 0.80268f, -0.27811f}), 1e-5);
  EXPECT_CLOSE(sines, (std::vector<float>{-0.02646f, 0.59641f, -0.96055f}), 1e-5);
  EXPECT_TRUE(std::equal(y.begin(), y.begin() + 320, y.begin() + 320));
  EXPECT_NEAR(y[640], 0.676783f, 1e-5);  // cos 250.5: fractional timesteps matter
}

BACKEND_TEST(TimestepEmbedding, shift_and_odd_width) {
  const std::vector<float> t{10};
  const Tensor odd = nn::embed_timesteps(device, t, {.channels = 7});
  EXPECT_EQ(odd.shape(), (Shape{1, 7}));
  EXPECT_EQ(odd.to_vector().back(), 0.0f);
  // freq_shift 1: frequencies 10⁴^(−i/3), so the last is exactly 10⁻⁴.
  EXPECT_NEAR(nn::embed_timesteps(device, t, {.channels = 8, .frequency_shift = 1}).to_vector()[7], 1e-3f, 1e-8);
}

}  // namespace
}  // namespace hearth
