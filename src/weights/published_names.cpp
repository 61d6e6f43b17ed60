#include "weights/published_names.h"

#include <array>

namespace hearth {
namespace {

constexpr std::array<Alias, 4> autoencoder_kl{{
    {"*.mid_block.attentions.#.query.*", "*.mid_block.attentions.#.to_q.*"},
    {"*.mid_block.attentions.#.key.*", "*.mid_block.attentions.#.to_k.*"},
    {"*.mid_block.attentions.#.value.*", "*.mid_block.attentions.#.to_v.*"},
    {"*.mid_block.attentions.#.proj_attn.*", "*.mid_block.attentions.#.to_out.0.*"},
}};

constexpr std::array<Alias, 3> clip_text{{
    {"embeddings.**", "text_model.embeddings.**"},
    {"encoder.**", "text_model.encoder.**"},
    {"final_layer_norm.*", "text_model.final_layer_norm.*"},
}};

bool is_clip_text(std::string_view class_name) { return class_name == "CLIPTextModel" || class_name == "CLIPTextModelWithProjection"; }

}  // namespace

std::span<const Alias> published_aliases(std::string_view class_name) {
  if (class_name == "AutoencoderKL") return autoencoder_kl;
  if (is_clip_text(class_name)) return clip_text;
  return {};
}

std::vector<std::string> ignored_tensors(std::string_view class_name) {
  if (is_clip_text(class_name)) return {"text_model.embeddings.position_ids"};
  return {};
}

}  // namespace hearth
