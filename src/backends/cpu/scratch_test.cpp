// Memory plans assume most_scratch; this checks it for the layers of Stable Diffusion 1.5 and XL and of language models.
#include <gtest/gtest.h>

#include <cstdlib>

#include "backends/cpu/memory.h"
#include "core/factors.h"
#include "ops/attention.h"
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "support/backend_test.h"

namespace hearth {
namespace {

Weight weight_of(Backend& device, const Shape& shape, WeightKind kind, const WeightForm& form) {
  return {.name = "w",
          .shape = shape,
          .form = form,
          .prepared = device.prepare(Tensor::zeros(device, shape, form.in_place ? form.hold : DType::f32), kind, form),
          .backend = &device,
          .kind = kind};
}

// Pieces of work do not grow with the rows of a product, once there are enough rows for every thread, nor with the channels of a
// convolution beyond one chunk, so that small images through the widest layers need as much scratch as large ones.
HOST_TEST(Scratch, stays_below_the_planned_limit) {
  if (device.name() != "cpu") GTEST_SKIP() << "no kernels with scratch memory";
  const bool slow = device.features() == "emulated";  // its f32 kernels are those of AVX2
  std::vector<WeightForm> forms;
  if (!slow) forms = {{}, {.hold = DType::f16}};
  if (device.multiplies_bf16()) forms.push_back({.hold = DType::bf16, .factors = DType::bf16});
  const auto before = cpu::largest_scratch();
  const auto check = [&](const std::string& what) {
    EXPECT_LE(cpu::largest_scratch(), cpu::most_scratch) << what;
    if (std::getenv("HEARTH_PRINT_ERRORS")) fmt::print("{} {}: {} KiB\n", device.features(), what, cpu::largest_scratch() / 1024);
  };
  const int64_t rows = slow ? 64 : 2048, side = slow ? 8 : 64;
  for (const WeightForm& form : forms) {
    const std::string of = fmt::format(", weights {}, factors {}", name_of(form.hold), name_of(form.factors));
    for (const auto& [K, N, kind] : std::vector<std::tuple<int64_t, int64_t, WeightKind>>{{320, 320, WeightKind::linear},
                                                                                          {320, 2560, WeightKind::glu},
                                                                                          {640, 5120, WeightKind::glu},
                                                                                          {1280, 1280, WeightKind::linear},
                                                                                          {2560, 640, WeightKind::linear},
                                                                                          {2048, 1280, WeightKind::linear},
                                                                                          {5120, 1280, WeightKind::linear}}) {
      ops::linear(Tensor::zeros(device, {2, rows / 2, K}), weight_of(device, {N, K}, kind, form));
      check(fmt::format("linear {}→{}{}", K, N, of));
    }
    for (const auto& [C, O, kernel, stride, larger] : std::vector<std::array<int64_t, 5>>{{4, 320, 3, 1, 1},
                                                                                          {320, 4, 3, 1, 1},
                                                                                          {320, 640, 3, 1, 1},
                                                                                          {320, 320, 3, 2, 1},
                                                                                          {960, 320, 1, 1, 1},
                                                                                          {128, 3, 3, 1, 1},
                                                                                          {128, 256, 3, 1, 2}}) {
      const ConvSpec spec = ConvSpec::plane(stride, {kernel / 2, kernel / 2, kernel / 2, kernel / 2});
      ops::conv(Tensor::zeros(device, {1, side * larger, side * larger, C}),
                weight_of(device, {O, C, kernel, kernel}, WeightKind::conv, form), {}, spec);
      check(fmt::format("conv {}x{} {}→{} stride {}{}", kernel, kernel, C, O, stride, of));
    }
  }
  std::vector<DType> factors = {DType::f32};
  if (device.multiplies_bf16()) factors.push_back(DType::bf16);
  for (const DType f : factors)
    for (const auto& [heads, D] : std::vector<std::pair<int64_t, int64_t>>{{16, 40}, {20, 64}, {8, 80}, {8, 160}, {1, 512}}) {
      const Tensor q = Tensor::zeros(device, {1, rows, heads, D}, DType::f16), k = Tensor::zeros(device, {1, 77, heads, D}, DType::f16);
      ops::attention(q, heads == 1 ? q : k, heads == 1 ? q : k, {.scale = 0.1f, .factors = f});
      check(fmt::format("attention of heads of {}, factors {}", D, name_of(f)));
    }
  for (const DType f : factors)
    for (const int64_t D : {64, 128, 256}) {
      const Tensor q = Tensor::zeros(device, {1, rows / 4, 8, D}, DType::f16), k = Tensor::zeros(device, {1, rows / 4, 2, D}, DType::f16);
      ops::attention(q, k, k, {.scale = 0.1f, .factors = f, .soft_cap = 1, .bias = Tensor::zeros(device, {1, 8, rows / 4, rows / 4})});
      check(fmt::format("attention of grouped heads of {} with a bias, factors {}", D, name_of(f)));
    }
  for (const auto& [C, O, groups] : std::vector<std::array<int64_t, 3>>{{1152, 1152, 1152}, {512, 512, 4}, {96, 96, 1}}) {
    const Weight w = weight_of(device, {O, C / groups, 3, 3, 3}, WeightKind::conv, {.groups = groups});
    ops::conv(Tensor::zeros(device, {1, 4, 6, 7, C}), w, {}, {.rows = {.before = 1}});
    check(fmt::format("conv 3x3x3 {}→{} of {} groups", C, O, groups));
  }
  ops::conv(Tensor::zeros(device, {1, 64, 512}), weight_of(device, {512, 1024, 16}, WeightKind::conv_transposed, {}), {},
            {.columns = {.stride = 8, .before = 4, .after = 4}});
  check("transposed conv");
  const Tensor image = Tensor::zeros(device, {2, side, side, 2560}, DType::f16), gamma = Tensor::zeros(device, {2560});
  ops::group_norm(image, {.groups = 32, .gamma = gamma, .beta = gamma});
  ops::layer_norm(image, {.gamma = gamma, .beta = gamma});
  check("norms");
  if (!slow)
    for (const DType dtype : {DType::f16, DType::bf16, DType::q8_0, DType::q4_k, DType::q6_k})
      for (const DType f : {DType::f32, DType::i16, DType::bf16}) {
        const WeightForm form{.hold = dtype, .factors = f, .in_place = true};
        if (!has_products(device, form)) continue;
        for (const auto& [K, N] : std::vector<std::pair<int64_t, int64_t>>{{2048, 1024}, {14336, 1024}})
          for (const int64_t M : {1, 512}) {
            ops::linear(Tensor::zeros(device, {1, M, K}), weight_of(device, {N, K}, WeightKind::linear, form));
            check(fmt::format("linear in place {}→{} of {} rows, weights {}, factors {}", K, N, M, name_of(dtype), name_of(f)));
          }
      }
  for (const auto& [G, heads, D] : std::vector<std::array<int64_t, 3>>{{8, 32, 64}, {8, 32, 128}, {2, 14, 64}, {1, 64, 256}})
    for (const int64_t T : {int64_t(1), slow ? int64_t(64) : int64_t(512)}) {
      const KeyValues cache{
          .k = Tensor::zeros(device, {1024, G, D}, DType::f16), .v = Tensor::zeros(device, {1024, G, D}, DType::f16), .first = 1024 - T};
      ops::cached_attention(Tensor::zeros(device, {T, heads, D}), cache, {.scale = 0.1f});
      check(fmt::format("attention of {} queries to a cache, {} heads of {}", T, heads, D));
    }
  if (before == 0 && !slow) {
    EXPECT_GT(cpu::largest_scratch(), size_t(1) << 20);  // scratch is counted
  }
}

}  // namespace
}  // namespace hearth
