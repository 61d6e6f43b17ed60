#include "parts/decoder/decoder.h"

#include <algorithm>

#include "core/observe.h"

namespace hearth::parts {
namespace {

std::unique_ptr<Block> build(const Scope& w, const DecoderConfig& d, const BlockConfig& config) {
  struct Builder {
    std::unique_ptr<Block> operator()(const AttentionConfig& c) const { return std::make_unique<Attention>(w, d.width, d.rotaries, c); }
    std::unique_ptr<Block> operator()(const LatentAttentionConfig& c) const {
      return std::make_unique<LatentAttention>(w, d.width, d.rotaries, c);
    }
    std::unique_ptr<Block> operator()(const SelectiveMixerConfig& c) const { return std::make_unique<SelectiveMixer>(w, d.width, c); }
    std::unique_ptr<Block> operator()(const StateSpaceMixerConfig& c) const { return std::make_unique<StateSpaceMixer>(w, d.width, c); }
    std::unique_ptr<Block> operator()(const ChannelMixConfig& c) const { return std::make_unique<ChannelMix>(w, d.width, c); }
    std::unique_ptr<Block> operator()(const MlpConfig& c) const { return std::make_unique<Mlp>(w, d.width, c); }
    std::unique_ptr<Block> operator()(const ExpertsConfig& c) const { return std::make_unique<Experts>(w, d.width, c); }
    std::unique_ptr<Block> operator()(const std::shared_ptr<const OwnBlock>& c) const { return c->build(w, d.width, d.rotaries); }
    const Scope& w;
    const DecoderConfig& d;
  };
  return std::visit(Builder{w, d}, config);
}

// In front of the tanh, if there is one.
float scale_of_logits(const HeadConfig& c) { return c.soft_cap != 0 ? c.scale / c.soft_cap : c.scale; }

// The factor of a model whose multiplication is in the table's dtype.
float scale_of_embeddings(const DecoderConfig& c, const Tensor& table) {
  const auto scale = float(c.embedding_scale);
  if (!c.rounds_embedding_scale || !table) return scale;
  return table.dtype() == DType::bf16  ? bf16_to_f32(f32_to_bf16(scale))
         : table.dtype() == DType::f16 ? f16_to_f32(f32_to_f16(scale))
                                       : scale;
}

std::optional<Norm> norm_at(const Scope& layer, int64_t width, const std::optional<LayerNormConfig>& c) {
  return c ? std::optional<Norm>(std::in_place, layer / c->name, width, c->norm) : std::nullopt;
}

}  // namespace

Sublayer::Sublayer(const Scope& layer, const DecoderConfig& d, const SublayerConfig& c)
    : before(norm_at(layer, d.width, c.before)), after(norm_at(layer, d.width, c.after)), block(build(layer / c.name, d, c.block)) {}

Tensor Sublayer::operator()(const Tensor& x, const Pass& pass, BlockState* state) const {
  return onto(x, before ? (*before)(x) : x, pass, state);
}

Tensor Sublayer::onto(const Tensor& residual, const Tensor& x, const Pass& pass, BlockState* state) const {
  return after ? ops::add(residual, (*after)((*block)(x, {}, pass, state))) : (*block)(x, residual, pass, state);
}

DecoderLayer::DecoderLayer(const Scope& w, const DecoderConfig& d, const LayerConfig& c)
    : mixer(w, d, c.mixer), parallel(c.parallel), path(w.path()) {
  if (c.mlp) mlp.emplace(w, d, *c.mlp);
}

Tensor DecoderLayer::operator()(const Tensor& x, const Pass& pass, std::span<const std::unique_ptr<BlockState>> states) const {
  const BlockScope scope(path);
  const Tensor normed = parallel ? (*mixer.before)(x) : Tensor();
  Tensor y = parallel ? mixer.onto(x, normed, pass, states[0].get()) : mixer(x, pass, states[0].get());
  if (mlp) y = parallel ? mlp->onto(y, normed, pass, states[1].get()) : (*mlp)(y, pass, states[1].get());
  tap(path, y);
  return y;
}

int64_t DecoderState::bytes() const {
  int64_t sum = 0;
  for (const auto& block : blocks) sum += block ? block->bytes() : 0;
  return sum;
}

int64_t DecoderState::shorten(int64_t most) {
  int64_t to = std::min(most, length);
  if (stretches) to = 0;
  for (int64_t before = -1; before != to;) {  // each block may lower it further
    before = to;
    for (const auto& block : blocks)
      if (block) to = block->reachable(length, to);
  }
  for (const auto& block : blocks)
    if (block && to < length) block->shorten(to);
  return length = to;
}

std::vector<std::vector<Tensor>> DecoderState::save() const {
  std::vector<std::vector<Tensor>> all;
  for (const auto& block : blocks) all.push_back(block ? block->save(length) : std::vector<Tensor>());
  return all;
}

bool DecoderState::load(int64_t length_, int64_t context_, std::span<const std::vector<Tensor>> saved) {
  if (length_ > context) fail<UsageError>("context: {} tokens do not fit, expected at most {}", length_, context);
  if (saved.size() != blocks.size()) fail<WeightError>("state: has {} blocks, expected {}", saved.size(), blocks.size());
  if (stretches || std::ranges::any_of(limits, [&](int64_t limit) { return (context_ > limit) != (context > limit); })) return false;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i]) blocks[i]->load(length_, saved[i]);
    else if (!saved[i].empty()) fail<WeightError>("state: block {} has {} tensors, expected none", i, saved[i].size());
  }
  length = length_;
  return true;
}

int64_t DecoderState::piece(int64_t count) const {
  int64_t most = std::min(count, Block::chunk);
  for (const auto& block : blocks)
    if (const int64_t interval = block ? block->interval() : 0) most = std::min(most, interval - length % interval);
  return most;
}

DecoderTrunk::DecoderTrunk(const Scope& w, const DecoderConfig& c)
    : config(c),
      embed_tokens(w / c.embedding, c.vocabulary, c.width),
      embedding_scale(scale_of_embeddings(c, embed_tokens.table)),
      first_norm(norm_at(w, c.width, c.first_norm)),
      norm(w / c.last_norm, c.width, c.norm) {
  for (const LayerConfig& layer : c.layers) layers.emplace_back(w / c.layer / int64_t(layers.size()), c, layer);
}

DecoderState DecoderTrunk::start(int64_t context, DType cache) const {
  DecoderState state{.context = context, .stretches = std::ranges::any_of(config.rotaries, &RotaryConfig::stretches)};
  for (const RotaryConfig& rotary : config.rotaries)
    if (rotary.kind == RotaryConfig::Kind::longrope) state.limits.push_back(int64_t(rotary.original_positions));
  for (const DecoderLayer& layer : layers) {
    state.blocks.push_back(layer.mixer.block->start(context, cache));
    state.blocks.push_back(layer.mlp ? layer.mlp->block->start(context, cache) : nullptr);
  }
  return state;
}

int64_t DecoderTrunk::state_bytes(int64_t context, DType cache) const {
  int64_t bytes = 0;
  for (const DecoderLayer& layer : layers)
    bytes += layer.mixer.block->state_bytes(context, cache) + (layer.mlp ? layer.mlp->block->state_bytes(context, cache) : 0);
  return bytes;
}

Tensor DecoderTrunk::embed(std::span<const int32_t> ids) const {
  for (const int32_t id : ids)
    if (id < 0 || id >= config.vocabulary) fail<UsageError>("decoder: token id {} is outside the vocabulary of {}", id, config.vocabulary);
  const Tensor x = in_block(config.embedding, [&] { return embed_tokens(ids); });
  const Tensor scaled = embedding_scale == 1 ? x : ops::scaled(x, embedding_scale, 0);
  return first_norm ? in_block(config.first_norm->name, [&] { return (*first_norm)(scaled); }) : scaled;
}

Tensor DecoderTrunk::operator()(const Tensor& embeddings, DecoderState& state, int64_t length, const OnLayer& on_layer) const {
  const int64_t T = embeddings.size(0);
  std::vector<Tensor> tables;
  for (const RotaryConfig& rotary : config.rotaries)
    tables.push_back(rotary.table(embeddings.backend(), state.length, T, {length, state.context}));
  Tensor shared;
  const Pass pass{.first = state.length, .rotary = tables, .embeddings = embeddings, .shared = &shared};
  Tensor x = embeddings;
  for (size_t i = 0; i < layers.size(); ++i) {
    x = layers[i](x, pass, std::span(state.blocks).subspan(2 * i, 2));
    if (on_layer) on_layer(int64_t(i), x);
  }
  state.length += T;
  for (const auto& block : state.blocks)
    if (const int64_t interval = block ? block->interval() : 0; interval && state.length % interval == 0) block->checkpoint(state.length);
  return in_block(config.last_norm, [&] { return norm(x); });
}

DecoderHead::DecoderHead(const Scope& w, const DecoderConfig& c)
    : config(c.head),
      weight((w / (c.head.tied ? c.embedding : c.head_name)).linear("weight", c.vocabulary, c.width)),
      bias(c.head.bias ? (w / c.head_name).tensor("bias", {c.vocabulary}) : Tensor()) {
  if (bias) bias = ops::scaled(bias, scale_of_logits(config), 0);
}

Tensor DecoderHead::operator()(const Tensor& hidden) const {
  const bool capped = config.soft_cap != 0;
  const Tensor y =
      ops::linear(hidden, weight, bias, {.alpha = scale_of_logits(config), .activation = capped ? Activation::tanh : Activation::none});
  return capped ? ops::scaled(y, config.soft_cap, 0) : y;
}

}  // namespace hearth::parts
