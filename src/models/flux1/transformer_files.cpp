#include "models/flux1/transformer_files.h"

#include <array>
#include <nlohmann/json.hpp>

#include "weights/layout/sizes.h"

namespace hearth::models::flux1 {
namespace {

using Json = nlohmann::json;

constexpr std::array<NameRule, 13> embeddings{{
    {"img_in.*", "x_embedder.*"},
    {"txt_in.*", "context_embedder.*"},
    {"time_in.in_layer.*", "time_text_embed.timestep_embedder.linear_1.*"},
    {"time_in.out_layer.*", "time_text_embed.timestep_embedder.linear_2.*"},
    {"guidance_in.in_layer.*", "time_text_embed.guidance_embedder.linear_1.*"},
    {"guidance_in.out_layer.*", "time_text_embed.guidance_embedder.linear_2.*"},
    {"vector_in.in_layer.*", "time_text_embed.text_embedder.linear_1.*"},
    {"vector_in.out_layer.*", "time_text_embed.text_embedder.linear_2.*"},
    {"final_layer.linear.*", "proj_out.*"},
    // Shift before scale there, scale before shift here.
    {"final_layer.adaLN_modulation.1.weight", "norm_out.linear.weight", form::swapped},
    {"final_layer.adaLN_modulation.1.bias", "norm_out.linear.bias", form::swapped},
    {"double_blocks.#.img_mod.lin.*", "transformer_blocks.#.norm1.linear.*"},
    {"double_blocks.#.txt_mod.lin.*", "transformer_blocks.#.norm1_context.linear.*"},
}};

constexpr std::array<NameRule, 22> double_blocks{{
    {"double_blocks.#.img_attn.qkv.weight", "transformer_blocks.#.attn.to_q.weight", form::rows(0, 1, 3)},
    {"double_blocks.#.img_attn.qkv.weight", "transformer_blocks.#.attn.to_k.weight", form::rows(1, 2, 3)},
    {"double_blocks.#.img_attn.qkv.weight", "transformer_blocks.#.attn.to_v.weight", form::rows(2, 3, 3)},
    {"double_blocks.#.img_attn.qkv.bias", "transformer_blocks.#.attn.to_q.bias", form::rows(0, 1, 3)},
    {"double_blocks.#.img_attn.qkv.bias", "transformer_blocks.#.attn.to_k.bias", form::rows(1, 2, 3)},
    {"double_blocks.#.img_attn.qkv.bias", "transformer_blocks.#.attn.to_v.bias", form::rows(2, 3, 3)},
    {"double_blocks.#.txt_attn.qkv.weight", "transformer_blocks.#.attn.add_q_proj.weight", form::rows(0, 1, 3)},
    {"double_blocks.#.txt_attn.qkv.weight", "transformer_blocks.#.attn.add_k_proj.weight", form::rows(1, 2, 3)},
    {"double_blocks.#.txt_attn.qkv.weight", "transformer_blocks.#.attn.add_v_proj.weight", form::rows(2, 3, 3)},
    {"double_blocks.#.txt_attn.qkv.bias", "transformer_blocks.#.attn.add_q_proj.bias", form::rows(0, 1, 3)},
    {"double_blocks.#.txt_attn.qkv.bias", "transformer_blocks.#.attn.add_k_proj.bias", form::rows(1, 2, 3)},
    {"double_blocks.#.txt_attn.qkv.bias", "transformer_blocks.#.attn.add_v_proj.bias", form::rows(2, 3, 3)},
    {"double_blocks.#.img_attn.norm.query_norm.scale", "transformer_blocks.#.attn.norm_q.weight"},
    {"double_blocks.#.img_attn.norm.key_norm.scale", "transformer_blocks.#.attn.norm_k.weight"},
    {"double_blocks.#.txt_attn.norm.query_norm.scale", "transformer_blocks.#.attn.norm_added_q.weight"},
    {"double_blocks.#.txt_attn.norm.key_norm.scale", "transformer_blocks.#.attn.norm_added_k.weight"},
    {"double_blocks.#.img_attn.proj.*", "transformer_blocks.#.attn.to_out.0.*"},
    {"double_blocks.#.txt_attn.proj.*", "transformer_blocks.#.attn.to_add_out.*"},
    {"double_blocks.#.img_mlp.0.*", "transformer_blocks.#.ff.net.0.proj.*"},
    {"double_blocks.#.img_mlp.2.*", "transformer_blocks.#.ff.net.2.*"},
    {"double_blocks.#.txt_mlp.0.*", "transformer_blocks.#.ff_context.net.0.proj.*"},
    {"double_blocks.#.txt_mlp.2.*", "transformer_blocks.#.ff_context.net.2.*"},
}};

// linear1 has the rows of q, k, v and of the MLP, which is four times as wide.
constexpr std::array<NameRule, 12> single_blocks{{
    {"single_blocks.#.linear1.weight", "single_transformer_blocks.#.attn.to_q.weight", form::rows(0, 1, 7)},
    {"single_blocks.#.linear1.weight", "single_transformer_blocks.#.attn.to_k.weight", form::rows(1, 2, 7)},
    {"single_blocks.#.linear1.weight", "single_transformer_blocks.#.attn.to_v.weight", form::rows(2, 3, 7)},
    {"single_blocks.#.linear1.weight", "single_transformer_blocks.#.proj_mlp.weight", form::rows(3, 7, 7)},
    {"single_blocks.#.linear1.bias", "single_transformer_blocks.#.attn.to_q.bias", form::rows(0, 1, 7)},
    {"single_blocks.#.linear1.bias", "single_transformer_blocks.#.attn.to_k.bias", form::rows(1, 2, 7)},
    {"single_blocks.#.linear1.bias", "single_transformer_blocks.#.attn.to_v.bias", form::rows(2, 3, 7)},
    {"single_blocks.#.linear1.bias", "single_transformer_blocks.#.proj_mlp.bias", form::rows(3, 7, 7)},
    {"single_blocks.#.linear2.*", "single_transformer_blocks.#.proj_out.*"},
    {"single_blocks.#.norm.query_norm.scale", "single_transformer_blocks.#.attn.norm_q.weight"},
    {"single_blocks.#.norm.key_norm.scale", "single_transformer_blocks.#.attn.norm_k.weight"},
    {"single_blocks.#.modulation.lin.*", "single_transformer_blocks.#.norm.linear.*"},
}};

struct Sizes {
  int64_t in, out, width, head, layers, single_layers, text, pooled;
  bool guidance;

  Geometry compared() const {
    return {.sizes = {{"in", {in}},
                      {"out", {out}},
                      {"width", {width}},
                      {"head", {head}},
                      {"layers", {layers, single_layers}},
                      {"text", {text, pooled}},
                      {"guidance", {guidance}}},
            .description = fmt::format("width {}; {} double and {} single blocks; text {} and {}; {} in, {} out; {} guidance", width,
                                       layers, single_layers, text, pooled, in, out, guidance ? "with" : "without")};
  }
};

Geometry geometry_of(const TensorList& official) {
  const auto axis = [&](const std::string& name, int i) { return axis_of(official, name, i); };
  const auto count = [&](const char* blocks, const char* tensor) {
    int64_t n = 0;
    while (official.contains(fmt::format("{}.{}.{}", blocks, n, tensor))) ++n;
    return n;
  };
  return Sizes{.in = axis("x_embedder.weight", 1),
               .out = axis("proj_out.weight", 0),
               .width = axis("x_embedder.weight", 0),
               .head = axis("transformer_blocks.0.attn.norm_q.weight", 0),
               .layers = count("transformer_blocks", "norm1.linear.weight"),
               .single_layers = count("single_transformer_blocks", "norm.linear.weight"),
               .text = axis("context_embedder.weight", 1),
               .pooled = axis("time_text_embed.text_embedder.linear_1.weight", 1),
               .guidance = official.contains("time_text_embed.guidance_embedder.linear_1.weight")}
      .compared();
}

Geometry stated_geometry(const Json& config) {
  const auto whole = [&](const char* key, int64_t otherwise) { return stated_integer(config, key, otherwise); };
  const int64_t in = whole("in_channels", 64), head = whole("attention_head_dim", 128);
  return Sizes{.in = in,
               .out = whole("out_channels", in),
               .width = head * whole("num_attention_heads", 24),
               .head = head,
               .layers = whole("num_layers", 19),
               .single_layers = whole("num_single_layers", 38),
               .text = whole("joint_attention_dim", 4096),
               .pooled = whole("pooled_projection_dim", 768),
               .guidance = config.is_object() && config.contains("guidance_embeds") && config["guidance_embeds"] == true}
      .compared();
}

}  // namespace

const NameMap& original_names() {
  static const NameMap map{{"", "", embeddings}, {"", "", double_blocks}, {"", "", single_blocks}};
  return map;
}

const NetworkFiles transformer_files{
    .classes = {"FluxTransformer2DModel"},
    .spellings = {{.name = "original",
                   .marks = {"double_blocks.0.img_mod.lin.weight", "single_blocks.0.linear1.weight", "vector_in.in_layer.weight",
                             "final_layer.linear.weight"},
                   .reading = [](const TensorList&, const Json&) { return original_names(); },
                   .writing = [](const TensorList&) { return original_names(); }},
                  {.name = "diffusers",
                   .marks = {"transformer_blocks.0.norm1_context.linear.weight", "single_transformer_blocks.0.proj_mlp.weight",
                             "time_text_embed.text_embedder.linear_1.weight", "norm_out.linear.weight"}}},
    .geometry = geometry_of,
    .stated_geometry = stated_geometry,
    .gguf = {.spelling = "original",
             .exact = {"x_embedder.*", "context_embedder.*", "time_text_embed.*", "norm_out.*", "proj_out.*"},
             .important = {"transformer_blocks.*.to_v.weight", "transformer_blocks.*.add_v_proj.weight",
                           "transformer_blocks.*.net.2.weight"}},
};

std::vector<Signature> transformer_signatures() {
  struct Kind {
    const char* name;
    int64_t in;
    bool guidance;
  };
  constexpr int64_t any = Signature::any;
  std::vector<Signature> all;
  for (const auto& [name, in, guidance] :
       {Kind{"FLUX.1 dev", 64, true}, {"FLUX.1 schnell", 64, false}, {"FLUX.1 Fill", 384, true}, {"FLUX.1 Canny or Depth", 128, true}}) {
    const auto add = [&, name = name, guidance = guidance](std::string_view layout, std::vector<Signature::Needed> present,
                                                           const std::string& guide) {
      Signature& s = all.emplace_back(Signature{
          .part = "denoiser", .what = name, .layout = layout, .prefixes = {"", "model.diffusion_model."}, .present = std::move(present)});
      if (guidance) s.present.push_back({guide, {any, 256}});
      else s.absent.push_back(guide);
    };
    add("original",
        {{"img_in.weight", {any, in}},
         {"double_blocks.0.img_mod.lin.weight", {}},
         {"double_blocks.0.img_attn.norm.key_norm.scale", {}},
         {"single_blocks.0.linear1.weight", {}},
         {"vector_in.in_layer.weight", {}},
         {"final_layer.linear.weight", {}}},
        "guidance_in.in_layer.weight");
    add("diffusers",
        {{"x_embedder.weight", {any, in}},
         {"transformer_blocks.0.norm1_context.linear.weight", {}},
         {"transformer_blocks.0.attn.norm_added_k.weight", {}},
         {"single_transformer_blocks.0.proj_mlp.weight", {}},
         {"time_text_embed.text_embedder.linear_1.weight", {}},
         {"norm_out.linear.weight", {}}},
        "time_text_embed.guidance_embedder.linear_1.weight");
  }
  return all;
}

}  // namespace hearth::models::flux1
