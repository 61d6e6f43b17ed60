#include "parts/siglip/config.h"

#include "parts/config_reading.h"

namespace hearth::parts {
namespace {

SiglipVisionConfig read_vision(const Config& c) {
  c.only("model_type", {"siglip_vision_model"});
  refuse_null(c, {"hidden_act", "hidden_size", "image_size", "intermediate_size", "layer_norm_eps", "num_attention_heads", "num_channels",
                  "num_hidden_layers", "patch_size"});
  SiglipVisionConfig v;
  v.channels = positive_integer(c, "num_channels", 3);
  v.image_size = positive_integer(c, "image_size", 224);
  v.patch = positive_integer(c, "patch_size", 16);
  v.width = positive_integer(c, "hidden_size", 768);
  v.layers = positive_integer(c, "num_hidden_layers", 12);
  v.heads = positive_integer(c, "num_attention_heads", 12);
  v.mlp_width = positive_integer(c, "intermediate_size", 3072);
  if (v.width % v.heads)
    fail<WeightError>("{}: 'num_attention_heads' = {} does not divide 'hidden_size' = {}", c.where(), v.heads, v.width);
  if (v.patch > v.image_size)
    fail<WeightError>("{}: 'patch_size' = {}, expected at most 'image_size' = {}", c.where(), v.patch, v.image_size);
  v.activation = transformers_activation(c, "hidden_act", "gelu_pytorch_tanh");
  v.eps = float(c.number("layer_norm_eps", 1e-6));
  // The pooled output is not used. Training, storage and bookkeeping.
  c.no_effect({"vision_use_head", "architectures", "attention_dropout", "initializer_factor", "initializer_range", "torch_dtype", "dtype",
               "transformers_version", "id2label", "label2id", "name_or_path", "is_decoder", "tie_word_embeddings", "use_cache",
               "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id"});
  read_generic_transformers_keys(c);
  c.finish();
  return v;
}

}  // namespace

SiglipVisionConfig SiglipVisionConfig::from(const Config& c) {
  if (!c.has("vision_config")) return read_vision(c);
  c.only("model_type", {"siglip"});
  const SiglipVisionConfig v = read_vision(c.object("vision_config"));
  c.no_effect({"text_config", "architectures", "initializer_factor", "torch_dtype", "dtype", "transformers_version", "name_or_path",
               "id2label", "label2id", "is_decoder", "tie_word_embeddings", "use_cache", "bos_token_id", "eos_token_id", "pad_token_id",
               "sep_token_id"});
  read_generic_transformers_keys(c);
  c.finish();
  return v;
}

ReduxConfig ReduxConfig::from(const Config& c) {
  c.only("_class_name", {"ReduxImageEncoder"});
  refuse_null(c, {"redux_dim", "txt_in_features"});
  const ReduxConfig r{.in = positive_integer(c, "redux_dim", 1152), .out = positive_integer(c, "txt_in_features", 4096)};
  c.finish();
  return r;
}

}  // namespace hearth::parts
