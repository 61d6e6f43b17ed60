// A decoder-only language model: a table of embeddings, layers of blocks around a residual stream, an output matrix. What the blocks are
// and where their norms are is data (config.h). Reference: transformers 4.57.1.
//
//   trunk   ids [T] → x [T, C] → layer by layer x ← x + mixer(norm(x)), x ← x + mlp(norm(x)) → norm
//   head    x [T, C] → logits [T, V]
#pragma once

#include <functional>
#include <span>

#include "parts/decoder/config.h"

namespace hearth::parts {

// A block between its norms.   x [T, C] → x + after(block(before(x)))
struct Sublayer {
  Sublayer(const Scope& layer, const DecoderConfig& decoder, const SublayerConfig& config);

  Tensor operator()(const Tensor& x, const Pass& pass, BlockState* state) const;
  // The block alone, without its norm in front:  residual + after(block(x))
  Tensor onto(const Tensor& residual, const Tensor& x, const Pass& pass, BlockState* state) const;

  std::optional<Norm> before, after;
  std::unique_ptr<Block> block;
};

struct DecoderLayer {
  DecoderLayer(const Scope& w, const DecoderConfig& decoder, const LayerConfig& config);
  // states: the mixer's and the MLP's
  Tensor operator()(const Tensor& x, const Pass& pass, std::span<const std::unique_ptr<BlockState>> states) const;

  Sublayer mixer;
  std::optional<Sublayer> mlp;
  bool parallel;
  std::string path;
};

// What is stored of one text; the network itself has no state.
struct DecoderState {
  std::vector<std::unique_ptr<BlockState>> blocks;  // two for each layer, its mixer's and its MLP's; nullptr for a block without state
  int64_t length = 0, context = 0;                  // tokens stored, and room
  bool stretches = false;                           // stored keys were rotated by angles that depend on the length at that time
  std::vector<int64_t> limits = {};                 // contexts up to which and beyond which positions are rotated otherwise

  int64_t bytes() const;
  // Discards tokens from the end until at most `most` remain, and further to the next length that all blocks can continue from. Returns
  // the new length.
  int64_t shorten(int64_t most);
  // What is stored, block by block (BlockState::save), and back into a state that was just started. Returns false if a text of another
  // context cannot continue here, because positions would be rotated otherwise; `context`: of the state that was saved. UsageError for more
  // tokens than there is room for, WeightError for other blocks.
  std::vector<std::vector<Tensor>> save() const;
  bool load(int64_t length, int64_t context, std::span<const std::vector<Tensor>> saved);
  // How many of the next `count` tokens to compute in one pass: at most Block::chunk, up to the next checkpoint.
  int64_t piece(int64_t count) const;
};

struct DecoderTrunk {
  DecoderTrunk(const Scope& w, const DecoderConfig& config);

  // Room for a text of `context` positions.
  DecoderState start(int64_t context, DType cache) const;
  int64_t state_bytes(int64_t context, DType cache) const;

  // ids → [T, C]. UsageError for an id outside the vocabulary.
  Tensor embed(std::span<const int32_t> ids) const;
  // Embeddings of the next tokens of the text [T, C], T ≤ Block::chunk → hidden states after the last norm [T, C]. `length`: length of the
  // text once all tokens being fed are in (it matters for rotary positions that scale with it). on_layer(i, y) receives the output of each
  // layer, before the last norm.
  using OnLayer = std::function<void(int64_t layer, const Tensor& y)>;
  Tensor operator()(const Tensor& embeddings, DecoderState& state, int64_t length, const OnLayer& on_layer = {}) const;

  DecoderConfig config;
  nn::Embedding embed_tokens;
  float embedding_scale;
  std::optional<Norm> first_norm;
  std::vector<DecoderLayer> layers;
  Norm norm;
};

struct DecoderHead {
  DecoderHead(const Scope& w, const DecoderConfig& config);
  // hidden [T, C] → logits [T, V]
  Tensor operator()(const Tensor& hidden) const;

  HeadConfig config;
  Weight weight;  // [V, C]; the embedding table if they are tied
  Tensor bias;    // [V], scaled; undefined without bias
};

struct Decoder {
  Decoder(const Scope& w, const DecoderConfig& config) : trunk(w, config), head(w, config) {}

  // The next tokens of the text, at most Block::chunk → their hidden states [T, C].
  Tensor hidden(std::span<const int32_t> ids, DecoderState& state, int64_t length) const { return trunk(trunk.embed(ids), state, length); }

  DecoderTrunk trunk;
  DecoderHead head;
};

}  // namespace hearth::parts
