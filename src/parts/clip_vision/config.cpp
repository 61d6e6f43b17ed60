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
  refuse_null(c, {"projection_dim"});
  ClipVisionConfig v;
  read_vision_tower(c, v, "quick_gelu");
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
