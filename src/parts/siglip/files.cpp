#include "parts/siglip/files.h"

#include <array>
#include <nlohmann/json.hpp>

namespace hearth::parts {
namespace {

constexpr std::array<NameRule, 4> siglip_bare{{
    {"embeddings.**", "vision_model.embeddings.**"},
    {"encoder.**", "vision_model.encoder.**"},
    {"post_layernorm.*", "vision_model.post_layernorm.*"},
    {"head.**", "vision_model.head.**"},
}};

// Sizes that a file's tensors show do not include the number of heads, so that only published towers are known.
std::optional<std::string> siglip_config(const TensorList& official) {
  const bool so400m = shape_of(official, "vision_model.embeddings.patch_embedding.weight") == Shape{1152, 3, 14, 14} &&
                      shape_of(official, "vision_model.embeddings.position_embedding.weight") == Shape{729, 1152};
  if (!so400m) return std::nullopt;
  return R"({"hidden_act": "gelu_pytorch_tanh", "hidden_size": 1152, "image_size": 384, "intermediate_size": 4304, "layer_norm_eps": 1e-6,
             "model_type": "siglip_vision_model", "num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14})";
}

std::optional<std::string> redux_config(const TensorList& official) {
  const Shape up = shape_of(official, "redux_up.weight"), down = shape_of(official, "redux_down.weight");
  if (up.rank() != 2 || down.rank() != 2) return std::nullopt;
  return fmt::format(R"({{"redux_dim": {}, "txt_in_features": {}}})", up[1], down[0]);
}

}  // namespace

const NetworkFiles siglip_vision_files{
    .classes = {"SiglipVisionModel"},
    .spellings = {{.name = "transformers",
                   .marks = {"vision_model.embeddings.patch_embedding.bias", "vision_model.embeddings.position_embedding.weight",
                             "vision_model.encoder.layers.0.layer_norm1.weight", "vision_model.post_layernorm.weight"}},
                  {.name = "bare",
                   .marks = {"embeddings.patch_embedding.bias", "embeddings.position_embedding.weight",
                             "encoder.layers.0.layer_norm1.weight", "post_layernorm.weight"},
                   .reading =
                       [](const TensorList&, const nlohmann::json&) {
                         return NameMap{{"", "", siglip_bare}};
                       }}},
    .ignored = {"vision_model.head.*", "vision_model.embeddings.position_ids", "text_model.*", "logit_scale", "logit_bias", "redux_*"},
    .standard_config = siglip_config,
};

const NetworkFiles redux_files{
    .classes = {"ReduxImageEncoder"},
    .spellings = {{.name = "original", .marks = {"redux_up.weight", "redux_down.weight"}}},
    .ignored = {"vision_model.*", "text_model.*", "logit_scale", "logit_bias"},
    .standard_config = redux_config,
};

}  // namespace hearth::parts
