#include "models/hunyuan_dit/transformer_files.h"

#include <array>
#include <nlohmann/json.hpp>

#include "weights/layout/sizes.h"

namespace hearth::models::hunyuan_dit {
namespace {

using Json = nlohmann::json;

constexpr std::array<NameRule, 12> ends{{
    {"x_embedder.proj.*", "pos_embed.proj.*"},
    {"mlp_t5.0.*", "text_embedder.linear_1.*"},
    {"mlp_t5.2.*", "text_embedder.linear_2.*"},
    {"text_embedding_padding", "text_embedding_padding"},
    {"t_embedder.mlp.0.*", "time_extra_emb.timestep_embedder.linear_1.*"},
    {"t_embedder.mlp.2.*", "time_extra_emb.timestep_embedder.linear_2.*"},
    {"pooler.**", "time_extra_emb.pooler.**"},
    {"style_embedder.weight", "time_extra_emb.style_embedder.weight"},
    {"extra_embedder.0.*", "time_extra_emb.extra_embedder.linear_1.*"},
    {"extra_embedder.2.*", "time_extra_emb.extra_embedder.linear_2.*"},
    {"final_layer.linear.*", "proj_out.*"},
    {"final_layer.adaLN_modulation.1.*", "norm_out.linear.*", form::swapped},  // shift before scale there, scale before shift here
}};
constexpr std::array<NameRule, 25> block{{
    {"blocks.#.attn1.Wqkv.weight", "blocks.#.attn1.to_q.weight", form::rows(0, 1, 3)},
    {"blocks.#.attn1.Wqkv.weight", "blocks.#.attn1.to_k.weight", form::rows(1, 2, 3)},
    {"blocks.#.attn1.Wqkv.weight", "blocks.#.attn1.to_v.weight", form::rows(2, 3, 3)},
    {"blocks.#.attn1.Wqkv.bias", "blocks.#.attn1.to_q.bias", form::rows(0, 1, 3)},
    {"blocks.#.attn1.Wqkv.bias", "blocks.#.attn1.to_k.bias", form::rows(1, 2, 3)},
    {"blocks.#.attn1.Wqkv.bias", "blocks.#.attn1.to_v.bias", form::rows(2, 3, 3)},
    {"blocks.#.attn1.q_norm.*", "blocks.#.attn1.norm_q.*"},
    {"blocks.#.attn1.k_norm.*", "blocks.#.attn1.norm_k.*"},
    {"blocks.#.attn1.out_proj.*", "blocks.#.attn1.to_out.0.*"},
    {"blocks.#.attn2.q_proj.*", "blocks.#.attn2.to_q.*"},
    {"blocks.#.attn2.kv_proj.weight", "blocks.#.attn2.to_k.weight", form::rows(0, 1, 2)},
    {"blocks.#.attn2.kv_proj.weight", "blocks.#.attn2.to_v.weight", form::rows(1, 2, 2)},
    {"blocks.#.attn2.kv_proj.bias", "blocks.#.attn2.to_k.bias", form::rows(0, 1, 2)},
    {"blocks.#.attn2.kv_proj.bias", "blocks.#.attn2.to_v.bias", form::rows(1, 2, 2)},
    {"blocks.#.attn2.q_norm.*", "blocks.#.attn2.norm_q.*"},
    {"blocks.#.attn2.k_norm.*", "blocks.#.attn2.norm_k.*"},
    {"blocks.#.attn2.out_proj.*", "blocks.#.attn2.to_out.0.*"},
    {"blocks.#.default_modulation.1.*", "blocks.#.norm1.linear.*"},
    {"blocks.#.norm1.*", "blocks.#.norm1.norm.*"},
    {"blocks.#.norm2.*", "blocks.#.norm3.*"},  // of the MLP: the second there, the third here
    {"blocks.#.norm3.*", "blocks.#.norm2.*"},
    {"blocks.#.mlp.fc1.*", "blocks.#.ff.net.0.proj.*"},
    {"blocks.#.mlp.fc2.*", "blocks.#.ff.net.2.*"},
    {"blocks.#.skip_norm.*", "blocks.#.skip_norm.*"},
    {"blocks.#.skip_linear.*", "blocks.#.skip_linear.*"},
}};

struct Sizes {
  int64_t width, head, layers, in, text, t5, rows;
  bool conditions;

  Geometry geometry() const {
    return {.sizes = {{"width", {width}},
                      {"head", {head}},
                      {"layers", {layers}},
                      {"in", {in}},
                      {"text", {text, t5}},
                      {"rows", {rows}},
                      {"conditions", {conditions}}},
            .description = fmt::format("width {}, {} blocks, texts {} and {} of {} rows; {} in; {} sizes and style", width, layers, text,
                                       t5, rows, in, conditions ? "with" : "without")};
  }
};

Geometry geometry_of(const TensorList& official) {
  const auto axis = [&](const std::string& name, int i) { return axis_of(official, name, i); };
  int64_t layers = 0;
  while (official.contains(fmt::format("blocks.{}.norm1.linear.weight", layers))) ++layers;
  return Sizes{.width = axis("pos_embed.proj.weight", 0),
               .head = axis("blocks.0.attn1.norm_q.weight", 0),
               .layers = layers,
               .in = axis("pos_embed.proj.weight", 1),
               .text = axis("text_embedding_padding", 1),
               .t5 = axis("text_embedder.linear_1.weight", 1),
               .rows = axis("text_embedding_padding", 0),
               .conditions = official.contains("time_extra_emb.style_embedder.weight")}
      .geometry();
}

Geometry stated_geometry(const Json& config) {
  const auto whole = [&](const char* key, int64_t otherwise) { return stated_integer(config, key, otherwise); };
  const int64_t head = whole("attention_head_dim", 88);
  const char* const style = "use_style_cond_and_image_meta_size";
  return Sizes{.width = head * whole("num_attention_heads", 16),
               .head = head,
               .layers = whole("num_layers", 28),
               .in = whole("in_channels", 0),
               .text = whole("cross_attention_dim", 1024),
               .t5 = whole("cross_attention_dim_t5", 2048),
               .rows = whole("text_len", 77) + whole("text_len_t5", 256),
               .conditions = !(config.is_object() && config.contains(style) && config[style] == false)}
      .geometry();
}

}  // namespace

const NameMap& original_names() {
  static const NameMap map{{"", "", ends}, {"", "", block}};
  return map;
}

const NetworkFiles transformer_files{
    .classes = {"HunyuanDiT2DModel"},
    .spellings = {{.name = "original",
                   .marks = {"blocks.0.attn1.Wqkv.weight", "blocks.0.default_modulation.1.weight", "mlp_t5.0.weight",
                             "text_embedding_padding", "x_embedder.proj.weight", "final_layer.linear.weight"},
                   .reading = [](const TensorList&, const Json&) { return original_names(); },
                   .writing = [](const TensorList&) { return original_names(); }},
                  {.name = "diffusers",
                   .marks = {"blocks.0.attn1.to_q.weight", "blocks.0.norm1.linear.weight", "text_embedder.linear_1.weight",
                             "text_embedding_padding", "pos_embed.proj.weight", "proj_out.weight"}}},
    .geometry = geometry_of,
    .stated_geometry = stated_geometry,
    .gguf = {.spelling = "original",
             .exact = {"pos_embed.*", "text_embedder.*", "text_embedding_padding", "time_extra_emb.*", "norm_out.*", "proj_out.*"},
             .important = {"*.to_v.weight", "*.net.2.weight"}},
};

}  // namespace hearth::models::hunyuan_dit
