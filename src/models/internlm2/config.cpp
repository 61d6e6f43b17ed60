#include "models/internlm2/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::internlm2 {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"internlm2"});
  const DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 103168, .width = 4096, .mlp_width = 11008, .layers = 32, .heads = 32});

  AttentionConfig attention = keys.attention();
  attention.qkv_bias = attention.o_bias = c.boolean("bias", true);
  attention.names = {.q = "wq", .k = "wk", .v = "wv", .o = "wo"};
  MlpConfig mlp = keys.mlp();
  mlp.names = {.gate = "w1", .up = "w3", .down = "w2"};
  LayerConfig layer = pre_norm(keys.rms_norm(), attention, mlp);
  layer.mixer.name = "attention", layer.mixer.before->name = "attention_norm";
  layer.mlp->name = "feed_forward", layer.mlp->before->name = "ffn_norm";

  DecoderConfig d = keys.decoder();
  d.embedding = "model.tok_embeddings", d.head_name = "output";
  d.layers.assign(size_t(keys.layers), layer);
  require_layers_alike(c, 0);
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::internlm2
