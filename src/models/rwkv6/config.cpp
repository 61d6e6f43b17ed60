#include "models/rwkv6/config.h"

#include <cmath>

#include "models/rwkv6/blocks.h"
#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::rwkv6 {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"rwkv6"});
  c.only("model_version", {"6_0"});
  refuse_null(c, {"head_size", "layer_norm_epsilon"});
  const DecoderKeys keys = DecoderKeys::read_sizes(c, {.vocabulary = 65536, .width = 768, .layers = 24, .positions = 4096});
  if (c.has("attention_hidden_size") && c.integer("attention_hidden_size") != keys.width)
    fail<UnsupportedError>("{}: 'attention_hidden_size' = {} is not supported, expected 'hidden_size' = {}", c.where(),
                           c.integer("attention_hidden_size"), keys.width);
  c.no_effect({"attention_hidden_size", "num_attention_heads", "context_length"});

  TimeMixConfig time;
  time.size = positive_integer(c, "head_size", 64);
  if (keys.width % time.size)
    fail<WeightError>("{}: 'head_size' = {} does not divide 'hidden_size' = {}", c.where(), time.size, keys.width);
  time.heads = keys.width / time.size;
  const bool large = keys.width == 4096;
  time.shift_rank = positive_integer(c, "time_mix_extra_dim", large ? 64 : 32);
  time.decay_rank = positive_integer(c, "time_decay_extra_dim", large ? 128 : 64);
  const int64_t divisor = positive_integer(c, "head_size_divisor", 8);
  time.eps = float(1e-5 * double(divisor * divisor));
  ChannelMixConfig channel{.shift = "time_maa_k", .gate_shift = "time_maa_r"};
  channel.width = positive_integer(c, "intermediate_size", int64_t(double(keys.width) * 3.5) / 32 * 32);
  // In folders the key is about 16-bit floats and does not change the result. GGUF files have divided the matrices that add to the residual
  // stream, those of layer i by 2^(i / n).
  const int64_t divided = c.integer("divided_every", 0);
  c.no_effect({"rescale_every"});

  const NormConfig norm{.kind = NormConfig::Kind::layer, .eps = float(c.number("layer_norm_epsilon", 1e-5)), .bias = true};
  DecoderConfig d = keys.decoder();
  d.rotaries = {};
  d.embedding = "rwkv.embeddings";
  d.layer = "rwkv.blocks";
  d.last_norm = "rwkv.ln_out";
  d.head_name = "head";
  d.first_norm = LayerNormConfig{"rwkv.blocks.0.pre_ln", norm};
  d.norm = norm;
  for (int64_t i = 0; i < keys.layers; ++i) {
    time.output_scale = channel.output_scale = divided > 0 ? float(std::exp2(double(i / divided))) : 1.0f;
    d.layers.push_back(
        {.mixer = {.name = "attention", .block = std::make_shared<const TimeMixConfig>(time), .before = LayerNormConfig{"ln1", norm}},
         .mlp = SublayerConfig{.name = "feed_forward", .block = channel, .before = LayerNormConfig{"ln2", norm}}});
  }
  c.integer("attention_heads", 0);  // of GGUF files, always 0
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::rwkv6
