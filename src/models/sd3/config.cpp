#include "models/sd3/config.h"

#include <algorithm>

#include "core/error.h"
#include "parts/config_reading.h"

namespace hearth::models::sd3 {

using parts::positive_integer;

bool MmditConfig::is_dual(int64_t layer) const { return std::ranges::binary_search(dual_layers, layer); }

MmditConfig MmditConfig::from(const Config& c) {
  c.only("_class_name", {"SD3Transformer2DModel"});
  parts::refuse_null(c, {"attention_head_dim", "caption_projection_dim", "dual_attention_layers", "in_channels", "joint_attention_dim",
                         "num_attention_heads", "num_layers", "patch_size", "pooled_projection_dim", "pos_embed_max_size", "sample_size"});
  MmditConfig t;
  t.sample_size = positive_integer(c, "sample_size", 128);
  t.patch = positive_integer(c, "patch_size", 2);
  t.in_channels = positive_integer(c, "in_channels", 16);
  t.out_channels = parts::is_null(c, "out_channels") ? t.in_channels : positive_integer(c, "out_channels", 16);
  t.layers = positive_integer(c, "num_layers", 18);
  t.heads = positive_integer(c, "num_attention_heads", 18);
  t.head_size = positive_integer(c, "attention_head_dim", 64);
  t.text_width = positive_integer(c, "joint_attention_dim", 4096);
  t.pooled_width = positive_integer(c, "pooled_projection_dim", 2048);
  t.position_side = positive_integer(c, "pos_embed_max_size", 96);
  t.dual_layers = c.integers("dual_attention_layers", std::vector<int64_t>());
  std::ranges::sort(t.dual_layers);
  t.qk_norm = c.has("qk_norm");
  c.only("qk_norm", {"rms_norm"});

  const int64_t text_stream = positive_integer(c, "caption_projection_dim", 1152);
  if (text_stream != t.width())
    fail<WeightError>("{}: 'caption_projection_dim' = {}, expected num_attention_heads · attention_head_dim = {}", c.where(), text_stream,
                      t.width());
  for (const int64_t layer : t.dual_layers)
    if (layer < 0 || layer >= t.layers)
      fail<WeightError>("{}: 'dual_attention_layers' contains {}, expected 0 to {} (num_layers - 1)", c.where(), layer, t.layers - 1);
  c.finish();
  return t;
}

}  // namespace hearth::models::sd3
