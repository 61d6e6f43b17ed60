#include "parts/decoder/decoder.h"

#include <algorithm>

#include "core/observe.h"

namespace hearth::parts {
namespace {

std::unique_ptr<Block> build(const Scope& w, const DecoderConfig& d, const BlockConfig& config) {
  struct Builder {
    std::unique_ptr<Block> operator()(const AttentionConfig& c) const { return std::make_unique<Attention>(w, d.width, d.rotaries, c); }
    std::unique_ptr<Block> operator()(const MlpConfig& c) const { return std::make_unique<Mlp>(w, d.width, c); }
    std::unique_ptr<Block> operator()(const std::shared_ptr<const OwnBlock>& c) const { return c->build(w, d.width, d.rotaries); }
    const Scope& w;
    const DecoderConfig& d;
  };
  return std::visit(Builder{w, d}, config);
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

int64_t DecoderState::piece(int64_t count) const {
  int64_t most = std::min(count, Block::chunk);
  for (const auto& block : blocks)
    if (const int64_t interval = block ? block->interval() : 0) most = std::min(most, interval - length % interval);
  return most;
}

DecoderTrunk::DecoderTrunk(const Scope& w, const DecoderConfig& c)
    : config(c), embed_tokens(w / c.embedding, c.vocabulary, c.width), norm(w / c.last_norm, c.width, c.norm) {
  for (const LayerConfig& layer : c.layers) layers.emplace_back(w / c.layer / int64_t(layers.size()), c, layer);
}

DecoderState DecoderTrunk::start(int64_t context, DType cache) const {
  DecoderState state{.context = context, .stretches = std::ranges::any_of(config.rotaries, &RotaryConfig::stretches)};
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
  return in_block(config.embedding, [&] { return embed_tokens(ids); });
}

Tensor DecoderTrunk::operator()(const Tensor& embeddings, DecoderState& state, int64_t length, const OnLayer& on_layer) const {
  const int64_t T = embeddings.size(0);
  std::vector<Tensor> tables;
  for (const RotaryConfig& rotary : config.rotaries) tables.push_back(rotary.table(embeddings.backend(), state.length, T, length));
  const Pass pass{.first = state.length, .rotary = tables, .embeddings = embeddings};
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
    : weight((w / (c.tied ? c.embedding : c.head)).linear("weight", c.vocabulary, c.width)) {}

}  // namespace hearth::parts
