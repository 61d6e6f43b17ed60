#include "models/pixart/transformer_files.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "weights/layout/sizes.h"

namespace hearth::models::pixart {
namespace {

using Json = nlohmann::json;

constexpr std::array<NameRule, 16> ends{{
    {"x_embedder.proj.*", "pos_embed.proj.*"},
    {"pos_embed", "pos_embed.pos_embed"},
    {"t_embedder.mlp.0.*", "adaln_single.emb.timestep_embedder.linear_1.*"},
    {"t_embedder.mlp.2.*", "adaln_single.emb.timestep_embedder.linear_2.*"},
    {"csize_embedder.mlp.0.*", "adaln_single.emb.resolution_embedder.linear_1.*"},
    {"csize_embedder.mlp.2.*", "adaln_single.emb.resolution_embedder.linear_2.*"},
    {"ar_embedder.mlp.0.*", "adaln_single.emb.aspect_ratio_embedder.linear_1.*"},
    {"ar_embedder.mlp.2.*", "adaln_single.emb.aspect_ratio_embedder.linear_2.*"},
    {"t_block.1.*", "adaln_single.linear.*"},
    {"y_embedder.y_embedding", "caption_projection.y_embedding"},
    {"y_embedder.y_proj.fc1.*", "caption_projection.linear_1.*"},
    {"y_embedder.y_proj.fc2.*", "caption_projection.linear_2.*"},
    {"final_layer.linear.*", "proj_out.*"},
    {"final_layer.scale_shift_table", "scale_shift_table"},
    {"blocks.#.scale_shift_table", "transformer_blocks.#.scale_shift_table"},
    {"blocks.#.mlp.fc2.*", "transformer_blocks.#.ff.net.2.*"},
}};
constexpr std::array<NameRule, 14> block{{
    {"blocks.#.attn.qkv.weight", "transformer_blocks.#.attn1.to_q.weight", form::rows(0, 1, 3)},
    {"blocks.#.attn.qkv.weight", "transformer_blocks.#.attn1.to_k.weight", form::rows(1, 2, 3)},
    {"blocks.#.attn.qkv.weight", "transformer_blocks.#.attn1.to_v.weight", form::rows(2, 3, 3)},
    {"blocks.#.attn.qkv.bias", "transformer_blocks.#.attn1.to_q.bias", form::rows(0, 1, 3)},
    {"blocks.#.attn.qkv.bias", "transformer_blocks.#.attn1.to_k.bias", form::rows(1, 2, 3)},
    {"blocks.#.attn.qkv.bias", "transformer_blocks.#.attn1.to_v.bias", form::rows(2, 3, 3)},
    {"blocks.#.attn.proj.*", "transformer_blocks.#.attn1.to_out.0.*"},
    {"blocks.#.cross_attn.q_linear.*", "transformer_blocks.#.attn2.to_q.*"},
    {"blocks.#.cross_attn.kv_linear.weight", "transformer_blocks.#.attn2.to_k.weight", form::rows(0, 1, 2)},
    {"blocks.#.cross_attn.kv_linear.weight", "transformer_blocks.#.attn2.to_v.weight", form::rows(1, 2, 2)},
    {"blocks.#.cross_attn.kv_linear.bias", "transformer_blocks.#.attn2.to_k.bias", form::rows(0, 1, 2)},
    {"blocks.#.cross_attn.kv_linear.bias", "transformer_blocks.#.attn2.to_v.bias", form::rows(1, 2, 2)},
    {"blocks.#.cross_attn.proj.*", "transformer_blocks.#.attn2.to_out.0.*"},
    {"blocks.#.mlp.fc1.*", "transformer_blocks.#.ff.net.0.proj.*"},
}};

const NameMap& original_names() {
  static const NameMap map{{"", "", ends}, {"", "", block}};
  return map;
}

struct Sizes {
  int64_t width, layers, in, out, patch, text;
  bool conditions;
  int64_t sample_size = 0, text_rows = 0;  // 0: the file does not tell

  Geometry geometry() const {
    Geometry g;
    g.sizes = {{"width", {width}}, {"layers", {layers}},        {"in", {in}}, {"out", {out}}, {"patch", {patch}},
               {"text", {text}},   {"conditions", {conditions}}};
    if (sample_size > 0) g.sizes["sample_size"] = {sample_size};
    if (text_rows > 0) g.sizes["text_rows"] = {text_rows};
    g.description = fmt::format("width {}, {} blocks, text {}; {} in, {} out; {} of the image's size", width, layers, text, in, out,
                                conditions ? "with inputs" : "without inputs");
    return g;
  }
};

Geometry geometry_of(const TensorList& official) {
  const auto axis = [&](const std::string& name, int i) { return axis_of(official, name, i); };
  Sizes s{.width = axis("pos_embed.proj.weight", 0),
          .layers = 0,
          .in = axis("pos_embed.proj.weight", 1),
          .out = 0,
          .patch = axis("pos_embed.proj.weight", 2),
          .text = axis("caption_projection.linear_1.weight", 1),
          .conditions = official.contains("adaln_single.emb.resolution_embedder.linear_1.weight")};
  while (official.contains(fmt::format("transformer_blocks.{}.attn1.to_q.weight", s.layers))) ++s.layers;
  if (s.patch > 0) s.out = axis("proj_out.weight", 0) / (s.patch * s.patch);
  s.sample_size = s.patch * int64_t(std::llround(std::sqrt(double(axis("pos_embed.pos_embed", 1)))));
  s.text_rows = axis("caption_projection.y_embedding", 0);
  return s.geometry();
}

// Of the built-in configurations, those of Σ state that they do without the image's size.
Geometry stated_geometry(const Json& config) {
  const auto whole = [&](const char* key, int64_t otherwise) { return stated_integer(config, key, otherwise); };
  const bool states =
      config.is_object() && config.contains("use_additional_conditions") && config["use_additional_conditions"].is_boolean();
  Sizes s{.width = whole("num_attention_heads", 16) * whole("attention_head_dim", 72),
          .layers = whole("num_layers", 28),
          .in = whole("in_channels", 4),
          .out = whole("out_channels", 8),
          .patch = whole("patch_size", 2),
          .text = whole("caption_channels", 0),
          .conditions = states ? config["use_additional_conditions"].get<bool>() : whole("sample_size", 128) == 128,
          .sample_size = whole("sample_size", 128),
          .text_rows = states ? 300 : 120};
  return s.geometry();
}

}  // namespace

const NetworkFiles transformer_files{
    .classes = {"PixArtTransformer2DModel", "Transformer2DModel"},
    .spellings = {{.name = "original",
                   .marks = {"blocks.0.cross_attn.kv_linear.weight", "blocks.0.mlp.fc1.weight", "blocks.0.scale_shift_table",
                             "t_block.1.weight", "y_embedder.y_proj.fc1.weight", "final_layer.scale_shift_table", "x_embedder.proj.weight"},
                   .reading = [](const TensorList&, const Json&) { return original_names(); },
                   .writing = [](const TensorList&) { return original_names(); }},
                  {.name = "diffusers",
                   .marks = {"transformer_blocks.0.attn2.to_k.weight", "transformer_blocks.0.scale_shift_table",
                             "adaln_single.emb.timestep_embedder.linear_1.weight", "caption_projection.linear_1.weight",
                             "pos_embed.proj.weight", "scale_shift_table"}}},
    .ignored = {"pos_embed.pos_embed", "caption_projection.y_embedding"},
    .geometry = geometry_of,
    .stated_geometry = stated_geometry,
    .gguf = {.spelling = "original",
             .exact = {"pos_embed.*", "adaln_single.*", "caption_projection.*", "*scale_shift_table", "proj_out.*"},
             .important = {"*.to_v.weight", "*.net.2.weight"}},
};

}  // namespace hearth::models::pixart
