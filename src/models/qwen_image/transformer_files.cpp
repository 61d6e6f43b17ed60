#include "models/qwen_image/transformer_files.h"

#include <array>
#include <nlohmann/json.hpp>

#include "weights/layout/sizes.h"

namespace hearth::models::qwen_image {
namespace {

using Json = nlohmann::json;

constexpr std::array<NameRule, 1> everything{{{"**", "**"}}};

struct Sizes {
  int64_t in, out, width, head, layers, text;

  Geometry compared() const {
    return {.sizes = {{"in", {in}}, {"out", {out}}, {"width", {width}}, {"head", {head}}, {"layers", {layers}}, {"text", {text}}},
            .description = fmt::format("width {}, {} blocks; text {}; {} in, {} out", width, layers, text, in, out)};
  }
};

Geometry geometry_of(const TensorList& official) {
  int64_t layers = 0;
  while (official.contains(fmt::format("transformer_blocks.{}.attn.norm_q.weight", layers))) ++layers;
  return Sizes{.in = axis_of(official, "img_in.weight", 1),
               .out = axis_of(official, "proj_out.weight", 0),
               .width = axis_of(official, "img_in.weight", 0),
               .head = axis_of(official, "transformer_blocks.0.attn.norm_q.weight", 0),
               .layers = layers,
               .text = axis_of(official, "txt_in.weight", 1)}
      .compared();
}

Geometry stated_geometry(const Json& config) {
  const auto whole = [&](const char* key, int64_t otherwise) { return stated_integer(config, key, otherwise); };
  const int64_t in = whole("in_channels", 64), head = whole("attention_head_dim", 128);
  const bool as_in = config.is_object() && config.contains("out_channels") && config["out_channels"].is_null();
  return Sizes{.in = in,
               .out = 4 * (as_in ? in : whole("out_channels", 16)),
               .width = head * whole("num_attention_heads", 24),
               .head = head,
               .layers = whole("num_layers", 60),
               .text = whole("joint_attention_dim", 3584)}
      .compared();
}

}  // namespace

const NetworkFiles transformer_files{
    .classes = {"QwenImageTransformer2DModel"},
    .spellings = {{.name = "diffusers",
                   .marks = {"transformer_blocks.0.img_mod.1.weight", "transformer_blocks.0.txt_mod.1.weight", "txt_norm.weight"},
                   .writing =
                       [](const TensorList&) {
                         return NameMap{{"", "", everything}};
                       }}},
    .geometry = geometry_of,
    .stated_geometry = stated_geometry,
    .gguf = {.spelling = "diffusers",
             .exact = {"img_in.*", "txt_in.*", "time_text_embed.*", "*.img_mod.*", "*.txt_mod.*", "norm_out.*", "proj_out.*"},
             .important = {"transformer_blocks.*.to_v.weight", "transformer_blocks.*.add_v_proj.weight",
                           "transformer_blocks.*.net.2.weight"}},
};

std::vector<Signature> transformer_signatures() {
  return {Signature{.part = "denoiser",
                    .what = "Qwen-Image",
                    .layout = "diffusers",
                    .prefixes = {"", "model.diffusion_model."},
                    .present = {{"img_in.weight", {3072, 64}}, {"txt_in.weight", {3072, 3584}}, {"txt_norm.weight", {}}}}};
}

}  // namespace hearth::models::qwen_image
