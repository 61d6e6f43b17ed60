#include "parts/unet/config.h"

#include <numeric>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "parts/config_reading.h"

namespace hearth::parts {
namespace {

using Json = nlohmann::json;

// An entry of (reverse_)transformer_layers_per_block: one number for all residual blocks of a level, or one for each.
std::vector<int64_t> depths(const Config& c, const char* key, const Json& entry, int64_t count) {
  std::vector<int64_t> result;
  if (entry.is_number_integer()) result.assign(size_t(count), entry.get<int64_t>());
  if (entry.is_array() && std::all_of(entry.begin(), entry.end(), [](const Json& v) { return v.is_number_integer(); }))
    result = entry.get<std::vector<int64_t>>();
  if (int64_t(result.size()) < count || std::any_of(result.begin(), result.end(), [](int64_t n) { return n < 0; }))
    fail<WeightError>("{}: '{}' contains {}, expected a whole number or a list of {}", c.where(), key, entry.dump(), count);
  result.resize(size_t(count));
  return result;
}

// The key as a list with one entry per level; a scalar is repeated.
std::vector<Json> per_level(const Config& c, const char* key, size_t levels) {
  const Json value = Json::parse(c.dump(key));
  if (!value.is_array()) return std::vector<Json>(levels, value.is_null() ? Json(1) : value);
  if (value.size() != levels)
    fail<WeightError>("{}: '{}' has {} entries, expected one for each of {} levels", c.where(), key, value.size(), levels);
  return value.get<std::vector<Json>>();
}

void require_positive(const Config& c, const char* key, int64_t value) {
  if (value < 1) fail<WeightError>("{}: '{}' = {}, expected at least 1", c.where(), key, value);
}

int64_t odd_kernel(const Config& c, const char* key) {
  const int64_t kernel = c.integer(key, 3);
  if (kernel < 1 || kernel % 2 == 0)
    fail<UnsupportedError>("{}: '{}' = {} is not supported, expected an odd kernel size", c.where(), key, kernel);
  return kernel;
}

std::vector<bool> attends(const Config& c, const char* key, const std::string& plain, const std::string& cross) {
  std::vector<std::string> types(4, cross);
  (cross == "CrossAttnDownBlock2D" ? types.back() : types.front()) = plain;
  types = c.texts(key, types);
  std::vector<bool> result;
  for (const std::string& type : types) {
    if (type != plain && type != cross)
      fail<UnsupportedError>("{}: '{}' has \"{}\", which is not supported, expected {} or {}", c.where(), key, type, plain, cross);
    result.push_back(type == cross);
  }
  return result;
}

std::vector<UnetConfig::Level> read_levels(const Config& c) {
  const std::vector<int64_t> channels = c.integers("block_out_channels", {{320, 640, 1280, 1280}});
  const std::vector<bool> down = attends(c, "down_block_types", "DownBlock2D", "CrossAttnDownBlock2D");
  const std::vector<bool> up = attends(c, "up_block_types", "UpBlock2D", "CrossAttnUpBlock2D");
  const size_t L = channels.size();
  if (L == 0 || down.size() != L || up.size() != L)
    fail<WeightError>("{}: {} 'block_out_channels', {} 'down_block_types' and {} 'up_block_types', expected equally many", c.where(), L,
                      down.size(), up.size());

  const std::vector<int64_t> layers = c.integer_per_level("layers_per_block", L, 2);
  const std::vector<int64_t> heads = c.integer_per_level("attention_head_dim", L, 8);
  const std::vector<bool> only_cross = c.boolean_per_level("only_cross_attention", L, false);
  const std::vector<Json> depth = per_level(c, "transformer_layers_per_block", L);
  const bool reversed_given = c.has("reverse_transformer_layers_per_block");
  std::vector<Json> depth_up(depth.rbegin(), depth.rend());
  if (reversed_given) depth_up = per_level(c, "reverse_transformer_layers_per_block", L);
  const bool nested = std::any_of(depth.begin(), depth.end(), [](const Json& v) { return v.is_array(); });
  if (nested && !reversed_given)
    fail<WeightError>("{}: 'transformer_layers_per_block' contains lists, expected 'reverse_transformer_layers_per_block' as well",
                      c.where());

  std::vector<UnetConfig::Level> levels(L);
  for (size_t i = 0; i < L; ++i) {
    UnetConfig::Level& level = levels[i];
    level = {.channels = channels[i],
             .layers = layers[i],
             .heads = heads[i],
             .only_cross_attention = only_cross[i],
             .attends_down = down[i],
             .attends_up = up[L - 1 - i]};
    require_positive(c, "block_out_channels", level.channels);
    require_positive(c, "layers_per_block", level.layers);
    if (level.heads < 1 || level.heads > level.channels)
      fail<WeightError>("{}: 'attention_head_dim' = {}, expected 1 to {} heads", c.where(), level.heads, level.channels);
    if (level.attends_down) level.depths_down = depths(c, "transformer_layers_per_block", depth[i], level.layers);
    const char* up_key = reversed_given ? "reverse_transformer_layers_per_block" : "transformer_layers_per_block";
    if (level.attends_up) level.depths_up = depths(c, up_key, depth_up[L - 1 - i], level.layers + 1);
  }
  return levels;
}

// The width of the context, which all attending levels must share.
int64_t context_width(const Config& c, const UnetConfig& u) {
  const std::vector<int64_t> widths = c.integer_per_level("cross_attention_dim", u.levels.size(), 1280);
  int64_t width = 0;
  for (size_t i = 0; i < widths.size(); ++i) {
    const bool mid = u.mid == UnetConfig::Mid::cross_attention && i + 1 == widths.size();
    if (!u.levels[i].attends_down && !u.levels[i].attends_up && !mid) continue;
    require_positive(c, "cross_attention_dim", widths[i]);
    if (width && width != widths[i])
      fail<WeightError>("{}: 'cross_attention_dim' = {} has several widths, expected one for all levels that attend", c.where(),
                        c.dump("cross_attention_dim"));
    width = widths[i];
  }
  return width;
}

// Pooled text and sizes, added to the time embedding (Podell et al. 2023, arXiv 2307.01952).
void read_added(const Config& c, UnetConfig& u) {
  if (!c.has("addition_embed_type") || is_null(c, "addition_embed_type")) {
    c.no_effect({"addition_time_embed_dim", "projection_class_embeddings_input_dim"});
    return;
  }
  c.only("addition_embed_type", {"text_time"});
  u.added = positive_integer(c, "projection_class_embeddings_input_dim", 0);
  u.added_of_size = positive_integer(c, "addition_time_embed_dim", 0);
}

}  // namespace

UnetConfig UnetConfig::from(const Config& c) {
  refuse_null(c, {"act_fn",
                  "attention_head_dim",
                  "block_out_channels",
                  "conv_in_kernel",
                  "conv_out_kernel",
                  "cross_attention_dim",
                  "down_block_types",
                  "downsample_padding",
                  "flip_sin_to_cos",
                  "freq_shift",
                  "in_channels",
                  "layers_per_block",
                  "mid_block_scale_factor",
                  "norm_eps",
                  "norm_num_groups",
                  "out_channels",
                  "resnet_time_scale_shift",
                  "time_embedding_type",
                  "transformer_layers_per_block",
                  "up_block_types"});
  c.only("_class_name", {"UNet2DConditionModel"});
  UnetConfig u;
  u.in_channels = positive_integer(c, "in_channels", 4);
  u.out_channels = positive_integer(c, "out_channels", 4);
  if (const Json size = Json::parse(c.dump("sample_size")); size.is_array()) {
    const std::vector<int64_t> sides = c.integers("sample_size");
    if (sides.size() != 2) fail<WeightError>("{}: 'sample_size' has {} entries, expected height and width", c.where(), sides.size());
    u.sample_size = {sides[0], sides[1]};
  } else if (!size.is_null()) {
    u.sample_size = {c.integer("sample_size"), c.integer("sample_size")};
  }
  u.center_input_sample = c.boolean("center_input_sample", false);
  u.conv_in_kernel = odd_kernel(c, "conv_in_kernel");
  u.conv_out_kernel = odd_kernel(c, "conv_out_kernel");

  u.levels = read_levels(c);
  if (is_null(c, "mid_block_type")) {
    u.mid = Mid::none;
  } else {
    c.only("mid_block_type", {"UNetMidBlock2DCrossAttn", "UNetMidBlock2D"});
    u.mid = c.text("mid_block_type", "UNetMidBlock2DCrossAttn") == "UNetMidBlock2D" ? Mid::resnet : Mid::cross_attention;
  }
  if (u.mid == Mid::cross_attention)
    u.mid_depth = depths(c, "transformer_layers_per_block", per_level(c, "transformer_layers_per_block", u.levels.size()).back(), 1)[0];
  u.mid_block_scale_factor = float(c.number("mid_block_scale_factor", 1));
  u.context = context_width(c, u);

  c.only("time_embedding_type", {"positional"});
  u.cosine_first = c.boolean("flip_sin_to_cos", true);
  u.frequency_shift = float(c.number("freq_shift", 0));
  u.temb = c.integer("time_embedding_dim", 0);
  if (u.temb == 0) u.temb = 4 * u.levels[0].channels;  // as in the reference, 0 means "not given"
  require_positive(c, "time_embedding_dim", u.temb);
  if (c.has("timestep_post_act")) u.timestep_post_act = diffusers_activation(c, "timestep_post_act", "silu");
  if (c.has("time_embedding_act_fn")) u.time_embedding_act_fn = diffusers_activation(c, "time_embedding_act_fn", "silu");

  u.activation = diffusers_activation(c, "act_fn", "silu");
  u.groups = positive_integer(c, "norm_num_groups", 32);
  for (const Level& level : u.levels)
    if (level.channels % u.groups)
      fail<WeightError>("{}: 'norm_num_groups' = {} does not divide {} of 'block_out_channels'", c.where(), u.groups, level.channels);
  u.eps = float(c.number("norm_eps", 1e-5));
  u.linear_projection = c.boolean("use_linear_projection", false);
  u.downsample_padding = c.integer("downsample_padding", 1);
  if (u.downsample_padding != 0 && u.downsample_padding != 1)
    fail<UnsupportedError>("{}: 'downsample_padding' = {} is not supported, expected 0 or 1", c.where(), u.downsample_padding);

  c.only_null("num_attention_heads");  // the reference rejects it, too
  c.only("dual_cross_attention", false);
  c.only("resnet_time_scale_shift", {"default"});
  c.only("class_embeddings_concat", false);
  c.only("attention_type", {"default"});
  for (const char* key : {"class_embed_type", "num_class_embeds", "encoder_hid_dim", "encoder_hid_dim_type"}) c.only_null(key);
  if (c.has("time_cond_proj_dim") && !is_null(c, "time_cond_proj_dim")) u.guidance = positive_integer(c, "time_cond_proj_dim", 0);
  read_added(c, u);
  // Keys that training with averaged weights leaves in published configs.
  c.no_effect({"decay", "min_decay", "optimization_step", "update_after_step", "use_ema_warmup", "inv_gamma", "power"});
  // upcast_attention: attention is f32 anyway. The others belong to block types and embeddings that are rejected above.
  c.no_effect({"dropout", "upcast_attention", "resnet_skip_time_act", "resnet_out_scale_factor", "cross_attention_norm",
               "mid_block_only_cross_attention", "addition_embed_type_num_heads"});
  c.finish();
  return u;
}

bool UnetConfig::attends_to_itself(Blocks blocks) const {
  const auto any = [](const std::vector<int64_t>& depths) { return std::ranges::any_of(depths, [](int64_t d) { return d > 0; }); };
  switch (blocks) {
    case Blocks::mid: return mid == Mid::cross_attention && mid_depth > 0;
    case Blocks::down:
      return std::ranges::any_of(levels, [&](const Level& l) { return l.attends_down && !l.only_cross_attention && any(l.depths_down); });
    case Blocks::up:
      return std::ranges::any_of(levels, [&](const Level& l) { return l.attends_up && !l.only_cross_attention && any(l.depths_up); });
  }
  return false;
}

std::vector<int64_t> UnetConfig::cross_attentions() const {
  std::vector<int64_t> all;
  const auto add = [&](const Level& level, int64_t depth) {
    all.insert(all.end(), size_t(depth), level.channels / level.heads * level.heads);
  };
  for (const Level& level : levels)
    for (const int64_t depth : level.depths_down) add(level, depth);
  for (auto level = levels.rbegin(); level != levels.rend(); ++level)
    for (const int64_t depth : level->depths_up) add(*level, depth);
  if (mid == Mid::cross_attention) add(levels.back(), mid_depth);
  return all;
}

int64_t UnetConfig::first_cross_attention(Blocks blocks, size_t block) const {
  const auto sum = [](const std::vector<int64_t>& depths) { return std::accumulate(depths.begin(), depths.end(), int64_t(0)); };
  int64_t down = 0, up = 0;
  for (size_t i = 0; i < (blocks == Blocks::down ? block : levels.size()); ++i) down += sum(levels[i].depths_down);
  if (blocks == Blocks::down) return down;
  for (size_t i = 0; i < (blocks == Blocks::up ? block : levels.size()); ++i) up += sum(levels[levels.size() - 1 - i].depths_up);
  return down + up;
}

}  // namespace hearth::parts
