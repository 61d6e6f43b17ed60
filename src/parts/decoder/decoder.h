// A decoder-only language model: a table of embeddings, layers of blocks around a residual stream, an output matrix. What the blocks are
// and where their norms are is data (config.h). Reference: transformers 4.57.1.
//
//   trunk   ids [T] → x [T, C] → layer by layer x ← x + mixer(norm(x)), x ← x + mlp(norm(x)) → norm
//   head    x [T, C] → logits [T, V]
#pragma once

#include <functional>
#include <span>

#include "parts/decoder/config.h"
#include "parts/decoder/state.h"

namespace hearth::parts {

// A block between its norms.   x [T, C] → x + after(block(before(x)))
struct Sublayer {
  Sublayer(const Scope& layer, const DecoderConfig& decoder, const SublayerConfig& config);

  Tensor operator()(const Tensor& x, const Pass& pass, States states) const;
  // The block alone, without its norm in front:  residual + after(block(x))
  Tensor onto(const Tensor& residual, const Tensor& x, const Pass& pass, States states) const;

  std::optional<Norm> before, after;
  std::unique_ptr<Block> block;
};

struct DecoderLayer {
  DecoderLayer(const Scope& w, const DecoderConfig& decoder, const LayerConfig& config);
  Tensor operator()(const Tensor& x, const Pass& pass, States of_mixer, States of_mlp) const;

  Sublayer mixer;
  std::optional<Sublayer> mlp;
  bool parallel;
  std::string path;
};

// From token ids to what the first layer receives.   ids → [T, C]
struct DecoderInput {
  DecoderInput(const Scope& w, const DecoderConfig& config);
  // UsageError for an id outside the vocabulary.
  Tensor operator()(std::span<const int32_t> ids) const;

  nn::Embedding embed_tokens;
  float scale;
  std::optional<Norm> norm;
  std::string name, norm_name;
  int64_t vocabulary;
};

// The next tokens of a text, in a pass with those of others.
struct TextPart {
  DecoderState* state;
  int64_t count = 0;   // rows of the embeddings
  int64_t length = 0;  // of the text once all tokens being fed are in (it matters for rotary positions that scale with it)
};

struct DecoderTrunk {
  DecoderTrunk(const Scope& w, const DecoderConfig& config);

  // Windows of the layers with keys and values, each once, and the bytes of a position in those layers.
  struct Group {
    int64_t window, bytes;
  };
  std::vector<Group> groups(DType cache) const;
  // Room for texts that share pages: pages of each group. cache: dtype of keys and values.
  std::shared_ptr<DecoderPool> make_pool(DType cache, std::span<const int64_t> pages) const;
  // A text of at most `context` positions, alone or among others. One that shares pages has no checkpoints of recurrences.
  DecoderState start(int64_t context, DType cache) const;
  DecoderState start(std::shared_ptr<DecoderPool> pool, int64_t context) const;
  int64_t state_bytes(int64_t context, DType cache) const;  // of a text alone
  int64_t recurrent_bytes() const;                          // of a text that shares pages, besides these

  // ids → [T, C]. UsageError for an id outside the vocabulary.
  Tensor embed(std::span<const int32_t> ids) const { return input(ids); }
  // Embeddings of the next tokens of some texts [T, C], T ≤ Block::chunk, one after the other → hidden states after the last norm [T, C].
  // on_layer(i, y) receives the output of each layer, before the last norm. Error if a pool has too few pages.
  using OnLayer = std::function<void(int64_t layer, const Tensor& y)>;
  Tensor operator()(const Tensor& embeddings, std::span<const TextPart> texts, const OnLayer& on_layer = {}) const;
  Tensor operator()(const Tensor& embeddings, DecoderState& state, int64_t length, const OnLayer& on_layer = {}) const {
    const TextPart text{&state, embeddings.size(0), length};
    return (*this)(embeddings, std::span(&text, 1), on_layer);
  }

  DecoderConfig config;
  DecoderInput input;
  std::vector<DecoderLayer> layers;
  Norm norm;

 private:
  std::vector<const Block*> blocks() const;  // as DecoderState::blocks
  DecoderState start(std::shared_ptr<DecoderPool> pool, int64_t context, bool alone) const;
  Tensor rotary_table(const RotaryConfig& rotary, std::span<const TextPart> texts) const;  // [T, 2, R/2]
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
