#include "models/rwkv7/config.h"

#include "models/rwkv7/blocks.h"
#include "parts/config_reading.h"
#include "parts/decoder/reading.h"
#include "parts/decoder/shift_tensors.h"
#include "weights/stacked.h"

namespace hearth::models::rwkv7 {
namespace {

int64_t read_head(const Config& c, int64_t width) {
  using parts::positive_integer;
  const bool by_count = parts::is_null(c, "head_dim") && c.has("num_heads");
  const int64_t head = by_count ? width / positive_integer(c, "num_heads", 1) : positive_integer(c, "head_dim", 64);
  if (head < 1 || width % head || (c.has("num_heads") && c.integer("num_heads") * head != width))
    fail<WeightError>("{}: 'hidden_size' = {} is not 'num_heads' times 'head_dim' = {}", c.where(), width, head);
  c.no_effect({"num_heads"}), c.means("head_dim", std::to_string(head));
  return head;
}

int64_t read_mlp_width(const Config& c, int64_t width) {
  const double ratio = c.number("hidden_ratio", 4);
  const int64_t usual = (int64_t(double(width) * ratio) + 31) / 32 * 32;
  if (!(ratio > 0)) fail<WeightError>("{}: 'hidden_ratio' = {}, expected a positive number", c.where(), ratio);
  c.no_effect({"hidden_ratio"});
  return parts::positive_integer(c, "intermediate_size", usual);
}

}  // namespace

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"rwkv7"});
  c.only("hidden_act", {"sqrelu"});
  c.only_null("attn");
  refuse_null(c, {"decay_low_rank_dim", "a_low_rank_dim", "v_low_rank_dim", "gate_low_rank_dim", "norm_eps"});
  const DecoderKeys keys = DecoderKeys::read_sizes(c, {.vocabulary = 32000, .width = 2048, .layers = 24, .positions = 2048});
  const NormConfig norm{.kind = NormConfig::Kind::layer, .eps = float(c.number("norm_eps", 1e-5)), .bias = c.boolean("norm_bias", true)};

  TimeMixConfig time;
  time.size = read_head(c, keys.width);
  time.heads = keys.width / time.size;
  time.decay_rank = positive_integer(c, "decay_low_rank_dim", 64);
  time.rate_rank = positive_integer(c, "a_low_rank_dim", 64);
  time.value_rank = positive_integer(c, "v_low_rank_dim", 16);
  time.gate_rank = positive_integer(c, "gate_low_rank_dim", 128);
  time.eps = float(double(time.size) * c.number("norm_eps", 1e-5));
  ChannelMixConfig channel;
  channel.width = read_mlp_width(c, keys.width);
  for (const int64_t values : c.integer_per_level("value_dim", size_t(keys.layers), keys.width))
    if (values != keys.width)
      fail<UnsupportedError>("{}: 'value_dim' = {} is not supported, expected 'hidden_size' = {}", c.where(), values, keys.width);
  c.no_effect({"value_dim"});

  DecoderConfig d = keys.decoder();
  d.rotaries = {};
  d.norm = norm;
  d.embedding = "model.embeddings";
  if (c.boolean("norm_first", true)) d.first_norm = LayerNormConfig{"model.layers.0.pre_norm", norm};
  const auto first = [&time] {
    auto own = std::make_shared<TimeMixConfig>(time);
    own->first = true;
    return own;
  }();
  const auto other = std::make_shared<const TimeMixConfig>(time);
  for (int64_t i = 0; i < keys.layers; ++i) {
    std::shared_ptr<const OwnBlock> mixer = other;
    if (i == 0) mixer = first;
    d.layers.push_back({.mixer = {.name = "attn", .block = mixer, .before = LayerNormConfig{"attn_norm", norm}},
                        .mlp = SublayerConfig{.name = "ffn", .block = channel, .before = LayerNormConfig{"ffn_norm", norm}}});
  }
  c.integer("attention_heads", 0);  // of GGUF files, always 0
  c.no_effect({"attn_mode", "fuse_norm", "fuse_cross_entropy", "fuse_linear_cross_entropy", "use_l2warp"});
  keys.finish(c);
  return d;
}

std::shared_ptr<TensorSource> present(std::shared_ptr<TensorSource> published, const Config&) {
  static const std::string unread[] = {"model.layers.0.attn.v_lora."};
  static constexpr std::string_view vectors[] = {"model.layers.#.attn.k_k", "model.layers.#.attn.k_a", "model.layers.#.attn.r_k",
                                                 "model.layers.#.ffn.x_k"};
  published = without(std::move(published), unread);
  const auto stored = published->list();
  std::map<std::string, DerivedTensor> tensors = parts::shift_tensors(
      stored, {.joined = "model.layers.#.attn.x_x", .first = "model.layers.#.attn.x_r", .letters = "rwkvag", .vectors = vectors});
  constexpr std::string_view rate = "model.layers.0.attn.a_lora.";
  for (const auto& [name, info] : stored) {
    if (!name.starts_with(rate)) continue;
    DerivedTensor copy = derive_view(name, info.dtype, info.shape);
    copy.replaces = false;
    tensors[std::string(unread[0]) + name.substr(rate.size())] = std::move(copy);
  }
  return derived(std::move(published), std::move(tensors));
}

}  // namespace hearth::models::rwkv7
