// Elementwise kernels over their whole range and at every edge size.
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "backends/cpu/kernels/kernels_test.h"

namespace hearth::cpu {
namespace {

class FunctionsTest : public KernelsTest {};

INSTANTIATE_TEST_SUITE_P(paths, FunctionsTest, ::testing::Values("avx2", "avx512", "avx512bf16"));

TEST_P(FunctionsTest, exp_is_accurate_over_the_whole_range) {
  std::vector<float> x;
  for (float v = -87; v < 88.7f; v += 0.00113f) x.push_back(v);
  std::vector<float> y(x.size());
  kernel->exp(x.data(), int64_t(x.size()), y.data());
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double right = std::exp(double(x[i]));
    const double ulp = std::ldexp(1.0, std::ilogb(right) - 23);
    worst = std::max(worst, std::abs(y[i] - right) / ulp);
  }
  EXPECT_LE(worst, 1.2);  // observed: 1.02
  const float inf = std::numeric_limits<float>::infinity(), ends[] = {inf, -inf, 89.0f, -300.0f, 3e38f, -3e38f, 0.0f, std::nanf("")};
  float out[8];
  kernel->exp(ends, 8, out);
  EXPECT_EQ(out[0], inf);
  EXPECT_EQ(out[1], 0.0f);
  EXPECT_EQ(out[2], inf);
  EXPECT_EQ(out[3], 0.0f);
  EXPECT_EQ(out[4], inf);
  EXPECT_EQ(out[5], 0.0f);
  EXPECT_EQ(out[6], 1.0f);
  EXPECT_TRUE(std::isnan(out[7]));
}

// Every 1009th number of either sign and the ends of the range: the error in ulps of the expected value, if that is a normal number.
TEST_P(FunctionsTest, activations_are_accurate_over_the_whole_range) {
  const struct {
    Act act;
    double (*right)(double);
    double limit;  // observed: 2.04, 1.20, 2.55, 0.50
  } cases[] = {{Act::sigmoid, +[](double x) { return 1 / (1 + std::exp(-x)); }, 3},
               {Act::tanh, +[](double x) { return std::tanh(x); }, 3},
               {Act::softplus, +[](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }, 3},
               {Act::squared_relu, +[](double x) { return x > 0 ? x * x : 0; }, 1}};
  std::vector<float> x;
  for (uint32_t bits = 0; bits < 0x7f800000; bits += 1009) x.push_back(std::bit_cast<float>(bits)), x.push_back(-x.back());
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  std::vector<float> y(x.size());
  for (const auto& [act, right, limit] : cases) {
    kernel->activate(x.data(), int64_t(x.size()), act, y.data());
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double value = right(double(x[i]));
      if (value > double(std::numeric_limits<float>::max())) {
        ASSERT_EQ(y[i], inf) << x[i];
      } else if (value < 0x1p-126 && value > -0x1p-126) {
        ASSERT_NEAR(y[i], value, 0x1p-125) << x[i];
      } else {
        worst = std::max(worst, std::abs(y[i] - value) / std::ldexp(1.0, std::ilogb(value) - 23));
      }
    }
    EXPECT_LE(worst, limit) << int(act);
    if (std::getenv("HEARTH_PRINT_ERRORS")) std::printf("activation %d: %.2f ulp\n", int(act), worst);
  }
  const float ends[] = {inf, -inf, 0.0f, -0.0f, nan, 1e-40f, -1e-40f};
  float out[7];
  kernel->activate(ends, 7, Act::tanh, out);
  EXPECT_TRUE(out[0] == 1 && out[1] == -1 && out[2] == 0 && !std::signbit(out[2]) && out[3] == 0 && std::signbit(out[3]));
  EXPECT_TRUE(std::isnan(out[4]) && std::abs(out[5]) <= 1e-40f && std::abs(out[6]) <= 1e-40f);
  kernel->activate(ends, 7, Act::softplus, out);
  EXPECT_TRUE(out[0] == inf && out[1] == 0 && std::isnan(out[4]));
  kernel->activate(ends, 7, Act::sigmoid, out);
  EXPECT_TRUE(out[0] == 1 && out[1] == 0 && out[2] == 0.5f && std::isnan(out[4]));
  kernel->activate(ends, 7, Act::squared_relu, out);
  EXPECT_TRUE(out[0] == inf && out[1] == 0 && std::isnan(out[4]));
}

TEST_P(FunctionsTest, products_and_sums_by_element_at_every_length) {
  for (int64_t n = 0; n <= 3 * kernel->lanes + 1; ++n) {
    Odd x(n), a(n, 2), b(n, 3), y(n + 1, 4);
    const float end = y[n];
    const auto check = [&](auto right) {
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y[i], right(i)) << i << " of " << n;
      ASSERT_EQ(y[n], end) << n;
    };
    kernel->multiply(x.data(), a.data(), n, y.data());
    check([&](int64_t i) { return x[i] * a[i]; });
    kernel->affine(x.data(), n, a.data(), b.data(), y.data());
    check([&](int64_t i) { return std::fma(x[i], a[i], b[i]); });
    kernel->affine(x.data(), n, a.data(), nullptr, y.data());
    check([&](int64_t i) { return x[i] * a[i]; });
    kernel->affine(x.data(), n, nullptr, b.data(), y.data());
    check([&](int64_t i) { return x[i] + b[i]; });
    kernel->affine(x.data(), n, nullptr, nullptr, y.data());
    check([&](int64_t i) { return x[i]; });
    for (int set = 0; set < 16; ++set) {
      const RowAffine affine{set & 1 ? a.data() : nullptr, set & 2 ? b.data() : nullptr, set & 4 ? b.data() : nullptr,
                             set & 8 ? a.data() : nullptr};
      kernel->normalize(x.data(), n, 0.25f, 1.5f, affine, y.data());
      for (int64_t i = 0; i < n; ++i) {
        const double affined = (double(x[i]) - 0.25) * 1.5 * (set & 1 ? a[i] : 1) + (set & 2 ? b[i] : 0);
        ASSERT_NEAR(y[i], affined * (set & 4 ? 1 + b[i] : 1) + (set & 8 ? a[i] : 0), 1e-5) << set << ", " << i << " of " << n;
      }
      ASSERT_EQ(y[n], end) << n;
    }
  }
}

}  // namespace
}  // namespace hearth::cpu
