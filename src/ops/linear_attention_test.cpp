#include "ops/linear_attention.h"

#include "ops/random_test.h"
#include "ops/refusal_test.h"
#include "support/supported.h"

namespace hearth {
namespace {

using test::Random;
using Values = std::vector<float>;

Tensor positive(const Tensor& x) {
  return test::edited(x, [n = x.numel()](float* values) {
    for (int64_t i = 0; i < n; ++i) values[i] = std::max(0.0f, values[i]);
  });
}

BACKEND_TEST(LinearAttention, equals_the_reference) {
  Random random(91);
  for (int round = 0; round < 12; ++round) {
    const int64_t B = random.between(1, 3), T = random.between(1, 40),
                  S = round % 3 == 2 ? random.between(257, 700) : random.between(1, 40), N = random.between(1, 4),
                  D = random.between(1, 40), Dv = random.between(1, 150);
    const auto q = random.normal(device, {B, T, N, D}), k = random.normal(device, {B, S, N, D}), v = random.normal(device, {B, S, N, Dv});
    const float eps = round % 2 ? 1e-15f : 0.5f;
    test::supported(device, [&] {
      // A query without any weight is 0 / eps.
      const Tensor y = ops::linear_attention(positive(q.device), positive(k.device), v.device, eps);
      EXPECT_CLOSE(y, ops::linear_attention(positive(q.reference), positive(k.reference), v.reference, eps).to_vector(), 5e-6);
      // An image does not depend on the others of its batch.
      const Tensor one = ops::linear_attention(positive(q.device.slice(0, B - 1, B)), positive(k.device.slice(0, B - 1, B)),
                                               v.device.slice(0, B - 1, B), eps);
      EXPECT_EQ(one.to_vector(), y.slice(0, B - 1, B).to_vector());
    });
  }
}

BACKEND_TEST(LinearAttention, by_hand) {
  test::supported(device, [&] {
    // One query with the weights 1·1 + 2·0 = 1 and 1·0 + 2·3 = 6: (1·10 + 6·3) / (7 + 1).
    const Tensor q = Tensor::from(device, {1, 1, 1, 2}, Values{1, 2}), k = Tensor::from(device, {1, 2, 1, 2}, Values{1, 0, 0, 3}),
                 v = Tensor::from(device, {1, 2, 1, 1}, Values{10, 3});
    EXPECT_CLOSE(ops::linear_attention(q, k, v, 1), (Values{3.5f}), 1e-6);
  });
}

BACKEND_TEST(LinearAttention, refusals) {
  const Tensor q = Tensor::zeros(device, {2, 5, 3, 8}), k = Tensor::zeros(device, {2, 7, 3, 8}), v = Tensor::zeros(device, {2, 7, 3, 4});
  EXPECT_EQ(test::refusal([&] {
              ops::linear_attention(q, Tensor::zeros(device, {2, 7, 3, 9}), v, 1);
            }),
            "linear_attention: k is f32 [2, 7, 3, 9], expected f32 [B, S, N, D] for q [2, 5, 3, 8]");
  EXPECT_EQ(test::refusal([&] {
              ops::linear_attention(q, k, Tensor::zeros(device, {2, 6, 3, 4}), 1);
            }),
            "linear_attention: v is f32 [2, 6, 3, 4], expected f32 [B, S, N, Dv] for q [2, 5, 3, 8]");
}

}  // namespace
}  // namespace hearth
