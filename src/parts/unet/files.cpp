#include "parts/unet/files.h"

#include <array>
#include <nlohmann/json.hpp>

#include "parts/unet/geometry.h"
#include "parts/unet/names.h"

namespace hearth::parts {
namespace {

NameMap names_of_original(const TensorList& stored, const nlohmann::json& config) {
  UnetBlocks blocks = blocks_of_original(stored);
  blocks.class_embedding = config.is_object() && config.contains("class_embed_type") && !config["class_embed_type"].is_null();
  return unet_names(blocks);
}

struct Variant {
  std::string_view suffix;
  int64_t channels;
};
constexpr std::array<Variant, 4> variants{{{"", 4}, {", inpainting", 9}, {", InstructPix2Pix", 8}, {", depth", 5}}};
constexpr const char* boxes = "position_net.linears.0.weight";  // GLIGEN

Signature in_original(const std::string& what, const UnetKind& k, int64_t channels) {
  Signature s{.part = "denoiser",
              .what = what,
              .layout = "original",
              .prefixes = {"", "model.diffusion_model."},
              .present = {{"input_blocks.0.0.weight", {k.width, channels, 3, 3}},
                          {"middle_block.1.transformer_blocks.0.attn2.to_k.weight", {Signature::any, k.context}},
                          {"time_embed.0.weight", {4 * k.width, k.width}},
                          {"out.2.weight", {4, k.width, 3, 3}}},
              .absent = {boxes}};
  const Signature::Needed first{"input_blocks.1.1.proj_in.weight", {}}, label{"label_emb.0.0.weight", {4 * k.width, k.label}};
  if (k.attends_at_once) s.present.push_back(first);
  else s.absent.push_back(first.name);
  if (k.label) s.present.push_back(label);
  else s.absent.push_back(label.name);
  return s;
}

Signature in_diffusers(const std::string& what, const UnetKind& k, int64_t channels) {
  Signature s{.part = "denoiser",
              .what = what,
              .layout = "diffusers",
              .prefixes = {""},
              .present = {{"conv_in.weight", {k.width, channels, 3, 3}},
                          {"mid_block.attentions.0.transformer_blocks.0.attn2.to_k.weight", {Signature::any, k.context}},
                          {"time_embedding.linear_1.weight", {4 * k.width, k.width}},
                          {"conv_out.weight", {4, k.width, 3, 3}}},
              .absent = {boxes, "transformer_in.proj_in.weight", "down_blocks.0.motion_modules.0.proj_in.weight"}};
  const Signature::Needed first{"down_blocks.0.attentions.0.proj_in.weight", {}},
      label{"add_embedding.linear_1.weight", {4 * k.width, k.label}};
  if (k.attends_at_once) s.present.push_back(first);
  else s.absent.push_back(first.name);
  if (k.label) s.present.push_back(label);
  else s.absent.insert(s.absent.end(), {label.name, "class_embedding.linear_1.weight"});
  return s;
}

}  // namespace

const NetworkFiles unet_files{
    .classes = {"UNet2DConditionModel"},
    .spellings = {{.name = "original",
                   .marks = {"input_blocks.0.0.weight", "time_embed.0.weight", "out.2.weight"},
                   .reading = names_of_original,
                   .writing = [](const TensorList& official) { return unet_names(blocks_of_official(official)); }},
                  {.name = "diffusers",
                   .marks = {"conv_out.weight", "time_embedding.linear_1.weight", "down_blocks.0.resnets.0.conv1.weight"}}},
    .geometry = [](const TensorList& official) { return geometry_of(official).compared(); },
    .stated_geometry = [](const nlohmann::json& config) { return geometry_of(config).compared(); },
    .gguf = {.spelling = "original",
             .exact = {"time_embedding.*", "add_embedding.*", "class_embedding.*", "conv_in.*", "conv_out.*"},
             .important = {"*.to_v.weight", "*.ff.net.2.weight"}},
};

std::vector<Signature> unet_signatures(const std::string& name, const UnetKind& kind) {
  std::vector<Signature> all;
  for (const Variant& v : variants) {
    all.push_back(in_original(name + std::string(v.suffix), kind, v.channels));
    all.push_back(in_diffusers(name + std::string(v.suffix), kind, v.channels));
  }
  return all;
}

}  // namespace hearth::parts
