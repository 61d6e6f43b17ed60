#include "models/zamba2/hybrid_layer.h"

#include <cmath>
#include <utility>

#include "ops/rope.h"
#include "parts/decoder/recurrent_state.h"
#include "parts/decoder/state_space_mixer.h"

namespace hearth::models::zamba2 {
namespace {

using namespace parts;

// y + second(first(x)), of low rank.
struct Adapter {
  Adapter(const Scope& w, int64_t channels, int64_t rank) : first(w / 0, channels, rank, false), second(w / 1, rank, channels, false) {}
  Tensor onto(const Tensor& y, const Tensor& x) const { return second(first(x), {.residual = y}); }
  Projection first, second;
};

// The same for gates and values.
struct GluAdapter {
  GluAdapter(const Scope& w, int64_t channels, int64_t rank, int64_t inner)
      : first(w / 0, channels, rank, false),
        gate(w / 1, rank, 0, inner, 2 * inner, false),
        up(w / 1, rank, inner, inner, 2 * inner, false) {}
  Projection first, gate, up;
};

// Keys and values of the attention, and the recurrence behind it.
struct HybridState final : BlockState {
  HybridState(std::unique_ptr<PagedState> k, std::unique_ptr<BlockState> r) : keys(std::move(k)), recurrence(std::move(r)) {}

  int64_t bytes() const override { return recurrence->bytes(); }
  int64_t reachable(int64_t stored, int64_t length) const override { return recurrence->reachable(stored, length); }
  void shorten(int64_t length) override { recurrence->shorten(length); }
  std::vector<Tensor> save(int64_t length) const override {
    std::vector<Tensor> all = keys->save(length);
    for (const Tensor& x : recurrence->save(length)) all.push_back(x);
    return all;
  }
  void load(int64_t length, std::span<const Tensor> saved) override {
    constexpr size_t keys_and_values = 2;
    if (saved.size() < keys_and_values)
      fail<WeightError>("state: a block has {} tensors, expected at least {}", saved.size(), keys_and_values);
    keys->load(length, saved.first(keys_and_values));
    recurrence->load(length, saved.subspan(keys_and_values));
  }
  std::vector<Tensor> snapshot(int64_t length) const override { return recurrence->snapshot(length); }
  void restore(int64_t length, std::span<const Tensor> saved) override { recurrence->restore(length, saved); }
  int64_t interval() const override { return recurrence->interval(); }
  void checkpoint(int64_t length) override { recurrence->checkpoint(length); }

  std::unique_ptr<PagedState> keys;
  std::unique_ptr<BlockState> recurrence;
};

class HybridLayer final : public parts::Block {
 public:
  HybridLayer(const Scope& w, int64_t width, const HybridConfig& c, int64_t use, std::shared_ptr<const SharedTransformer> shared,
              const Scope& stored, RotaryPairs pairs)
      : config_(c),
        pairs_(pairs),
        shared_(std::move(shared)),
        mlp_adapter_(stored / "feed_forward.gate_up_proj_adapter_list" / use, width, c.adapter_rank, c.mlp),
        linear_(w / "linear", width, width, false),
        norm_(w / "mamba_decoder.input_layernorm", width, {.eps = c.eps}),
        mixer_(w / "mamba_decoder.mamba", width, c.mixer) {
    if (!c.adapts_attention) return;
    for (const char* name : {"linear_q_adapter_list", "linear_k_adapter_list", "linear_v_adapter_list"})
      qkv_adapters_.emplace_back(stored / "self_attn" / name / use, 2 * width, c.adapter_rank);
  }

  Tensor operator()(const Tensor& x, const Tensor& residual, const Pass& pass, States states) const override {
    std::vector<BlockState*> keys, recurrences;
    for (BlockState* state : states) {
      keys.push_back(as<HybridState>(state).keys.get());
      recurrences.push_back(as<HybridState>(state).recurrence.get());
    }
    const Tensor seen = attention(shared_->norm(ops::concat({x, pass.embeddings}, 1)), pass, keys);
    const Tensor y = linear_(mlp(shared_->mlp_norm(seen)), {.residual = x});
    return mixer_(norm_(y), residual, pass, recurrences);
  }
  std::optional<nn::KvLayout> stored() const override { return nn::KvLayout{.groups = config_.groups, .head = config_.head}; }
  std::unique_ptr<BlockState> start(std::unique_ptr<PagedState> keys, int64_t context) const override {
    return std::make_unique<HybridState>(std::move(keys), mixer_.start(nullptr, context));
  }
  int64_t state_bytes(int64_t context) const override { return mixer_.state_bytes(context); }

 private:
  // x [T, 2·C] → [T, C]
  Tensor attention(const Tensor& x, const Pass& pass, States keys) const {
    const int64_t T = x.size(0), N = config_.heads, G = config_.groups, D = config_.head;
    auto [q, k, v] = nn::together(x, shared_->q, shared_->k, shared_->v);
    if (config_.adapts_attention) q = qkv_adapters_[0].onto(q, x), k = qkv_adapters_[1].onto(k, x), v = qkv_adapters_[2].onto(v, x);
    const auto heads = [&](const Tensor& y, int64_t count) {
      const Tensor apart = y.view({T, count, D});
      return config_.positions ? ops::rope(apart, pass.rotary[0], pairs_) : apart;
    };
    const auto seen = stored_keys(pass, keys, heads(k, G), v.view({T, G, D}));
    const Tensor y = ops::cached_attention(heads(q, N), seen, {.scale = std::sqrt(2 / float(D))});
    return shared_->o(y.view({T, N * D}));
  }
  Tensor mlp(const Tensor& x) const {
    const auto [gate, up, low] = nn::together(x, shared_->gate, shared_->up, mlp_adapter_.first);
    const Tensor gates = ops::activate(mlp_adapter_.gate(low, {.residual = gate}), config_.activation);
    return shared_->down(ops::multiply(mlp_adapter_.up(low, {.residual = up}), gates));
  }

  HybridConfig config_;
  RotaryPairs pairs_;
  std::shared_ptr<const SharedTransformer> shared_;
  GluAdapter mlp_adapter_;
  std::vector<Adapter> qkv_adapters_;
  Projection linear_;
  Norm norm_;
  StateSpaceMixer mixer_;
};

}  // namespace

SharedTransformer::SharedTransformer(const Scope& w, int64_t width, const HybridConfig& c)
    : norm(w / "input_layernorm", 2 * width, {.eps = c.eps}),
      mlp_norm(w / "pre_ff_layernorm", width, {.eps = c.eps}),
      q(w / "self_attn.q_proj", 2 * width, c.heads * c.head, false),
      k(w / "self_attn.k_proj", 2 * width, c.groups * c.head, false),
      v(w / "self_attn.v_proj", 2 * width, c.groups * c.head, false),
      o(w / "self_attn.o_proj", c.heads * c.head, width, false),
      gate(w / "feed_forward.gate_up_proj", width, 0, c.mlp, 2 * c.mlp, c.bias),
      up(w / "feed_forward.gate_up_proj", width, c.mlp, c.mlp, 2 * c.mlp, c.bias),
      down(w / "feed_forward.down_proj", c.mlp, width, c.bias) {}

// Layers are built in order: the first with a transformer reads its weights, also if the same configuration was built before.
std::unique_ptr<parts::Block> HybridLayerConfig::build(const Scope& w, int64_t width,
                                                       const std::vector<parts::RotaryConfig>& rotaries) const {
  const Scope own(w.weights(), layer), stored(w.weights(), stored_in + ".shared_transformer");
  std::shared_ptr<const SharedTransformer> weights = layer == stored_in ? nullptr : (*shared)[transformer].lock();
  if (!weights) (*shared)[transformer] = weights = std::make_shared<const SharedTransformer>(stored, width, config);
  return std::make_unique<HybridLayer>(own, width, config, use, weights, stored,
                                       config.positions ? rotaries.at(0).pairs : RotaryPairs::halves);
}

}  // namespace hearth::models::zamba2
