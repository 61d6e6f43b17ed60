// What a Decoder is built of, as data. A family's read_config() makes it from config.json: layer by layer, the blocks and their norms.
#pragma once

#include <variant>

#include "parts/decoder/attention.h"
#include "parts/decoder/channel_mix.h"
#include "parts/decoder/experts.h"
#include "parts/decoder/latent_attention.h"
#include "parts/decoder/mlp.h"
#include "parts/decoder/selective_mixer.h"
#include "parts/decoder/state_space_mixer.h"

namespace hearth::parts {

// A block that only one family has: it derives from this in its own folder.
struct OwnBlock {
  virtual ~OwnBlock() = default;
  virtual std::unique_ptr<Block> build(const Scope& w, int64_t width, const std::vector<RotaryConfig>& rotaries) const = 0;
};

using BlockConfig = std::variant<AttentionConfig, LatentAttentionConfig, SelectiveMixerConfig, StateSpaceMixerConfig, ChannelMixConfig,
                                 MlpConfig, ExpertsConfig, std::shared_ptr<const OwnBlock>>;

// The names are those of the checkpoint, below the layer.
struct LayerNormConfig {
  std::string name;
  NormConfig norm;

  bool operator==(const LayerNormConfig&) const = default;
};

// x + after(block(before(x))), where a norm may be missing.
struct SublayerConfig {
  std::string name;
  BlockConfig block;
  std::optional<LayerNormConfig> before = {}, after = {};

  bool operator==(const SublayerConfig&) const = default;
};

struct LayerConfig {
  SublayerConfig mixer;                    // what sees other positions
  std::optional<SublayerConfig> mlp = {};  // receives the sum that the mixer leaves
  bool parallel = false;                   // receives what the mixer receives: x + mixer(before(x)) + mlp(before(x)), one norm for both

  bool operator==(const LayerConfig&) const = default;
};

struct HeadConfig {
  bool tied = false;  // the output matrix is the embedding table
  bool bias = false;
  float scale = 1;     // of the logits
  float soft_cap = 0;  // logits become soft_cap · tanh(logits / soft_cap); 0: none

  bool operator==(const HeadConfig&) const = default;
};

struct DecoderConfig {
  int64_t vocabulary = 32000, width = 4096;
  int64_t positions = 2048;                 // that the model was trained for
  std::vector<RotaryConfig> rotaries = {};  // tables of angles; attention refers to one by its index
  std::vector<LayerConfig> layers = {};
  std::optional<LayerNormConfig> first_norm = {};  // of the embeddings; a name in the checkpoint
  NormConfig norm = {};                            // after the last layer
  HeadConfig head = {};
  double embedding_scale = 1;           // of the embeddings
  bool rounds_embedding_scale = false;  // to the dtype of the table, if that is a 16-bit float: a multiplication in the model's dtype
  std::string embedding = "model.embed_tokens", layer = "model.layers", last_norm = "model.norm",
              head_name = "lm_head";  // in the checkpoint

  bool operator==(const DecoderConfig&) const = default;
};

}  // namespace hearth::parts
