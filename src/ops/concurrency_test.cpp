// Two threads compute on one device at the same time: each result is bit-identical to that of the thread alone.
#include <functional>
#include <thread>

#include "ops/attention.h"
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "ops/random_test.h"
#include "ops/rope.h"
#include "ops/shape_ops.h"

namespace hearth {
namespace {

using test::Random;

std::vector<WeightForm> forms(const Backend& device) {
  std::vector<WeightForm> all{{.hold = DType::f32}, {.hold = DType::f16}, {.hold = DType::f32, .in_place = true}};
  if (device.multiplies_bf16()) all.push_back({.hold = DType::bf16, .factors = DType::bf16});
  return all;
}

// Like an image network: convolutions of every kind behind group norms, attention, gated products. Weights are prepared and memory is
// freed in between.
std::vector<float> of_images(Backend& device, uint32_t seed) {
  Random random(seed);
  Tensor x = random.normal(device, {2, 9, 11, 32}).device;
  const Tensor gamma = random.normal(device, {32}).device, beta = random.normal(device, {32}).device;
  for (const WeightForm& form : forms(device)) {
    WeightForm packed = form;
    packed.in_place = false;
    for (const int64_t kernel : {3, 1}) {
      const Weight w = random.weight(device, {32, 32, kernel, kernel}, WeightKind::conv, packed).device;
      x = ops::conv(x, w, beta, ConvSpec::same(kernel), {.residual = x}, {8, gamma, beta, 1e-5f, Activation::silu});
    }
    const Weight glu = random.weight(device, {64, 32}, WeightKind::glu, packed).device;
    const Tensor tokens = x.view({2, 99, 32}), y = ops::linear(tokens, glu, {}, {.activation = Activation::gelu, .residual = tokens});
    const Tensor heads = y.view({2, 99, 4, 8});
    x = ops::group_norm(ops::attention(heads, heads, heads, {.scale = 0.3f, .factors = packed.factors}).view({2, 9, 11, 32}),
                        {.groups = 4, .gamma = gamma, .beta = beta});
    device.release_cached();
  }
  return ops::resize_nearest(ops::linear_combination(std::array{x, x}, std::array{0.5f, 0.25f}), 18, 22).to_vector();
}

// Like a language model: few rows, weights in place, rotary positions, a KV cache.
std::vector<float> of_texts(Backend& device, uint32_t seed) {
  Random random(seed);
  Tensor x = random.normal(device, {1, 5, 64}).device;
  const Tensor gamma = random.normal(device, {64}).device, table = random.normal(device, {5, 2, 8}).device;
  for (const WeightForm& form : forms(device)) {
    const Weight w = random.weight(device, {64, 64}, WeightKind::linear, form).device;
    const Tensor y = ops::linear(ops::rms_norm(x.view({5, 64}), {.gamma = gamma, .eps = 1e-6f}), w).view({5, 4, 16});
    const Tensor q = ops::rope(y, table, RotaryPairs::halves);
    KeyValues cache{.k = random.normal(device, {8, 2, 16}).device, .v = random.normal(device, {8, 2, 16}).device};
    ops::store(q.slice(1, 0, 2), cache.k.slice(0, 0, 5));
    const Tensor seen = ops::cached_attention(q, cache, {.scale = 0.25f}).view({1, 5, 64});
    x = ops::add(x, ops::layer_norm(ops::activate(seen, Activation::silu), {.gamma = gamma, .beta = gamma}));
  }
  return x.to_vector();
}

BACKEND_TEST(Concurrency, concurrent_computations_on_one_device_equal_each_alone) {
  const std::vector<float> images = of_images(device, 1), texts = of_texts(device, 2);
  for (int round = 0; round < 3; ++round) {
    std::vector<float> images_beside, texts_beside, images_again;
    std::thread first([&] { images_beside = of_images(device, 1); });
    std::thread second([&] {
      texts_beside = of_texts(device, 2);
      images_again = of_images(device, 1);
    });
    first.join(), second.join();
    EXPECT_EQ(images_beside, images);
    EXPECT_EQ(texts_beside, texts);
    EXPECT_EQ(images_again, images);
  }
}

}  // namespace
}  // namespace hearth
