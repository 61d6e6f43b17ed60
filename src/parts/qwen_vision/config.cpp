#include "parts/qwen_vision/config.h"

#include "core/error.h"
#include "parts/config_reading.h"

namespace hearth::parts {

QwenVisionConfig QwenVisionConfig::from(const Config& c) {
  refuse_null(c, {"depth", "fullatt_block_indexes", "hidden_act", "hidden_size", "in_channels", "intermediate_size", "num_heads",
                  "out_hidden_size", "patch_size", "spatial_merge_size", "temporal_patch_size", "window_size"});
  c.only("model_type", {"qwen2_5_vl"});
  QwenVisionConfig v;
  v.layers = positive_integer(c, "depth", v.layers);
  v.width = positive_integer(c, "hidden_size", v.width);
  v.mlp_width = positive_integer(c, "intermediate_size", v.mlp_width);
  v.heads = positive_integer(c, "num_heads", v.heads);
  v.channels = positive_integer(c, "in_channels", v.channels);
  c.only_number("in_chans", 3);  // an older name
  v.patch = positive_integer(c, "patch_size", v.patch);
  c.only_number("spatial_patch_size", double(v.patch));
  v.frames = positive_integer(c, "temporal_patch_size", v.frames);
  v.merge = positive_integer(c, "spatial_merge_size", v.merge);
  v.window = positive_integer(c, "window_size", v.window);
  v.out = positive_integer(c, "out_hidden_size", v.out);
  v.whole_layers = c.integers("fullatt_block_indexes", v.whole_layers);
  v.activation = transformers_activation(c, "hidden_act", "silu");
  if (v.width % v.heads != 0 || v.head_size() % 4 != 0)
    fail<WeightError>("{}: {} heads ('num_heads') of a width of {} ('hidden_size'), expected heads whose size is a multiple of 4",
                      c.where(), v.heads, v.width);
  if (v.window_side() < 1) fail<WeightError>("{}: 'window_size' is {}, expected at least {} pixels", c.where(), v.window, v.unit());
  c.no_effect({"tokens_per_second"});  // of videos
  c.no_effect({"architectures", "dtype", "id2label", "initializer_range", "label2id", "tie_word_embeddings", "torch_dtype",
               "transformers_version"});
  c.only("is_decoder", false);
  read_generic_transformers_keys(c);
  c.finish();
  return v;
}

}  // namespace hearth::parts
