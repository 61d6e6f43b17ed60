#include "models/z_image/transformer_files.h"

#include <array>
#include <nlohmann/json.hpp>

#include "models/z_image/controlnet_files.h"
#include "weights/layout/sizes.h"

namespace hearth::models::z_image {
namespace {

using Json = nlohmann::json;

constexpr std::array<NameRule, 8> outside{{
    {"x_embedder.*", "all_x_embedder.2-1.*"},
    {"final_layer.linear.*", "all_final_layer.2-1.linear.*"},
    {"final_layer.adaLN_modulation.1.*", "all_final_layer.2-1.adaLN_modulation.1.*"},
    {"t_embedder.mlp.#.*", "t_embedder.mlp.#.*"},
    {"cap_embedder.#.*", "cap_embedder.#.*"},
    {"x_pad_token", "x_pad_token"},
    {"cap_pad_token", "cap_pad_token"},
    {"norm_final.weight", "norm_final.weight"},
}};

constexpr std::array<NameRule, 10> block{{
    {"#.attention.qkv.weight", "#.attention.to_q.weight", form::rows(0, 1, 3)},
    {"#.attention.qkv.weight", "#.attention.to_k.weight", form::rows(1, 2, 3)},
    {"#.attention.qkv.weight", "#.attention.to_v.weight", form::rows(2, 3, 3)},
    {"#.attention.out.weight", "#.attention.to_out.0.weight"},
    {"#.attention.q_norm.weight", "#.attention.norm_q.weight"},
    {"#.attention.k_norm.weight", "#.attention.norm_k.weight"},
    {"#.feed_forward.*.weight", "#.feed_forward.*.weight"},
    {"#.attention_norm1.weight", "#.attention_norm1.weight"},
    {"#.attention_norm2.weight", "#.attention_norm2.weight"},
    {"#.adaLN_modulation.0.*", "#.adaLN_modulation.0.*"},
}};
constexpr std::array<NameRule, 2> mlp_norms{{
    {"#.ffn_norm1.weight", "#.ffn_norm1.weight"},
    {"#.ffn_norm2.weight", "#.ffn_norm2.weight"},
}};

const NameMap& original_names() {
  static const NameMap map = [] {
    NameMap all{{"", "", outside}};
    for (const char* blocks : {"layers", "noise_refiner", "context_refiner"})
      for (const std::span<const NameRule> rules : {std::span<const NameRule>(block), std::span<const NameRule>(mlp_norms)})
        all.push_back({blocks, blocks, rules});
    return all;
  }();
  return map;
}

struct Sizes {
  int64_t channels, width, head, layers, refiner_layers, text;

  Geometry compared() const {
    return {
        .sizes = {{"channels", {channels}}, {"width", {width}}, {"head", {head}}, {"layers", {layers, refiner_layers}}, {"text", {text}}},
        .description =
            fmt::format("width {}; {} layers, {} in each refiner; text {}; {} channels", width, layers, refiner_layers, text, channels)};
  }
};

Geometry geometry_of(const TensorList& official) {
  const auto axis = [&](const std::string& name, int i) { return axis_of(official, name, i); };
  const auto count = [&](const char* blocks) {
    int64_t n = 0;
    while (official.contains(fmt::format("{}.{}.attention_norm1.weight", blocks, n))) ++n;
    return n;
  };
  return Sizes{.channels = axis("all_x_embedder.2-1.weight", 1) / 4,
               .width = axis("all_x_embedder.2-1.weight", 0),
               .head = axis("layers.0.attention.norm_q.weight", 0),
               .layers = count("layers"),
               .refiner_layers = count("context_refiner"),
               .text = axis("cap_embedder.1.weight", 1)}
      .compared();
}

Geometry stated_geometry(const Json& config) {
  const auto whole = [&](const char* key, int64_t otherwise) { return stated_integer(config, key, otherwise); };
  const int64_t width = whole("dim", 3840), heads = whole("n_heads", 30);
  return Sizes{.channels = whole("in_channels", 16),
               .width = width,
               .head = heads > 0 ? width / heads : 0,
               .layers = whole("n_layers", 30),
               .refiner_layers = whole("n_refiner_layers", 2),
               .text = whole("cap_feat_dim", 2560)}
      .compared();
}

}  // namespace

const NetworkFiles transformer_files{
    .classes = {"ZImageTransformer2DModel"},
    .spellings = {{.name = "original",
                   .marks = {"x_embedder.weight", "x_pad_token", "cap_embedder.0.weight", "layers.0.attention.qkv.weight",
                             "layers.0.adaLN_modulation.0.weight", "final_layer.linear.weight"},
                   .reading = [](const TensorList&, const Json&) { return original_names(); },
                   .writing = [](const TensorList&) { return original_names(); }},
                  {.name = "diffusers",
                   .marks = {"all_x_embedder.2-1.weight", "x_pad_token", "cap_embedder.0.weight", "layers.0.attention.to_q.weight",
                             "layers.0.adaLN_modulation.0.weight"}}},
    .ignored = {"norm_final.weight"},
    .geometry = geometry_of,
    .stated_geometry = stated_geometry,
    .gguf = {.spelling = "original",
             .exact = {"all_x_embedder.*", "cap_embedder.*", "t_embedder.*", "all_final_layer.*", "*.adaLN_modulation.*", "*_pad_token"},
             .important = {"*.to_v.weight", "*.feed_forward.w2.weight"}},
};

std::vector<Signature> signatures() {
  constexpr int64_t any = Signature::any;
  const auto of = [](std::string_view layout, std::vector<Signature::Needed> present) {
    return Signature{
        .part = "denoiser", .what = "Z-Image", .layout = layout, .prefixes = {"", "model.diffusion_model."}, .present = std::move(present)};
  };
  return {of("original", {{"x_embedder.weight", {3840, 64}},
                          {"x_pad_token", {1, 3840}},
                          {"cap_embedder.1.weight", {3840, any}},
                          {"layers.0.attention.qkv.weight", {}},
                          {"layers.0.adaLN_modulation.0.weight", {any, 256}},
                          {"final_layer.linear.weight", {}}}),
          of("diffusers", {{"all_x_embedder.2-1.weight", {3840, 64}},
                           {"x_pad_token", {1, 3840}},
                           {"cap_embedder.1.weight", {3840, any}},
                           {"layers.0.attention.to_q.weight", {}},
                           {"layers.0.adaLN_modulation.0.weight", {any, 256}}}),
          control_signature()};
}

}  // namespace hearth::models::z_image
