#include "models/llama/config.h"

#include "parts/decoder/reading.h"

namespace hearth::models::llama {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"llama"});
  const DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 32000, .width = 4096, .mlp_width = 11008, .layers = 32, .heads = 32});

  AttentionConfig attention = keys.attention();
  attention.qkv_bias = attention.o_bias = c.boolean("attention_bias", false);
  MlpConfig mlp = keys.mlp();
  mlp.bias = c.boolean("mlp_bias", false);

  DecoderConfig d = keys.decoder();
  d.layers.assign(size_t(keys.layers), pre_norm(keys.rms_norm(), attention, mlp));

  require_layers_alike(c, 0);
  // The reference's network has no window, but its cache takes one from this key, unless layer_types declares all layers full attention.
  const int64_t window = c.integer("sliding_window", 0);
  if (window > 0 && window < keys.positions && !c.has("layer_types"))
    fail<UnsupportedError>("{}: 'sliding_window' = {} is not supported for llama, expected at least 'max_position_embeddings' = {}",
                           c.where(), window, keys.positions);
  c.no_effect({"sliding_window"});
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::llama
