#include "parts/clip/files.h"

#include <array>
#include <nlohmann/json.hpp>

namespace hearth::parts {
namespace {

constexpr std::array<NameRule, 15> open_clip{{
    {"token_embedding.weight", "text_model.embeddings.token_embedding.weight"},
    {"positional_embedding", "text_model.embeddings.position_embedding.weight"},
    {"ln_final.*", "text_model.final_layer_norm.*"},
    {"text_projection", "text_projection.weight", form::transposed},  // x·P there, P·x here
    {"transformer.resblocks.#.ln_1.*", "text_model.encoder.layers.#.layer_norm1.*"},
    {"transformer.resblocks.#.ln_2.*", "text_model.encoder.layers.#.layer_norm2.*"},
    {"transformer.resblocks.#.attn.in_proj_weight", "text_model.encoder.layers.#.self_attn.q_proj.weight", form::rows(0, 1, 3)},
    {"transformer.resblocks.#.attn.in_proj_weight", "text_model.encoder.layers.#.self_attn.k_proj.weight", form::rows(1, 2, 3)},
    {"transformer.resblocks.#.attn.in_proj_weight", "text_model.encoder.layers.#.self_attn.v_proj.weight", form::rows(2, 3, 3)},
    {"transformer.resblocks.#.attn.in_proj_bias", "text_model.encoder.layers.#.self_attn.q_proj.bias", form::rows(0, 1, 3)},
    {"transformer.resblocks.#.attn.in_proj_bias", "text_model.encoder.layers.#.self_attn.k_proj.bias", form::rows(1, 2, 3)},
    {"transformer.resblocks.#.attn.in_proj_bias", "text_model.encoder.layers.#.self_attn.v_proj.bias", form::rows(2, 3, 3)},
    {"transformer.resblocks.#.attn.out_proj.*", "text_model.encoder.layers.#.self_attn.out_proj.*"},
    {"transformer.resblocks.#.mlp.c_fc.*", "text_model.encoder.layers.#.mlp.fc1.*"},
    {"transformer.resblocks.#.mlp.c_proj.*", "text_model.encoder.layers.#.mlp.fc2.*"},
}};

constexpr std::array<NameRule, 5> clip{{
    {"text_model.**", "text_model.**"},
    {"embeddings.**", "text_model.embeddings.**"},
    {"encoder.**", "text_model.encoder.**"},
    {"final_layer_norm.*", "text_model.final_layer_norm.*"},
    {"text_projection.weight", "text_projection.weight"},
}};

constexpr std::array<Alias, 3> aliases{{
    {"embeddings.**", "text_model.embeddings.**"},
    {"encoder.**", "text_model.encoder.**"},
    {"final_layer_norm.*", "text_model.final_layer_norm.*"},
}};

// The projection of an encoder without one, and logit_scale: tensors that are ignored.
std::vector<std::string> surplus(std::string_view class_name, const Config&) {
  std::vector<std::string> names{"*logit_scale", "*text_model.embeddings.position_ids"};
  if (class_name != "CLIPTextModelWithProjection") names.push_back("text_projection.weight");
  return names;
}

// Also the layer after the last one used: Stable Diffusion 2 uses the next-to-last layer, and diffusers drops the last.
std::vector<std::string> surplus_of_open_clip(std::string_view class_name, const Config& config) {
  std::vector<std::string> names = surplus(class_name, config);
  if (class_name != "CLIPTextModelWithProjection")
    names.push_back(fmt::format("text_model.encoder.layers.{}.*", config.integer("num_hidden_layers", 12)));
  return names;
}

}  // namespace

const NameMap& open_clip_names() {
  static const NameMap map{{"", "", open_clip}};
  return map;
}

const NameMap& clip_names() {
  static const NameMap map{{"", "", clip}};
  return map;
}

const NetworkFiles clip_files{
    .classes = {"CLIPTextModel", "CLIPTextModelWithProjection"},
    .spellings = {{.name = "open_clip",
                   .marks = {"token_embedding.weight", "positional_embedding", "transformer.resblocks.0.ln_1.weight"},
                   .reading = [](const TensorList&, const nlohmann::json&) { return open_clip_names(); },
                   .writing = [](const TensorList&) { return open_clip_names(); },
                   .surplus = surplus_of_open_clip},
                  {.name = "transformers",
                   .marks = {"text_model.embeddings.token_embedding.weight", "text_model.embeddings.position_embedding.weight",
                             "text_model.encoder.layers.0.layer_norm1.weight"},
                   .reading = [](const TensorList&, const nlohmann::json&) { return clip_names(); },
                   .writing = [](const TensorList&) { return clip_names(); },
                   .surplus = surplus},
                  {.name = "bare",
                   .marks = {"embeddings.token_embedding.weight", "embeddings.position_embedding.weight",
                             "encoder.layers.0.layer_norm1.weight"},
                   .reading = [](const TensorList&, const nlohmann::json&) { return clip_names(); },
                   .surplus = surplus}},
    .aliases = aliases,
    .ignored = {"text_model.embeddings.position_ids"},
    .gguf = {.spelling = "transformers",
             .exact = {"*.position_embedding.weight", "text_projection.weight"},
             .important = {"*.v_proj.weight", "*.fc2.weight"}},
};

Signature clip_signature(const std::string& name, const ClipKind& kind, std::vector<std::string_view> prefixes) {
  const auto layer = [](int64_t i) { return fmt::format("text_model.encoder.layers.{}.layer_norm1.weight", i); };
  return {"text encoder",
          name,
          "transformers",
          std::move(prefixes),
          {{"text_model.embeddings.token_embedding.weight", {49408, kind.width}},
           {"text_model.embeddings.position_embedding.weight", {77, kind.width}},
           {layer(kind.layers - 1), {kind.width}},
           {"text_model.final_layer_norm.weight", {kind.width}}},
          {layer(kind.layers + kind.unused)}};
}

Signature open_clip_signature(const std::string& name, const ClipKind& kind, std::vector<std::string_view> prefixes) {
  const auto layer = [](int64_t i) { return fmt::format("transformer.resblocks.{}.ln_1.weight", i); };
  return {"text encoder",
          name,
          "original",
          std::move(prefixes),
          {{"token_embedding.weight", {49408, kind.width}},
           {"positional_embedding", {77, kind.width}},
           {layer(kind.layers - 1), {kind.width}},
           {"ln_final.weight", {kind.width}}},
          {layer(kind.layers + kind.unused)}};
}

}  // namespace hearth::parts
