#include "models/sana/transformer_files.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "weights/layout/sizes.h"

namespace hearth::models::sana {
namespace {

using Json = nlohmann::json;

constexpr std::array<NameRule, 11> ends{{
    {"x_embedder.proj.*", "patch_embed.proj.*"},
    {"pos_embed", "patch_embed.pos_embed"},
    {"t_block.1.*", "time_embed.linear.*"},
    {"y_embedder.y_embedding", "caption_projection.y_embedding"},
    {"y_embedder.y_proj.fc1.*", "caption_projection.linear_1.*"},
    {"y_embedder.y_proj.fc2.*", "caption_projection.linear_2.*"},
    {"attention_y_norm.weight", "caption_norm.weight"},
    {"final_layer.linear.*", "proj_out.*"},
    {"final_layer.scale_shift_table", "scale_shift_table"},
    {"blocks.#.scale_shift_table", "transformer_blocks.#.scale_shift_table"},
    {"blocks.#.attn.proj.*", "transformer_blocks.#.attn1.to_out.0.*"},
}};
constexpr std::array<NameRule, 2> time{{
    {"t_embedder.mlp.0.*", "time_embed.emb.timestep_embedder.linear_1.*"},
    {"t_embedder.mlp.2.*", "time_embed.emb.timestep_embedder.linear_2.*"},
}};
constexpr std::array<NameRule, 4> time_and_guidance{{
    {"t_embedder.mlp.0.*", "time_embed.timestep_embedder.linear_1.*"},
    {"t_embedder.mlp.2.*", "time_embed.timestep_embedder.linear_2.*"},
    {"cfg_embedder.mlp.0.*", "time_embed.guidance_embedder.linear_1.*"},
    {"cfg_embedder.mlp.2.*", "time_embed.guidance_embedder.linear_2.*"},
}};
constexpr std::array<NameRule, 19> block{{
    {"blocks.#.attn.qkv.weight", "transformer_blocks.#.attn1.to_q.weight", form::rows(0, 1, 3)},
    {"blocks.#.attn.qkv.weight", "transformer_blocks.#.attn1.to_k.weight", form::rows(1, 2, 3)},
    {"blocks.#.attn.qkv.weight", "transformer_blocks.#.attn1.to_v.weight", form::rows(2, 3, 3)},
    {"blocks.#.attn.qkv.bias", "transformer_blocks.#.attn1.to_q.bias", form::rows(0, 1, 3)},
    {"blocks.#.attn.qkv.bias", "transformer_blocks.#.attn1.to_k.bias", form::rows(1, 2, 3)},
    {"blocks.#.attn.qkv.bias", "transformer_blocks.#.attn1.to_v.bias", form::rows(2, 3, 3)},
    {"blocks.#.attn.q_norm.weight", "transformer_blocks.#.attn1.norm_q.weight"},
    {"blocks.#.attn.k_norm.weight", "transformer_blocks.#.attn1.norm_k.weight"},
    {"blocks.#.cross_attn.q_linear.*", "transformer_blocks.#.attn2.to_q.*"},
    {"blocks.#.cross_attn.kv_linear.weight", "transformer_blocks.#.attn2.to_k.weight", form::rows(0, 1, 2)},
    {"blocks.#.cross_attn.kv_linear.weight", "transformer_blocks.#.attn2.to_v.weight", form::rows(1, 2, 2)},
    {"blocks.#.cross_attn.kv_linear.bias", "transformer_blocks.#.attn2.to_k.bias", form::rows(0, 1, 2)},
    {"blocks.#.cross_attn.kv_linear.bias", "transformer_blocks.#.attn2.to_v.bias", form::rows(1, 2, 2)},
    {"blocks.#.cross_attn.q_norm.weight", "transformer_blocks.#.attn2.norm_q.weight"},
    {"blocks.#.cross_attn.k_norm.weight", "transformer_blocks.#.attn2.norm_k.weight"},
    {"blocks.#.cross_attn.proj.*", "transformer_blocks.#.attn2.to_out.0.*"},
    {"blocks.#.mlp.inverted_conv.conv.*", "transformer_blocks.#.ff.conv_inverted.*"},
    {"blocks.#.mlp.depth_conv.conv.*", "transformer_blocks.#.ff.conv_depth.*"},
    {"blocks.#.mlp.point_conv.conv.*", "transformer_blocks.#.ff.conv_point.*"},
}};

// Networks with an input for the guidance scale have the time's MLP at another place.
const NameMap& original_names(bool guidance) {
  static const NameMap without{{"", "", ends}, {"", "", time}, {"", "", block}},
      with{{"", "", ends}, {"", "", time_and_guidance}, {"", "", block}};
  return guidance ? with : without;
}

struct Sizes {
  int64_t width = 0, layers = 0, in = 0, out = 0, patch = 0, text = 0;
  bool guidance = false, normed = false;
  int64_t sample_size = 0;  // 0: the file does not tell

  Geometry geometry() const {
    Geometry g;
    g.sizes = {{"width", {width}}, {"layers", {layers}},     {"in", {in}},        {"out", {out}}, {"patch", {patch}},
               {"text", {text}},   {"guidance", {guidance}}, {"normed", {normed}}};
    if (sample_size > 0) g.sizes["sample_size"] = {sample_size};
    g.description = fmt::format("width {}, {} blocks, text {}; {} in, {} out; {} of the guidance scale; {} of queries and keys", width,
                                layers, text, in, out, guidance ? "an input" : "no input", normed ? "norms" : "no norms");
    return g;
  }
};

Geometry geometry_of(const TensorList& official) {
  const auto axis = [&](const std::string& name, int i) { return axis_of(official, name, i); };
  Sizes s{.width = axis("patch_embed.proj.weight", 0),
          .in = axis("patch_embed.proj.weight", 1),
          .patch = axis("patch_embed.proj.weight", 2),
          .text = axis("caption_projection.linear_1.weight", 1),
          .guidance = official.contains("time_embed.guidance_embedder.linear_1.weight"),
          .normed = official.contains("transformer_blocks.0.attn1.norm_q.weight")};
  while (official.contains(fmt::format("transformer_blocks.{}.attn1.to_q.weight", s.layers))) ++s.layers;
  if (s.patch > 0) s.out = axis("proj_out.weight", 0) / (s.patch * s.patch);
  s.sample_size = s.patch * int64_t(std::llround(std::sqrt(double(axis("patch_embed.pos_embed", 1)))));
  return s.geometry();
}

Geometry stated_geometry(const Json& config) {
  const auto whole = [&](const char* key, int64_t otherwise) { return stated_integer(config, key, otherwise); };
  const auto states = [&](const char* key) { return config.is_object() && config.contains(key) && !config[key].is_null(); };
  const int64_t in = whole("in_channels", 32);
  return Sizes{.width = whole("num_attention_heads", 70) * whole("attention_head_dim", 32),
               .layers = whole("num_layers", 20),
               .in = in,
               .out = states("out_channels") || !config.is_object() || !config.contains("out_channels") ? whole("out_channels", 32) : in,
               .patch = whole("patch_size", 1),
               .text = whole("caption_channels", 2304),
               .guidance = states("guidance_embeds") && config["guidance_embeds"] == true,
               .normed = states("qk_norm"),
               .sample_size = whole("sample_size", 32)}
      .geometry();
}

}  // namespace

const NetworkFiles transformer_files{
    .classes = {"SanaTransformer2DModel"},
    .spellings =
        {{.name = "original",
          .marks = {"blocks.0.cross_attn.kv_linear.weight", "blocks.0.mlp.inverted_conv.conv.weight", "blocks.0.scale_shift_table",
                    "t_block.1.weight", "y_embedder.y_proj.fc1.weight", "attention_y_norm.weight", "x_embedder.proj.weight"},
          .reading = [](const TensorList& stored, const Json&) { return original_names(stored.contains("cfg_embedder.mlp.0.weight")); },
          .writing =
              [](const TensorList& official) { return original_names(official.contains("time_embed.guidance_embedder.linear_1.weight")); }},
         {.name = "diffusers",
          .marks = {"transformer_blocks.0.attn2.to_k.weight", "transformer_blocks.0.ff.conv_inverted.weight",
                    "transformer_blocks.0.scale_shift_table", "caption_norm.weight", "time_embed.linear.weight", "patch_embed.proj.weight",
                    "scale_shift_table"}}},
    .ignored = {"patch_embed.pos_embed", "caption_projection.y_embedding"},
    .geometry = geometry_of,
    .stated_geometry = stated_geometry,
    .gguf = {.spelling = "original",
             .exact = {"patch_embed.*", "time_embed.*", "caption_projection.*", "*scale_shift_table", "proj_out.*", "*.conv_depth.*"},
             .important = {"*.to_v.weight", "*.conv_point.weight"}},
};

std::vector<Signature> transformer_signatures() {
  const Signature original{.part = "denoiser",
                           .layout = "original",
                           .prefixes = {"", "model.diffusion_model."},
                           .present = {{"blocks.0.cross_attn.kv_linear.weight", {}},
                                       {"blocks.0.mlp.inverted_conv.conv.weight", {}},
                                       {"t_block.1.weight", {}},
                                       {"attention_y_norm.weight", {}}},
                           .absent = {}};
  const Signature official{.part = "denoiser",
                           .layout = "diffusers",
                           .prefixes = {""},
                           .present = {{"transformer_blocks.0.ff.conv_inverted.weight", {}},
                                       {"transformer_blocks.0.attn2.to_k.weight", {}},
                                       {"caption_norm.weight", {}},
                                       {"time_embed.linear.weight", {}}},
                           .absent = {"controlnet_blocks.0.weight"}};
  std::vector<Signature> all;
  for (const auto& [base, guidance] :
       {std::pair{original, "cfg_embedder.mlp.0.weight"}, {official, "time_embed.guidance_embedder.linear_1.weight"}}) {
    Signature with = base, without = base;
    with.what = "SANA-Sprint", with.present.push_back({guidance, {}});
    without.what = "SANA", without.absent.push_back(guidance);
    all.push_back(std::move(with)), all.push_back(std::move(without));
  }
  return all;
}

}  // namespace hearth::models::sana
