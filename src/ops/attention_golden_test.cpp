// Attention against PyTorch (golden/make.py), on every backend that supports the spec's fields.
#include "ops/attention.h"
#include "support/backend_test.h"
#include "support/golden.h"
#include "support/supported.h"
#include "support/tolerance.h"

namespace hearth {
namespace {

BACKEND_TEST(AttentionGolden, every_field_of_the_spec) {
  const test::Golden golden(__FILE__, "attention", device);
  const Tensor q = golden.tensor("q"), k = golden.tensor("k"), v = golden.tensor("v"), sinks = golden.tensor("sinks");
  const auto check = [&](const char* name, const AttentionSpec& spec) {
    SCOPED_TRACE(name);
    test::supported(device, [&] { EXPECT_CLOSE(ops::attention(q, k, v, spec), golden.values(name), 4e-7); });  // observed 1.2e-7
  };
  check("grouped", {.scale = 0.3f});
  check("bias.y", {.scale = 0.3f, .bias = golden.tensor("bias")});
  check("key_bias.y", {.scale = 0.3f, .bias = golden.tensor("key_bias")});
  check("head_bias.y", {.scale = 0.3f, .bias = golden.tensor("head_bias")});
  check("lengths", {.scale = 0.3f, .key_lengths = {9, 4}});
  check("window", {.scale = 0.3f, .window = 3});
  check("soft_cap", {.scale = 1.7f, .soft_cap = 2.5f});
  check("sinks.y", {.scale = 0.3f, .sinks = sinks});
  check("all", {.scale = 1.7f, .window = 3, .soft_cap = 2.5f, .bias = golden.tensor("bias"), .key_lengths = {9, 4}, .sinks = sinks});
}

BACKEND_TEST(AttentionGolden, causal) {
  const test::Golden golden(__FILE__, "attention", device);
  const Tensor q = golden.tensor("q"), k = golden.tensor("k").slice(1, 0, 7), v = golden.tensor("v").slice(1, 0, 7);
  const auto check = [&](const char* name, const AttentionSpec& spec) {
    SCOPED_TRACE(name);
    test::supported(device, [&] { EXPECT_CLOSE(ops::attention(q, k, v, spec), golden.values(name), 4e-7); });  // observed 1.2e-7
  };
  check("causal_window", {.scale = 0.3f, .mask = Mask::causal, .window = 3});
  check("causal_lengths", {.scale = 0.3f, .mask = Mask::causal, .key_lengths = {7, 4}});
}

BACKEND_TEST(AttentionGolden, cached) {
  const test::Golden golden(__FILE__, "attention", device);
  const Tensor q = golden.tensor("cached.q");
  const CachedAttentionSpec spec{.scale = 1.7f, .soft_cap = 2.5f, .sinks = golden.tensor("sinks")};
  test::supported(device, [&] {  // observed 1.2e-7
    EXPECT_CLOSE(ops::cached_attention(q, {.k = golden.tensor("cached.k"), .v = golden.tensor("cached.v"), .first = 6}, spec),
                 golden.values("cached.all"), 4e-7);
  });
  test::supported(device, [&] {  // observed 1.2e-7
    EXPECT_CLOSE(
        ops::cached_attention(q, {.k = golden.tensor("cached.ring_k"), .v = golden.tensor("cached.ring_v"), .first = 6, .window = 3}, spec),
        golden.values("cached.window"), 4e-7);
  });
}

}  // namespace
}  // namespace hearth
