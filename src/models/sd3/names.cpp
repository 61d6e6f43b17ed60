#include "models/sd3/names.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

namespace hearth::models::sd3 {
namespace {

constexpr std::array<NameRule, 9> mmdit_ends{{
    {"pos_embed", "pos_embed.pos_embed"},
    {"x_embedder.proj.*", "pos_embed.proj.*"},
    {"t_embedder.mlp.0.*", "time_text_embed.timestep_embedder.linear_1.*"},
    {"t_embedder.mlp.2.*", "time_text_embed.timestep_embedder.linear_2.*"},
    {"y_embedder.mlp.0.*", "time_text_embed.text_embedder.linear_1.*"},
    {"y_embedder.mlp.2.*", "time_text_embed.text_embedder.linear_2.*"},
    {"context_embedder.*", "context_embedder.*"},
    {"final_layer.linear.*", "proj_out.*"},
    {"final_layer.adaLN_modulation.1.*", "norm_out.linear.*", form::swapped},
}};
constexpr std::array<NameRule, 32> mmdit_block{{
    {"x_block.attn.qkv.weight", "attn.to_q.weight", form::rows(0, 1, 3)},
    {"x_block.attn.qkv.weight", "attn.to_k.weight", form::rows(1, 2, 3)},
    {"x_block.attn.qkv.weight", "attn.to_v.weight", form::rows(2, 3, 3)},
    {"x_block.attn.qkv.bias", "attn.to_q.bias", form::rows(0, 1, 3)},
    {"x_block.attn.qkv.bias", "attn.to_k.bias", form::rows(1, 2, 3)},
    {"x_block.attn.qkv.bias", "attn.to_v.bias", form::rows(2, 3, 3)},
    {"x_block.attn.ln_q.*", "attn.norm_q.*"},
    {"x_block.attn.ln_k.*", "attn.norm_k.*"},
    {"x_block.attn.proj.*", "attn.to_out.0.*"},
    {"context_block.attn.qkv.weight", "attn.add_q_proj.weight", form::rows(0, 1, 3)},
    {"context_block.attn.qkv.weight", "attn.add_k_proj.weight", form::rows(1, 2, 3)},
    {"context_block.attn.qkv.weight", "attn.add_v_proj.weight", form::rows(2, 3, 3)},
    {"context_block.attn.qkv.bias", "attn.add_q_proj.bias", form::rows(0, 1, 3)},
    {"context_block.attn.qkv.bias", "attn.add_k_proj.bias", form::rows(1, 2, 3)},
    {"context_block.attn.qkv.bias", "attn.add_v_proj.bias", form::rows(2, 3, 3)},
    {"context_block.attn.ln_q.*", "attn.norm_added_q.*"},
    {"context_block.attn.ln_k.*", "attn.norm_added_k.*"},
    {"context_block.attn.proj.*", "attn.to_add_out.*"},
    {"x_block.attn2.qkv.weight", "attn2.to_q.weight", form::rows(0, 1, 3)},
    {"x_block.attn2.qkv.weight", "attn2.to_k.weight", form::rows(1, 2, 3)},
    {"x_block.attn2.qkv.weight", "attn2.to_v.weight", form::rows(2, 3, 3)},
    {"x_block.attn2.qkv.bias", "attn2.to_q.bias", form::rows(0, 1, 3)},
    {"x_block.attn2.qkv.bias", "attn2.to_k.bias", form::rows(1, 2, 3)},
    {"x_block.attn2.qkv.bias", "attn2.to_v.bias", form::rows(2, 3, 3)},
    {"x_block.attn2.ln_q.*", "attn2.norm_q.*"},
    {"x_block.attn2.ln_k.*", "attn2.norm_k.*"},
    {"x_block.attn2.proj.*", "attn2.to_out.0.*"},
    {"x_block.adaLN_modulation.1.*", "norm1.linear.*"},
    {"x_block.mlp.fc1.*", "ff.net.0.proj.*"},
    {"x_block.mlp.fc2.*", "ff.net.2.*"},
    {"context_block.mlp.fc1.*", "ff_context.net.0.proj.*"},
    {"context_block.mlp.fc2.*", "ff_context.net.2.*"},
}};
constexpr std::array<NameRule, 1> text_modulation{{{"context_block.adaLN_modulation.1.*", "norm1_context.linear.*"}}};
constexpr std::array<NameRule, 1> last_text_modulation{{{"context_block.adaLN_modulation.1.*", "norm1_context.linear.*", form::swapped}}};

int64_t blocks_in(const TensorList& tensors, std::string_view pattern) {
  int64_t count = 0;
  while (tensors.contains(fmt::format(fmt::runtime(pattern), count))) ++count;
  return count;
}

int64_t side_of(const TensorList& all, const char* name, int axis) {
  const auto found = all.find(name);
  return found == all.end() || found->second.shape.rank() <= axis ? 0 : found->second.shape[axis];
}

struct MmditSizes {
  int64_t width, layers, in, out, patch, text, pooled, positions;
  std::vector<int64_t> dual;
  bool norms;

  Geometry geometry() const {
    Geometry g;
    g.sizes = {{"width", {width}}, {"layers", {layers}}, {"in", {in}},   {"out", {out}},     {"patch", {patch}},
               {"text", {text}},   {"pooled", {pooled}}, {"dual", dual}, {"norms", {norms}}, {"positions", {positions}}};
    g.description = fmt::format("width {}, {} blocks, {} with dual attention; {} of queries and keys; {} positions; {} in, {} out", width,
                                layers, dual.size(), norms ? "norms" : "no norms", positions, in, out);
    return g;
  }
};

MmditSizes sizes_of(const TensorList& official) {
  MmditSizes s{.width = side_of(official, "pos_embed.proj.weight", 0),
               .layers = blocks_in(official, "transformer_blocks.{}.attn.to_q.weight"),
               .in = side_of(official, "pos_embed.proj.weight", 1),
               .out = 0,
               .patch = side_of(official, "pos_embed.proj.weight", 2),
               .text = side_of(official, "context_embedder.weight", 1),
               .pooled = side_of(official, "time_text_embed.text_embedder.linear_1.weight", 1),
               .positions = 0,
               .dual = {},
               .norms = official.contains("transformer_blocks.0.attn.norm_q.weight")};
  // Files may lack the table's first axis, of size 1.
  if (const auto table = official.find("pos_embed.pos_embed"); table != official.end() && s.width > 0)
    s.positions = table->second.shape.numel() / s.width;
  if (s.patch > 0) s.out = side_of(official, "proj_out.weight", 0) / (s.patch * s.patch);
  for (int64_t i = 0; i < s.layers; ++i)
    if (official.contains(fmt::format("transformer_blocks.{}.attn2.to_q.weight", i))) s.dual.push_back(i);
  return s;
}

MmditSizes sizes_of(const nlohmann::json& c) {
  const auto whole = [&](const char* key, int64_t otherwise) {
    return c.is_object() && c.contains(key) && c[key].is_number_integer() ? c[key].get<int64_t>() : otherwise;
  };
  const int64_t side = whole("pos_embed_max_size", 96), in = whole("in_channels", 16);
  MmditSizes s{.width = whole("num_attention_heads", 18) * whole("attention_head_dim", 64),
               .layers = whole("num_layers", 18),
               .in = in,
               .out = c.is_object() && c.contains("out_channels") ? whole("out_channels", in) : 16,
               .patch = whole("patch_size", 2),
               .text = whole("joint_attention_dim", 4096),
               .pooled = whole("pooled_projection_dim", 2048),
               .positions = side * side,
               .dual = {},
               .norms = c.is_object() && c.contains("qk_norm") && !c["qk_norm"].is_null()};
  if (c.is_object() && c.contains("dual_attention_layers") && c["dual_attention_layers"].is_array())
    for (const auto& layer : c["dual_attention_layers"])
      if (layer.is_number_integer()) s.dual.push_back(layer.get<int64_t>());
  std::ranges::sort(s.dual);
  return s;
}

}  // namespace

NameMap mmdit_names(int64_t count) {
  NameMap map{{"", "", mmdit_ends}};
  for (int64_t i = 0; i < count; ++i) {
    const std::string original = fmt::format("joint_blocks.{}", i), official = fmt::format("transformer_blocks.{}", i);
    map.push_back({original, official, mmdit_block});
    map.push_back({original, official, i + 1 == count ? std::span<const NameRule>(last_text_modulation) : text_modulation});
  }
  return map;
}

const NetworkFiles mmdit_files{
    .classes = {"SD3Transformer2DModel"},
    .spellings =
        {{.name = "original",
          .marks = {"joint_blocks.0.context_block.adaLN_modulation.1.bias", "x_embedder.proj.weight", "y_embedder.mlp.0.weight",
                    "final_layer.linear.weight"},
          .reading = [](const TensorList& stored,
                        const nlohmann::json&) { return mmdit_names(blocks_in(stored, "joint_blocks.{}.x_block.attn.qkv.weight")); },
          .writing = [](const TensorList& official) { return mmdit_names(blocks_in(official, "transformer_blocks.{}.attn.to_q.weight")); }},
         {.name = "diffusers",
          .marks = {"transformer_blocks.0.attn.add_q_proj.weight", "transformer_blocks.0.norm1_context.linear.weight",
                    "pos_embed.pos_embed", "proj_out.weight"}}},
    .geometry = [](const TensorList& official) { return sizes_of(official).geometry(); },
    .stated_geometry = [](const nlohmann::json& config) { return sizes_of(config).geometry(); },
    .gguf = {.spelling = "original",
             .exact = {"pos_embed.*", "time_text_embed.*", "context_embedder.*", "norm_out.*", "proj_out.*"},
             .important = {"*.to_v.weight", "*.add_v_proj.weight", "*.net.2.weight"}},
};

}  // namespace hearth::models::sd3
