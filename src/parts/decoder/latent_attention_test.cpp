// The absorbed form of latent attention is that of the paper: keys and values of all heads expanded from the latents, then ordinary
// attention.
#include "parts/decoder/latent_attention.h"

#include <cmath>

#include "ops/attention.h"
#include "ops/rope.h"
#include "parts/golden_case_test.h"

namespace hearth::parts {
namespace {

constexpr int64_t width = 24;

// The weights by name, and the matrices of all heads as one, as checkpoints have them: for each head n, the rows of its keys, which are the
// columns of k_b.n, and those of its values, v_b.n.
class Published final : public ScaledSource {
 public:
  explicit Published(const LatentAttentionConfig& c) : ScaledSource(1), config_(c) {}
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    if (name != "attn.kv_b_proj.weight") return ScaledSource::read(name, wanted, backend);
    const auto& [N, L, P, V] = std::array{config_.heads, config_.latent, config_.plain, config_.value};
    std::vector<float> rows;
    for (int64_t n = 0; n < N; ++n) {
      const std::vector<float> keys = seeded_values(fmt::format("attn.k_b.{}.weight", n), {L, P}),
                               values = seeded_values(fmt::format("attn.v_b.{}.weight", n), {V, L});
      for (int64_t p = 0; p < P; ++p)
        for (int64_t l = 0; l < L; ++l) rows.push_back(keys[size_t(l * P + p)]);
      rows.insert(rows.end(), values.begin(), values.end());
    }
    return Tensor::from(backend, wanted, rows);
  }

 private:
  LatentAttentionConfig config_;
};

// x [T, C], a whole text → attention(x) [T, C]
Tensor expanded(Backend& device, const Tensor& x, const LatentAttentionConfig& c, const RotaryConfig& rotary) {
  const auto& [T, N, L, P, R, V] = std::array{x.size(0), c.heads, c.latent, c.plain, c.turned, c.value};
  Weights weights(std::make_shared<Published>(c), device);
  const Scope w = Scope(weights) / "attn";
  const Tensor table = rotary.table(device, 0, T, {.now = T, .planned = T});

  Tensor q = x;
  if (c.query_latent) {
    q = Projection(w / "q_a_proj", width, c.query_latent, c.bias)(q);
    q = Projection(w / "q_b_proj", c.query_latent, N * (P + R), false)(Norm(w / "q_a_layernorm", c.query_latent, c.norm)(q));
  } else {
    q = Projection(w / "q_proj", width, N * (P + R), false)(q);
  }
  q = q.view({T, N, P + R});
  q = ops::concat({ops::contiguous(q.slice(2, 0, P)), ops::rope(ops::contiguous(q.slice(2, P, P + R)), table, rotary.pairs)}, 2);

  const Tensor both = Projection(w / "kv_a_proj_with_mqa", width, L + R, c.bias)(x);
  const Tensor latent = Norm(w / "kv_a_layernorm", L, c.norm)(ops::contiguous(both.slice(1, 0, L)));
  const Tensor of_heads = Projection(w / "kv_b_proj", L, N * (P + V), false)(latent).view({T, N, P + V});
  const Tensor turned = ops::rope(ops::contiguous(both.slice(1, L, L + R)).view({T, 1, R}), table, rotary.pairs);
  const Tensor k = ops::concat({ops::contiguous(of_heads.slice(2, 0, P)), ops::concat(std::vector<Tensor>(size_t(N), turned), 1)}, 2);
  const Tensor v = ops::contiguous(of_heads.slice(2, P, P + V));

  const float scale = c.scale != 0 ? c.scale : 1 / std::sqrt(float(P + R));
  const Tensor y =
      ops::attention(q.view({1, T, N, P + R}), k.view({1, T, N, P + R}), v.view({1, T, N, V}), {.scale = scale, .mask = Mask::causal});
  return Projection(w / "o_proj", N * V, width, c.bias)(y.view({T, N * V}));
}

// The next `count` tokens of x by the block.
Tensor fed(const LatentAttention& block, const Tensor& x, int64_t first, int64_t count, const RotaryConfig& rotary, BlockState& state) {
  const Tensor table = rotary.table(x.backend(), first, count, {.now = x.size(0), .planned = x.size(0)});
  const Slice text{.begin = 0, .count = count, .first = first};
  const Pass pass{.texts = {&text, 1}, .rotary = {&table, 1}};
  BlockState* const states[] = {&state};
  return block(x.slice(0, first, first + count), {}, pass, states);
}

BACKEND_TEST(LatentAttention, the_absorbed_form_equals_the_expanded_form) {
  constexpr int64_t prompt = 530, all = prompt + 6;  // more than one pass, then token by token
  const RotaryConfig rotary{.theta = 100, .size = 4, .positions = 1024, .pairs = RotaryPairs::neighbors};
  const LatentAttentionConfig plain{.heads = 3, .latent = 16, .plain = 8, .turned = 4, .value = 6};
  LatentAttentionConfig other = plain;
  other.query_latent = 10, other.bias = true, other.scale = 2;
  const Tensor x = Tensor::from(device, {all, width}, test::test_values("latent.x", all * width));
  for (const LatentAttentionConfig& c : {plain, other}) {
    Weights weights = Weights::seeded(device, {.types = {.in_place = true}});
    const LatentAttention block(Scope(weights) / "attn", width, {rotary}, c);
    const auto table = std::make_shared<nn::PageTable>(std::make_shared<nn::PagePool>(1), all);
    table->extend(all);
    const auto state =
        block.start(std::make_unique<PagedState>(std::make_shared<nn::KvPages>(device, 1, all, *block.stored(), DType::f32), table), all);
    std::vector<float> made;
    for (int64_t first = 0; first < all;) {
      const int64_t count = first < prompt ? std::min(prompt - first, Block::chunk) : 1;
      const std::vector<float> part = fed(block, x, first, count, rotary, *state).to_vector();
      made.insert(made.end(), part.begin(), part.end());
      first += count;
    }
    EXPECT_CLOSE(made, expanded(device, x, c, rotary), 5e-6);  // observed 1.2e-7 reference, 7.7e-7 cpu
  }
}

}  // namespace
}  // namespace hearth::parts
