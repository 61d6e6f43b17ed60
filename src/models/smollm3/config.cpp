#include "models/smollm3/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::smollm3 {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"smollm3"});
  const DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 128256,
                                                 .width = 2048,
                                                 .mlp_width = 11008,
                                                 .layers = 36,
                                                 .heads = 16,
                                                 .groups = 4,
                                                 .positions = 32768,
                                                 .tied = true,
                                                 .rotary = {.theta = 2e6}});
  AttentionConfig attention = keys.attention();
  attention.qkv_bias = attention.o_bias = c.boolean("attention_bias", false);
  MlpConfig mlp = keys.mlp();
  mlp.bias = c.boolean("mlp_bias", false);

  // Layers without positions, 0 in no_rope_layers; only they may have a window.
  const int64_t interval = positive_integer(c, "no_rope_layer_interval", 4);
  std::vector<int64_t> usual;
  for (int64_t i = 0; i < keys.layers; ++i) usual.push_back((i + 1) % interval != 0);
  const std::vector<int64_t> with_positions = c.integers("no_rope_layers", usual);
  if (std::ssize(with_positions) != keys.layers)
    fail<WeightError>("{}: 'no_rope_layers' has {} entries, expected 'num_hidden_layers' = {}", c.where(), with_positions.size(),
                      keys.layers);
  const bool windows = c.boolean("use_sliding_window", false) && c.has("sliding_window");
  const int64_t window = windows ? positive_integer(c, "sliding_window", 1) : 0;
  if (!windows) c.no_effect({"use_sliding_window", "sliding_window"});
  const std::vector<bool> sliding =
      read_sliding_layers(c, keys.layers, [&](int64_t i) { return windows && with_positions[size_t(i)] == 0; });

  DecoderConfig d = keys.decoder();
  for (size_t i = 0; i < size_t(keys.layers); ++i) {
    attention.rotary = with_positions[i] ? 0 : AttentionConfig::no_positions;
    attention.window = sliding[i] ? window : 0;
    d.layers.push_back(pre_norm(keys.rms_norm(), attention, mlp));
  }
  c.no_effect({"max_window_layers"});
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::smollm3
