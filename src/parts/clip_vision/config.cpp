#include "parts/clip_vision/config.h"

#include "parts/config_reading.h"

namespace hearth::parts {
namespace {

// Training, storage and bookkeeping.
void read_bookkeeping(const Config& c) {
  c.no_effect({"architectures", "attention_dropout", "dropout", "initializer_factor", "initializer_range", "torch_dtype", "dtype",
               "id2label", "label2id", "name_or_path", "transformers_version", "is_decoder", "bos_token_id", "eos_token_id", "pad_token_id",
               "sep_token_id", "use_cache", "tie_word_embeddings"});
  read_generic_transformers_keys(c);
}

bool has_projection(const Config& c) {
  const std::vector<std::string> architectures = c.texts("architectures", {{"CLIPVisionModelWithProjection"}});
  const std::string name = architectures.empty() ? "CLIPVisionModelWithProjection" : architectures[0];
  if (name == "CLIPVisionModelWithProjection" || name == "CLIPModel") return true;
  if (name == "CLIPVisionModel") return false;
  fail<UnsupportedError>("{}: image encoder class \"{}\" is not supported, expected CLIPVisionModelWithProjection or CLIPVisionModel",
                         c.where(), name);
}

ClipVisionConfig read_tower(const Config& c) {
  c.only("model_type", {"clip_vision_model"});
  refuse_null(c, {"hidden_act", "hidden_size", "image_size", "intermediate_size", "layer_norm_eps", "num_attention_heads", "num_channels",
                  "num_hidden_layers", "patch_size", "projection_dim"});
  ClipVisionConfig v;
  v.channels = positive_integer(c, "num_channels", 3);
  v.image_size = positive_integer(c, "image_size", 224);
  v.patch = positive_integer(c, "patch_size", 32);
  v.width = positive_integer(c, "hidden_size", 768);
  v.layers = positive_integer(c, "num_hidden_layers", 12);
  v.heads = positive_integer(c, "num_attention_heads", 12);
  v.mlp_width = positive_integer(c, "intermediate_size", 3072);
  if (v.width % v.heads)
    fail<WeightError>("{}: 'num_attention_heads' = {} does not divide 'hidden_size' = {}", c.where(), v.heads, v.width);
  if (v.patch > v.image_size)
    fail<WeightError>("{}: 'patch_size' = {}, expected at most 'image_size' = {}", c.where(), v.patch, v.image_size);
  v.activation = transformers_activation(c, "hidden_act", "quick_gelu");
  v.eps = float(c.number("layer_norm_eps", 1e-5));
  v.projection = positive_integer(c, "projection_dim", 512);
  return v;
}

}  // namespace

ClipVisionConfig ClipVisionConfig::from(const Config& c) {
  if (!c.has("vision_config")) {
    ClipVisionConfig v = read_tower(c);
    if (!has_projection(c)) v.projection = 0;
    read_bookkeeping(c);
    c.finish();
    return v;
  }
  c.only("model_type", {"clip"});
  const Config tower = c.object("vision_config");
  ClipVisionConfig v = read_tower(tower);
  read_bookkeeping(tower);
  tower.finish();
  v.projection = has_projection(c) ? positive_integer(c, "projection_dim", 512) : 0;
  c.no_effect({"text_config", "text_config_dict", "vision_config_dict", "logit_scale_init_value"});
  read_bookkeeping(c);
  c.finish();
  return v;
}

}  // namespace hearth::parts
