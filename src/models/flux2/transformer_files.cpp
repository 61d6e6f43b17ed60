#include "models/flux2/transformer_files.h"

#include <array>
#include <nlohmann/json.hpp>

#include "weights/layout/sizes.h"

namespace hearth::models::flux2 {
namespace {

using Json = nlohmann::json;

constexpr std::array<NameRule, 11> outside{{
    {"img_in.weight", "x_embedder.weight"},
    {"txt_in.weight", "context_embedder.weight"},
    {"time_in.in_layer.weight", "time_guidance_embed.timestep_embedder.linear_1.weight"},
    {"time_in.out_layer.weight", "time_guidance_embed.timestep_embedder.linear_2.weight"},
    {"guidance_in.in_layer.weight", "time_guidance_embed.guidance_embedder.linear_1.weight"},
    {"guidance_in.out_layer.weight", "time_guidance_embed.guidance_embedder.linear_2.weight"},
    {"double_stream_modulation_img.lin.weight", "double_stream_modulation_img.linear.weight"},
    {"double_stream_modulation_txt.lin.weight", "double_stream_modulation_txt.linear.weight"},
    {"single_stream_modulation.lin.weight", "single_stream_modulation.linear.weight"},
    {"final_layer.linear.weight", "proj_out.weight"},
    // Shift before scale there, scale before shift here.
    {"final_layer.adaLN_modulation.1.weight", "norm_out.linear.weight", form::swapped},
}};

constexpr std::array<NameRule, 16> double_blocks{{
    {"double_blocks.#.img_attn.qkv.weight", "transformer_blocks.#.attn.to_q.weight", form::rows(0, 1, 3)},
    {"double_blocks.#.img_attn.qkv.weight", "transformer_blocks.#.attn.to_k.weight", form::rows(1, 2, 3)},
    {"double_blocks.#.img_attn.qkv.weight", "transformer_blocks.#.attn.to_v.weight", form::rows(2, 3, 3)},
    {"double_blocks.#.txt_attn.qkv.weight", "transformer_blocks.#.attn.add_q_proj.weight", form::rows(0, 1, 3)},
    {"double_blocks.#.txt_attn.qkv.weight", "transformer_blocks.#.attn.add_k_proj.weight", form::rows(1, 2, 3)},
    {"double_blocks.#.txt_attn.qkv.weight", "transformer_blocks.#.attn.add_v_proj.weight", form::rows(2, 3, 3)},
    {"double_blocks.#.img_attn.norm.query_norm.scale", "transformer_blocks.#.attn.norm_q.weight"},
    {"double_blocks.#.img_attn.norm.key_norm.scale", "transformer_blocks.#.attn.norm_k.weight"},
    {"double_blocks.#.txt_attn.norm.query_norm.scale", "transformer_blocks.#.attn.norm_added_q.weight"},
    {"double_blocks.#.txt_attn.norm.key_norm.scale", "transformer_blocks.#.attn.norm_added_k.weight"},
    {"double_blocks.#.img_attn.proj.weight", "transformer_blocks.#.attn.to_out.0.weight"},
    {"double_blocks.#.txt_attn.proj.weight", "transformer_blocks.#.attn.to_add_out.weight"},
    {"double_blocks.#.img_mlp.0.weight", "transformer_blocks.#.ff.linear_in.weight"},
    {"double_blocks.#.img_mlp.2.weight", "transformer_blocks.#.ff.linear_out.weight"},
    {"double_blocks.#.txt_mlp.0.weight", "transformer_blocks.#.ff_context.linear_in.weight"},
    {"double_blocks.#.txt_mlp.2.weight", "transformer_blocks.#.ff_context.linear_out.weight"},
}};

constexpr std::array<NameRule, 4> single_blocks{{
    {"single_blocks.#.linear1.weight", "single_transformer_blocks.#.attn.to_qkv_mlp_proj.weight"},
    {"single_blocks.#.linear2.weight", "single_transformer_blocks.#.attn.to_out.weight"},
    {"single_blocks.#.norm.query_norm.scale", "single_transformer_blocks.#.attn.norm_q.weight"},
    {"single_blocks.#.norm.key_norm.scale", "single_transformer_blocks.#.attn.norm_k.weight"},
}};

const NameMap& original_names() {
  static const NameMap map{{"", "", outside}, {"", "", double_blocks}, {"", "", single_blocks}};
  return map;
}

struct Sizes {
  int64_t in, out, width, head, layers, single_layers, text;
  bool guidance;

  Geometry compared() const {
    return {.sizes = {{"in", {in}},
                      {"out", {out}},
                      {"width", {width}},
                      {"head", {head}},
                      {"layers", {layers, single_layers}},
                      {"text", {text}},
                      {"guidance", {guidance}}},
            .description = fmt::format("width {}; {} double and {} single blocks; text {}; {} in, {} out; {} guidance", width, layers,
                                       single_layers, text, in, out, guidance ? "with" : "without")};
  }
};

Geometry geometry_of(const TensorList& official) {
  const auto axis = [&](const std::string& name, int i) { return axis_of(official, name, i); };
  const auto count = [&](const char* blocks) {
    int64_t n = 0;
    while (official.contains(fmt::format("{}.{}.attn.norm_q.weight", blocks, n))) ++n;
    return n;
  };
  return Sizes{.in = axis("x_embedder.weight", 1),
               .out = axis("proj_out.weight", 0),
               .width = axis("x_embedder.weight", 0),
               .head = axis("transformer_blocks.0.attn.norm_q.weight", 0),
               .layers = count("transformer_blocks"),
               .single_layers = count("single_transformer_blocks"),
               .text = axis("context_embedder.weight", 1),
               .guidance = official.contains("time_guidance_embed.guidance_embedder.linear_1.weight")}
      .compared();
}

Geometry stated_geometry(const Json& config) {
  const auto whole = [&](const char* key, int64_t otherwise) { return stated_integer(config, key, otherwise); };
  const int64_t in = whole("in_channels", 128), head = whole("attention_head_dim", 128);
  return Sizes{.in = in,
               .out = whole("out_channels", in),
               .width = head * whole("num_attention_heads", 48),
               .head = head,
               .layers = whole("num_layers", 8),
               .single_layers = whole("num_single_layers", 48),
               .text = whole("joint_attention_dim", 15360),
               .guidance = !(config.is_object() && config.contains("guidance_embeds") && config["guidance_embeds"] == false)}
      .compared();
}

}  // namespace

const NetworkFiles transformer_files{
    .classes = {"Flux2Transformer2DModel"},
    .spellings = {{.name = "original",
                   .marks = {"double_stream_modulation_img.lin.weight", "single_stream_modulation.lin.weight",
                             "double_blocks.0.img_attn.qkv.weight", "single_blocks.0.linear1.weight"},
                   .reading = [](const TensorList&, const Json&) { return original_names(); },
                   .writing = [](const TensorList&) { return original_names(); }},
                  {.name = "diffusers",
                   .marks = {"double_stream_modulation_img.linear.weight", "single_stream_modulation.linear.weight",
                             "single_transformer_blocks.0.attn.to_qkv_mlp_proj.weight"}}},
    .geometry = geometry_of,
    .stated_geometry = stated_geometry,
    .gguf = {.spelling = "original",
             .exact = {"x_embedder.*", "context_embedder.*", "time_guidance_embed.*", "*_modulation*.linear.*", "norm_out.*", "proj_out.*"},
             .important = {"transformer_blocks.*.to_v.weight", "transformer_blocks.*.add_v_proj.weight",
                           "transformer_blocks.*.linear_out.weight"}},
};

std::vector<Signature> transformer_signatures() {
  struct Kind {
    const char* name;
    int64_t width, text;
  };
  std::vector<Signature> all;
  for (const auto& [name, width, text] :
       {Kind{"FLUX.2 dev", 6144, 15360}, Kind{"FLUX.2 klein 4B", 3072, 7680}, Kind{"FLUX.2 klein 9B", 4096, 12288}}) {
    const auto add = [&, name = name](std::string_view layout, std::vector<Signature::Needed> present) {
      all.push_back(Signature{
          .part = "denoiser", .what = name, .layout = layout, .prefixes = {"", "model.diffusion_model."}, .present = std::move(present)});
    };
    add("original", {{"img_in.weight", {width, 128}}, {"txt_in.weight", {width, text}}, {"single_stream_modulation.lin.weight", {}}});
    add("diffusers",
        {{"x_embedder.weight", {width, 128}}, {"context_embedder.weight", {width, text}}, {"single_stream_modulation.linear.weight", {}}});
  }
  return all;
}

}  // namespace hearth::models::flux2
