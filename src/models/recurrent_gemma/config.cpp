#include "models/recurrent_gemma/config.h"

#include <cmath>

#include "core/dtype.h"
#include "models/recurrent_gemma/recurrent_block.h"
#include "parts/config_reading.h"
#include "parts/decoder/reading.h"
#include "weights/stacked.h"

namespace hearth::models::recurrent_gemma {
namespace {

// Which layers attend: block_types, repeated.
std::vector<bool> read_attending(const Config& c, int64_t layers) {
  const std::vector<std::string> types = c.texts("block_types", {{"recurrent", "recurrent", "attention"}});
  if (types.empty()) fail<WeightError>("{}: 'block_types' is empty", c.where());
  for (const std::string& type : types)
    if (type != "recurrent" && type != "attention")
      fail<UnsupportedError>("{}: the block type \"{}\" is not supported, expected recurrent or attention", c.where(), type);
  std::vector<bool> attending;
  for (int64_t i = 0; i < layers; ++i) attending.push_back(types[size_t(i) % types.size()] == "attention");
  return attending;
}

}  // namespace

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"recurrent_gemma"});
  c.no_effect({"hidden_act"});  // hidden_activation counts
  const int64_t heads = positive_integer(c, "num_attention_heads", 10), width = positive_integer(c, "hidden_size", 2560);
  if (width % heads) fail<WeightError>("{}: 'num_attention_heads' = {} does not divide 'hidden_size' = {}", c.where(), heads, width);
  if (c.has("head_dim") && c.integer("head_dim") != width / heads)
    fail<UnsupportedError>("{}: 'head_dim' = {} is not supported, expected 'hidden_size' / 'num_attention_heads' = {}", c.where(),
                           c.integer("head_dim"), width / heads);
  c.only_number("partial_rotary_factor", 0.5);  // the reference splits a head into two parts
  DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 256000,
                                           .width = 2560,
                                           .mlp_width = 7680,
                                           .layers = 26,
                                           .heads = 10,
                                           .head = width / heads,
                                           .positions = 8192,
                                           .activation = Activation::gelu_tanh,
                                           .tied = true,
                                           .partial = 0.5,
                                           .names = {.activation = "hidden_activation", .partial = "partial_rotary_factor"}});
  NormConfig norm = keys.rms_norm();
  norm.offset = 1;
  // null means as many as heads, and so does an absent key.
  AttentionConfig attention = keys.attention();
  attention.qkv_bias = c.boolean("attention_bias", false);
  attention.o_bias = true;
  attention.window = positive_integer(c, "attention_window_size", 2048);
  MlpConfig mlp = keys.mlp();
  if (mlp.width % 2) fail<WeightError>("{}: 'intermediate_size' = {}, expected an even number", c.where(), mlp.width);
  mlp.width /= 2;
  mlp.bias = true;

  RecurrentConfig recurrent;
  recurrent.width = positive_integer(c, "lru_width", keys.width);
  recurrent.heads = keys.heads;
  if (recurrent.width % keys.heads)
    fail<WeightError>("{}: 'num_attention_heads' = {} does not divide 'lru_width' = {}", c.where(), keys.heads, recurrent.width);
  recurrent.taps = positive_integer(c, "conv1d_width", 4);
  if (recurrent.taps < 2) fail<UnsupportedError>("{}: 'conv1d_width' = 1 is not supported, expected at least 2", c.where());
  recurrent.activation = keys.activation;
  const auto block = std::make_shared<const RecurrentConfig>(recurrent);

  DecoderConfig d = keys.decoder();
  // In bf16, whatever the dtype of the model.
  d.embedding_scale = double(bf16_to_f32(f32_to_bf16(float(std::sqrt(double(keys.width))))));
  d.norm = norm;
  d.last_norm = "model.final_norm";
  d.head.soft_cap = float(c.number("logits_soft_cap", 30.0));
  if (!(d.head.soft_cap > 0)) fail<WeightError>("{}: 'logits_soft_cap' = {}, expected a positive number", c.where(), d.head.soft_cap);
  for (const bool attends : read_attending(c, keys.layers)) {
    LayerConfig& layer = d.layers.emplace_back(pre_norm(norm, attention, mlp));
    if (!attends) layer.mixer.block = block;
    layer.mixer.name = "temporal_block";
    layer.mixer.before->name = "temporal_pre_norm";
    layer.mlp->name = "mlp_block";
    layer.mlp->before->name = "channel_pre_norm";
  }
  c.no_effect({"w_init_variance_scale", "final_w_init_variance_scale"});
  keys.finish(c);
  return d;
}

std::shared_ptr<TensorSource> present(std::shared_ptr<TensorSource> published, const Config&) {
  static constexpr StackRule rules[] = {{.stored = "model.layers.#.temporal_block.rg_lru.input_gate_weight",
                                         .official = "model.layers.#.temporal_block.rg_lru.input_gate.#.weight",
                                         .transposed = true},
                                        {.stored = "model.layers.#.temporal_block.rg_lru.recurrent_gate_weight",
                                         .official = "model.layers.#.temporal_block.rg_lru.recurrent_gate.#.weight",
                                         .transposed = true}};
  return unstacked(std::move(published), rules);
}

}  // namespace hearth::models::recurrent_gemma
