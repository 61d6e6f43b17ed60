#include "parts/siglip/config.h"

#include "parts/config_reading.h"

namespace hearth::parts {
namespace {

SiglipVisionConfig read_vision(const Config& c) {
  c.only("model_type", {"siglip_vision_model"});
  SiglipVisionConfig v;
  read_vision_tower(c, v, "gelu_pytorch_tanh");
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
