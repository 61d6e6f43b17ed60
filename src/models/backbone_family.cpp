#include "models/backbone_family.h"

namespace hearth::models {
namespace {

using Kind = GgufKey::Kind;

constexpr GgufKey keys[] = {
    {.key = "ssm.state_size", .config = "state_size"},
    {.key = "ssm.conv_kernel", .config = "conv_kernel"},
    {.key = "attention.layer_norm_rms_epsilon", .config = "layer_norm_epsilon", .kind = Kind::number},
    {.config = "use_bias", .kind = Kind::present, .tensor = "blk.0.ssm_in.bias"},
    {.config = "use_conv_bias", .kind = Kind::present, .tensor = "blk.0.ssm_conv1d.bias"},
    {.key = "feed_forward_length", .kind = Kind::nothing},
};

constexpr Alias names[] = {
    {"token_embd.weight", "backbone.embeddings.weight"},
    {"output_norm.weight", "backbone.norm_f.weight"},
    {"blk.#.attn_norm.*", "backbone.layers.#.norm.*"},
    {"blk.#.ssm_in.*", "backbone.layers.#.mixer.in_proj.*"},
    {"blk.#.ssm_conv1d.*", "backbone.layers.#.mixer.conv1d.*"},
    {"blk.#.ssm_a", "backbone.layers.#.mixer.A_log"},
    {"blk.#.ssm_d", "backbone.layers.#.mixer.D"},
    {"blk.#.ssm_out.*", "backbone.layers.#.mixer.out_proj.*"},
};

}  // namespace

GgufArchitecture backbone_gguf(GgufArchitecture own) {
  own.keys = joined(std::move(own.keys), {keys, gguf_without_attention, gguf_without_positions});
  own.names.insert(own.names.end(), std::begin(names), std::end(names));
  own.check = [](const GgufKeys&) {};
  return own;
}

std::shared_ptr<TensorSource> with_backbone_names(std::shared_ptr<TensorSource> published, const Config&) {
  static constexpr Alias other[] = {{"backbone.embedding.weight", "backbone.embeddings.weight", true}};
  return aliased(std::move(published), other);
}

}  // namespace hearth::models
