#include "parts/decoder/decoder.h"

#include <algorithm>
#include <map>

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

Tensor Sublayer::operator()(const Tensor& x, const Pass& pass, States states) const {
  return onto(x, before ? (*before)(x) : x, pass, states);
}

Tensor Sublayer::onto(const Tensor& residual, const Tensor& x, const Pass& pass, States states) const {
  return after ? ops::add(residual, (*after)((*block)(x, {}, pass, states))) : (*block)(x, residual, pass, states);
}

DecoderLayer::DecoderLayer(const Scope& w, const DecoderConfig& d, const LayerConfig& c)
    : mixer(w, d, c.mixer), parallel(c.parallel), path(w.path()) {
  if (c.mlp) mlp.emplace(w, d, *c.mlp);
}

Tensor DecoderLayer::operator()(const Tensor& x, const Pass& pass, States of_mixer, States of_mlp) const {
  const BlockScope scope(path);
  const Tensor normed = parallel ? (*mixer.before)(x) : Tensor();
  Tensor y = parallel ? mixer.onto(x, normed, pass, of_mixer) : mixer(x, pass, of_mixer);
  if (mlp) y = parallel ? mlp->onto(y, normed, pass, of_mlp) : (*mlp)(y, pass, of_mlp);
  tap(path, y);
  return y;
}

DecoderInput::DecoderInput(const Scope& w, const DecoderConfig& c)
    : embed_tokens(w / c.embedding, c.vocabulary, c.width),
      scale(scale_of_embeddings(c, embed_tokens.table)),
      norm(norm_at(w, c.width, c.first_norm)),
      name(c.embedding),
      norm_name(c.first_norm ? c.first_norm->name : ""),
      vocabulary(c.vocabulary) {}

Tensor DecoderInput::operator()(std::span<const int32_t> ids) const {
  for (const int32_t id : ids)
    if (id < 0 || id >= vocabulary) fail<UsageError>("decoder: token id {} is outside the vocabulary of {}", id, vocabulary);
  const Tensor x = in_block(name, [&] { return embed_tokens(ids); });
  const Tensor scaled = scale == 1 ? x : ops::scaled(x, scale, 0);
  return norm ? in_block(norm_name, [&] { return (*norm)(scaled); }) : scaled;
}

DecoderTrunk::DecoderTrunk(const Scope& w, const DecoderConfig& c) : config(c), input(w, c), norm(w / c.last_norm, c.width, c.norm) {
  for (const LayerConfig& layer : c.layers) layers.emplace_back(w / c.layer / int64_t(layers.size()), c, layer);
}

std::vector<const Block*> DecoderTrunk::blocks() const {
  std::vector<const Block*> all;
  for (const DecoderLayer& layer : layers) {
    all.push_back(layer.mixer.block.get());
    all.push_back(layer.mlp ? layer.mlp->block.get() : nullptr);
  }
  return all;
}

std::vector<DecoderTrunk::Group> DecoderTrunk::groups(DType cache) const {
  std::map<int64_t, int64_t> bytes_by_window;
  for (const Block* block : blocks())
    if (const auto layout = block ? block->stored() : std::nullopt) bytes_by_window[layout->window] += int64_t(layout->bytes(cache));
  std::vector<Group> all;
  for (const auto& [window, bytes] : bytes_by_window) all.push_back({window, bytes});
  return all;
}

std::shared_ptr<DecoderPool> DecoderTrunk::make_pool(DType cache, std::span<const int64_t> pages) const {
  auto pool = std::make_shared<DecoderPool>();
  for (const auto& [window, bytes] : groups(cache)) {
    const int64_t count = pages[pool->groups.size()];
    pool->groups.push_back({window, bytes * DecoderPool::page, std::make_shared<nn::PagePool>(count)});
  }
  Backend& backend = input.embed_tokens.table.backend();
  for (const Block* block : blocks()) {
    const auto layout = block ? block->stored() : std::nullopt;
    const auto group = layout ? std::ranges::find(pool->groups, layout->window, &DecoderPool::Group::window) : pool->groups.end();
    pool->group_of.push_back(size_t(group - pool->groups.begin()));
    pool->layers.push_back(layout ? std::make_shared<nn::KvPages>(backend, group->pages->count(), DecoderPool::page, *layout, cache)
                                  : nullptr);
  }
  return pool;
}

namespace {

// Pages of a text alone: what a pass attends to and adds, or the whole text.
int64_t pages_alone(int64_t window, int64_t context) {
  const int64_t all = (context + DecoderPool::page - 1) / DecoderPool::page;
  return window ? std::min(all, DecoderPool::pages_for(window - 1 + Block::chunk)) : all;
}

}  // namespace

DecoderState DecoderTrunk::start(int64_t context, DType cache) const {
  std::vector<int64_t> pages;
  for (const Group& group : groups(cache)) pages.push_back(pages_alone(group.window, context));
  return start(make_pool(cache, pages), context, true);
}

DecoderState DecoderTrunk::start(std::shared_ptr<DecoderPool> pool, int64_t context) const {
  return start(std::move(pool), context, false);
}

DecoderState DecoderTrunk::start(std::shared_ptr<DecoderPool> pool, int64_t context, bool alone) const {
  DecoderState state{.blocks = {},
                     .pool = std::move(pool),
                     .alone = alone,
                     .context = context,
                     .stretches = std::ranges::any_of(config.rotaries, &RotaryConfig::stretches)};
  for (const RotaryConfig& rotary : config.rotaries)
    if (rotary.kind == RotaryConfig::Kind::longrope) state.limits.push_back(int64_t(rotary.original_positions));
  for (const DecoderPool::Group& group : state.pool->groups)
    state.tables.push_back(std::make_shared<nn::PageTable>(group.pages, DecoderPool::page));
  for (size_t i = 0; const Block* block : blocks()) {
    std::unique_ptr<PagedState> keys;
    if (const auto& layer = state.pool->layers[i]) keys = std::make_unique<PagedState>(layer, state.tables[state.pool->group_of[i]]);
    state.blocks.push_back(block ? block->start(std::move(keys), alone ? context : 0) : nullptr);
    ++i;
  }
  return state;
}

int64_t DecoderTrunk::state_bytes(int64_t context, DType cache) const {
  int64_t bytes = 0;
  for (const Group& group : groups(cache)) bytes += pages_alone(group.window, context) * DecoderPool::page * group.bytes;
  for (const Block* block : blocks()) bytes += block ? block->state_bytes(context) : 0;
  return bytes;
}

int64_t DecoderTrunk::recurrent_bytes() const {
  int64_t bytes = 0;
  for (const Block* block : blocks()) bytes += block ? block->state_bytes(0) : 0;
  return bytes;
}

Tensor DecoderTrunk::rotary_table(const RotaryConfig& rotary, std::span<const TextPart> texts) const {
  std::vector<Tensor> tables;
  for (const TextPart& text : texts)
    tables.push_back(rotary.table(input.embed_tokens.table.backend(), text.state->length, text.count, {text.length, text.state->context}));
  return tables.size() == 1 ? tables[0] : ops::concat(tables, 0);
}

Tensor DecoderTrunk::operator()(const Tensor& embeddings, std::span<const TextPart> texts, const OnLayer& on_layer) const {
  std::vector<Slice> slices;
  for (int64_t begin = 0; const TextPart& text : texts) {
    if (!text.state->reserve(text.state->length + text.count))
      fail<Error>("KV cache: no free pages for {} tokens of a text of {}", text.count, text.state->length);
    slices.push_back({begin, text.count, text.state->length});
    begin += text.count;
  }
  std::vector<Tensor> tables;
  for (const RotaryConfig& rotary : config.rotaries) tables.push_back(rotary_table(rotary, texts));
  Tensor shared;
  const Pass pass{.texts = slices, .rotary = tables, .embeddings = embeddings, .shared = &shared};
  std::vector<BlockState*> of_mixer(texts.size()), of_mlp(texts.size());
  Tensor x = embeddings;
  for (size_t i = 0; i < layers.size(); ++i) {
    for (size_t t = 0; t < texts.size(); ++t) {
      of_mixer[t] = texts[t].state->blocks[2 * i].get();
      of_mlp[t] = texts[t].state->blocks[2 * i + 1].get();
    }
    x = layers[i](x, pass, of_mixer, of_mlp);
    if (on_layer) on_layer(int64_t(i), x);
  }
  for (const TextPart& text : texts) {
    const int64_t length = text.state->length += text.count;
    for (const auto& block : text.state->blocks)
      if (const int64_t interval = block ? block->interval() : 0; interval && length % interval == 0) block->checkpoint(length);
  }
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
