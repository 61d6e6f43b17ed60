#include "parts/clip_vision/files.h"

#include <nlohmann/json.hpp>

namespace hearth::parts {
namespace {

// Published towers with patches of 14 pixels and 16 heads. Tensors show neither the number of heads nor the activation.
struct Published {
  int64_t width, layers, mlp_width, projection;
  const char* activation;
};
constexpr Published published[] = {
    {1024, 24, 4096, 768, "quick_gelu"},  // OpenAI's ViT-L/14
    {1280, 32, 5120, 1024, "gelu"},       // LAION's ViT-H/14
    {1664, 48, 8192, 1280, "gelu"},       // LAION's ViT-bigG/14
};

std::optional<std::string> standard_config(const TensorList& official) {
  const Shape projection = shape_of(official, "visual_projection.weight");
  for (const Published& p : published) {
    const std::string last = fmt::format("vision_model.encoder.layers.{}.mlp.fc1.weight", p.layers - 1),
                      beyond = fmt::format("vision_model.encoder.layers.{}.mlp.fc1.weight", p.layers);
    if (shape_of(official, "vision_model.embeddings.patch_embedding.weight") != Shape{p.width, 3, 14, 14}) continue;
    if (shape_of(official, "vision_model.embeddings.position_embedding.weight") != Shape{257, p.width}) continue;
    if (shape_of(official, last) != Shape{p.mlp_width, p.width} || official.contains(beyond)) continue;
    if (projection.rank() != 0 && projection != Shape{p.projection, p.width}) continue;
    return fmt::format(R"({{"architectures": ["{}"], "hidden_act": "{}", "hidden_size": {}, "image_size": 224, "intermediate_size": {},
                            "num_attention_heads": 16, "num_hidden_layers": {}, "patch_size": 14, "projection_dim": {}}})",
                       projection.rank() ? "CLIPVisionModelWithProjection" : "CLIPVisionModel", p.activation, p.width, p.mlp_width,
                       p.layers, p.projection);
  }
  return std::nullopt;
}

}  // namespace

const NetworkFiles clip_vision_files{
    .classes = {"CLIPVisionModelWithProjection", "CLIPVisionModel"},
    .spellings = {{.name = "transformers",
                   .marks = {"vision_model.embeddings.class_embedding", "vision_model.embeddings.patch_embedding.weight",
                             "vision_model.pre_layrnorm.weight", "vision_model.encoder.layers.0.layer_norm1.weight"}}},
    .ignored = {"vision_model.embeddings.position_ids", "text_model.*", "text_projection.*", "logit_scale"},
    .standard_config = standard_config,
};

}  // namespace hearth::parts
