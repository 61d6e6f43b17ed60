#include "models/aura_flow/transformer_files.h"

#include <array>
#include <nlohmann/json.hpp>

#include "weights/layout/sizes.h"

namespace hearth::models::aura_flow {
namespace {

using Json = nlohmann::json;

constexpr std::array<NameRule, 8> ends{{
    {"init_x_linear.*", "pos_embed.proj.*"},
    {"positional_encoding", "pos_embed.pos_embed"},
    {"register_tokens", "register_tokens"},
    {"t_embedder.mlp.0.*", "time_step_proj.linear_1.*"},
    {"t_embedder.mlp.2.*", "time_step_proj.linear_2.*"},
    {"cond_seq_linear.weight", "context_embedder.weight"},
    {"final_linear.weight", "proj_out.weight"},
    {"modF.1.weight", "norm_out.linear.weight", form::swapped},  // shift before scale there, scale before shift here
}};
constexpr std::array<NameRule, 16> joint{{
    {"double_layers.#.attn.w1q.weight", "joint_transformer_blocks.#.attn.add_q_proj.weight"},
    {"double_layers.#.attn.w1k.weight", "joint_transformer_blocks.#.attn.add_k_proj.weight"},
    {"double_layers.#.attn.w1v.weight", "joint_transformer_blocks.#.attn.add_v_proj.weight"},
    {"double_layers.#.attn.w1o.weight", "joint_transformer_blocks.#.attn.to_add_out.weight"},
    {"double_layers.#.attn.w2q.weight", "joint_transformer_blocks.#.attn.to_q.weight"},
    {"double_layers.#.attn.w2k.weight", "joint_transformer_blocks.#.attn.to_k.weight"},
    {"double_layers.#.attn.w2v.weight", "joint_transformer_blocks.#.attn.to_v.weight"},
    {"double_layers.#.attn.w2o.weight", "joint_transformer_blocks.#.attn.to_out.0.weight"},
    {"double_layers.#.mlpC.c_fc1.weight", "joint_transformer_blocks.#.ff_context.linear_1.weight"},
    {"double_layers.#.mlpC.c_fc2.weight", "joint_transformer_blocks.#.ff_context.linear_2.weight"},
    {"double_layers.#.mlpC.c_proj.weight", "joint_transformer_blocks.#.ff_context.out_projection.weight"},
    {"double_layers.#.mlpX.c_fc1.weight", "joint_transformer_blocks.#.ff.linear_1.weight"},
    {"double_layers.#.mlpX.c_fc2.weight", "joint_transformer_blocks.#.ff.linear_2.weight"},
    {"double_layers.#.mlpX.c_proj.weight", "joint_transformer_blocks.#.ff.out_projection.weight"},
    {"double_layers.#.modC.1.weight", "joint_transformer_blocks.#.norm1_context.linear.weight"},
    {"double_layers.#.modX.1.weight", "joint_transformer_blocks.#.norm1.linear.weight"},
}};
constexpr std::array<NameRule, 8> single{{
    {"single_layers.#.attn.w1q.weight", "single_transformer_blocks.#.attn.to_q.weight"},
    {"single_layers.#.attn.w1k.weight", "single_transformer_blocks.#.attn.to_k.weight"},
    {"single_layers.#.attn.w1v.weight", "single_transformer_blocks.#.attn.to_v.weight"},
    {"single_layers.#.attn.w1o.weight", "single_transformer_blocks.#.attn.to_out.0.weight"},
    {"single_layers.#.mlp.c_fc1.weight", "single_transformer_blocks.#.ff.linear_1.weight"},
    {"single_layers.#.mlp.c_fc2.weight", "single_transformer_blocks.#.ff.linear_2.weight"},
    {"single_layers.#.mlp.c_proj.weight", "single_transformer_blocks.#.ff.out_projection.weight"},
    {"single_layers.#.modCX.1.weight", "single_transformer_blocks.#.norm1.linear.weight"},
}};

const NameMap& original_names() {
  static const NameMap map{{"", "", ends}, {"", "", joint}, {"", "", single}};
  return map;
}

struct Sizes {
  int64_t width, joint, single, in, out, text, positions;

  Geometry geometry() const {
    return {
        .sizes =
            {{"width", {width}}, {"layers", {joint, single}}, {"in", {in}}, {"out", {out}}, {"text", {text}}, {"positions", {positions}}},
        .description = fmt::format("width {}; {} joint and {} single blocks; text {}; {} positions; {} in, {} out per token", width, joint,
                                   single, text, positions, in, out)};
  }
};

Geometry geometry_of(const TensorList& official) {
  const auto axis = [&](const std::string& name, int i) { return axis_of(official, name, i); };
  const auto count = [&](const char* blocks) {
    int64_t n = 0;
    while (official.contains(fmt::format("{}.{}.norm1.linear.weight", blocks, n))) ++n;
    return n;
  };
  Sizes s{.width = axis("pos_embed.proj.weight", 0),
          .joint = count("joint_transformer_blocks"),
          .single = count("single_transformer_blocks"),
          .in = axis("pos_embed.proj.weight", 1),
          .out = axis("proj_out.weight", 0),
          .text = axis("context_embedder.weight", 1),
          .positions = 0};
  // Files may lack the table's first axis, of size 1.
  if (const auto table = official.find("pos_embed.pos_embed"); table != official.end() && s.width > 0)
    s.positions = table->second.shape.numel() / s.width;
  return s.geometry();
}

Geometry stated_geometry(const Json& config) {
  const auto whole = [&](const char* key, int64_t otherwise) { return stated_integer(config, key, otherwise); };
  const int64_t patch = whole("patch_size", 2);
  return Sizes{.width = whole("num_attention_heads", 12) * whole("attention_head_dim", 256),
               .joint = whole("num_mmdit_layers", 4),
               .single = whole("num_single_dit_layers", 32),
               .in = whole("in_channels", 4) * patch * patch,
               .out = whole("out_channels", 4) * patch * patch,
               .text = whole("joint_attention_dim", 2048),
               .positions = whole("pos_embed_max_size", 1024)}
      .geometry();
}

}  // namespace

const NetworkFiles transformer_files{
    .classes = {"AuraFlowTransformer2DModel"},
    .spellings = {{.name = "original",
                   .marks = {"double_layers.0.attn.w2q.weight", "cond_seq_linear.weight", "init_x_linear.weight", "positional_encoding",
                             "modF.1.weight"},
                   .reading = [](const TensorList&, const Json&) { return original_names(); },
                   .writing = [](const TensorList&) { return original_names(); }},
                  {.name = "diffusers",
                   .marks = {"joint_transformer_blocks.0.attn.to_q.weight", "register_tokens", "time_step_proj.linear_1.weight",
                             "norm_out.linear.weight"}}},
    .geometry = geometry_of,
    .stated_geometry = stated_geometry,
    .gguf = {.spelling = "original",
             .exact = {"pos_embed.*", "register_tokens", "time_step_proj.*", "context_embedder.*", "norm_out.*", "proj_out.*"},
             .important = {"*.to_v.weight", "*.add_v_proj.weight", "*.out_projection.weight"}},
};

}  // namespace hearth::models::aura_flow
