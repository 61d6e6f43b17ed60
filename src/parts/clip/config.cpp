#include "parts/clip/config.h"

#include "parts/config_reading.h"

namespace hearth::parts {
namespace {

bool has_projection(const Config& c, std::string name) {
  const std::vector<std::string> architectures = c.texts("architectures", {{"CLIPTextModel"}});
  if (name.empty() && !architectures.empty()) name = architectures[0];
  if (name == "CLIPTextModelWithProjection") return true;
  if (name == "CLIPTextModel" || name.empty()) return false;
  fail<UnsupportedError>("{}: text encoder class \"{}\" is not supported, expected CLIPTextModel or CLIPTextModelWithProjection", c.where(),
                         name);
}

}  // namespace

ClipTextConfig ClipTextConfig::from(const Config& c, const std::string& class_name) {
  c.only("model_type", {"clip_text_model"});
  refuse_null(c, {"eos_token_id", "hidden_act", "hidden_size", "intermediate_size", "layer_norm_eps", "max_position_embeddings",
                  "num_attention_heads", "num_hidden_layers", "projection_dim", "vocab_size"});
  ClipTextConfig t;
  t.vocabulary = positive_integer(c, "vocab_size", 49408);
  t.positions = positive_integer(c, "max_position_embeddings", 77);
  t.width = positive_integer(c, "hidden_size", 512);
  t.layers = positive_integer(c, "num_hidden_layers", 12);
  t.heads = positive_integer(c, "num_attention_heads", 8);
  t.mlp_width = positive_integer(c, "intermediate_size", 2048);
  if (t.width % t.heads)
    fail<WeightError>("{}: 'num_attention_heads' = {} does not divide 'hidden_size' = {}", c.where(), t.heads, t.width);
  t.activation = transformers_activation(c, "hidden_act", "quick_gelu");
  t.eps = float(c.number("layer_norm_eps", 1e-5));
  t.end_token = c.integer("eos_token_id", 49407);
  const int64_t projection = positive_integer(c, "projection_dim", 512);
  t.projection = has_projection(c, class_name) ? projection : 0;

  // Training, storage and bookkeeping; the tokenizer handles token ids.
  c.no_effect({"attention_dropout", "dropout", "initializer_factor", "initializer_range", "bos_token_id", "pad_token_id", "sep_token_id",
               "torch_dtype", "dtype", "transformers_version", "id2label", "label2id", "name_or_path"});
  c.only("is_decoder", false);
  c.no_effect({"tie_word_embeddings", "use_cache"});
  read_generic_transformers_keys(c);
  c.finish();
  return t;
}

}  // namespace hearth::parts
