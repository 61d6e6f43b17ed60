#include "models/z_image/transformer_config.h"

#include <numeric>

#include "core/error.h"
#include "parts/config_reading.h"

namespace hearth::models::z_image {
namespace {

void only_one(const Config& c, std::string_view key, int64_t value) {
  const std::vector<int64_t> given = c.integers(key, std::vector<int64_t>{value});
  if (given.size() != 1 || given[0] != value)
    fail<UnsupportedError>("{}: '{}' = {} is not supported, expected [{}]", c.where(), key, c.dump(key), value);
}

std::vector<int64_t> three(const Config& c, std::string_view key, const std::vector<int64_t>& standard) {
  std::vector<int64_t> values = c.integers(key, standard);
  if (values.size() != 3)
    fail<WeightError>("{}: '{}' has {} numbers, expected 3 (text or image, row, column)", c.where(), key, values.size());
  return values;
}

}  // namespace

TransformerConfig TransformerConfig::from(const Config& c) {
  parts::refuse_null(c, {"in_channels", "dim", "n_layers", "n_refiner_layers", "n_heads", "n_kv_heads", "norm_eps", "qk_norm",
                         "cap_feat_dim", "rope_theta", "t_scale", "axes_dims", "axes_lens"});
  TransformerConfig t;
  only_one(c, "all_patch_size", patch);
  only_one(c, "all_f_patch_size", 1);
  c.only_null("siglip_feat_dim");  // of the Omni variant
  t.channels = parts::positive_integer(c, "in_channels", t.channels);
  t.width = parts::positive_integer(c, "dim", t.width);
  t.layers = parts::positive_integer(c, "n_layers", t.layers);
  t.refiner_layers = parts::positive_integer(c, "n_refiner_layers", t.refiner_layers);
  t.heads = parts::positive_integer(c, "n_heads", t.heads);
  if (const int64_t groups = parts::positive_integer(c, "n_kv_heads", 30); c.has("n_kv_heads") && groups != t.heads)
    fail<UnsupportedError>("{}: 'n_kv_heads' = {} is not supported, expected 'n_heads' = {}", c.where(), groups, t.heads);
  t.qk_norm = c.boolean("qk_norm", true);
  t.eps = c.number("norm_eps", t.eps);
  t.text = parts::positive_integer(c, "cap_feat_dim", t.text);
  t.theta = c.number("rope_theta", t.theta);
  t.time_scale = c.number("t_scale", t.time_scale);
  t.axes = three(c, "axes_dims", t.axes);
  t.places = three(c, "axes_lens", t.places);
  if (t.width % t.heads != 0) fail<WeightError>("{}: 'dim' = {} is no multiple of 'n_heads' = {}", c.where(), t.width, t.heads);
  for (const int64_t size : t.axes)
    if (size < 2 || size % 2 != 0) fail<WeightError>("{}: 'axes_dims' has {}, expected even numbers of at least 2", c.where(), size);
  if (const int64_t sum = std::accumulate(t.axes.begin(), t.axes.end(), int64_t(0)); sum != t.head())
    fail<WeightError>("{}: 'axes_dims' adds up to {}, expected 'dim' / 'n_heads' = {}", c.where(), sum, t.head());
  for (const int64_t count : t.places)
    if (count < 2) fail<WeightError>("{}: 'axes_lens' has {}, expected at least 2", c.where(), count);
  if (!(t.theta > 0) || !(t.eps >= 0))
    fail<WeightError>("{}: 'rope_theta' is {} and 'norm_eps' {}, expected positive numbers", c.where(), t.theta, t.eps);
  c.finish();
  return t;
}

}  // namespace hearth::models::z_image
