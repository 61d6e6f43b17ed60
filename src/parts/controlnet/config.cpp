#include "parts/controlnet/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "parts/config_reading.h"
#include "parts/unet/geometry.h"

namespace hearth::parts {
namespace {

using ConfigJson = nlohmann::json;

// The keys that both classes share with the UNet's.
const std::set<std::string_view> unet_keys{"in_channels",
                                           "flip_sin_to_cos",
                                           "freq_shift",
                                           "down_block_types",
                                           "mid_block_type",
                                           "only_cross_attention",
                                           "block_out_channels",
                                           "layers_per_block",
                                           "downsample_padding",
                                           "mid_block_scale_factor",
                                           "act_fn",
                                           "norm_num_groups",
                                           "norm_eps",
                                           "cross_attention_dim",
                                           "transformer_layers_per_block",
                                           "encoder_hid_dim",
                                           "encoder_hid_dim_type",
                                           "attention_head_dim",
                                           "use_linear_projection",
                                           "class_embed_type",
                                           "addition_embed_type",
                                           "addition_time_embed_dim",
                                           "num_class_embeds",
                                           "upcast_attention",
                                           "resnet_time_scale_shift",
                                           "projection_class_embeddings_input_dim",
                                           "addition_embed_type_num_heads"};

// The UNet whose half the network copies.
UnetConfig copied_half(const Config& c, bool has_mid_block_type) {
  ConfigJson unet{{"_class_name", "UNet2DConditionModel"}};
  for (const std::string& key : c.keys())
    if (unet_keys.contains(key) && (key != "mid_block_type" || has_mid_block_type)) unet[key] = ConfigJson::parse(c.dump(key));
  // The reference reads the number of heads from here first.
  if (const ConfigJson heads = ConfigJson::parse(c.dump("num_attention_heads")); !heads.is_null()) unet["attention_head_dim"] = heads;
  ConfigJson up = ConfigJson::array();
  for (const std::string& type :
       c.texts("down_block_types", {{"CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"}}))
    up.insert(up.begin(), type == "CrossAttnDownBlock2D" ? "CrossAttnUpBlock2D" : type == "DownBlock2D" ? "UpBlock2D" : type);
  unet["up_block_types"] = up;
  if (const ConfigJson depths = unet.value("transformer_layers_per_block", ConfigJson(1)); depths.is_array())
    unet["reverse_transformer_layers_per_block"] = std::vector<int64_t>(depths.size(), 1);
  return UnetConfig::from(Config::parse(unet.dump(), c.where()));
}

int64_t size_along(const TensorList& all, const std::string& name, int axis) {
  const auto found = all.find(name);
  return found == all.end() || found->second.shape.rank() <= axis ? 0 : found->second.shape[axis];
}

// Sizes that residuals and inputs have in common with a UNet.
std::string sizes_of(const UnetConfig& u) {
  std::vector<int64_t> channels, layers;
  for (const UnetConfig::Level& level : u.levels) channels.push_back(level.channels), layers.push_back(level.layers);
  std::string text = fmt::format("channels {} in {} layers", fmt::join(channels, ", "), fmt::join(layers, ", "));
  if (u.context) text += fmt::format(", text states of width {}", u.context);
  if (u.added) text += fmt::format(", an added embedding of width {}", u.added);
  return text + fmt::format(", {} latent channels", u.in_channels);
}

}  // namespace

ControlNetConfig ControlNetConfig::from(const Config& c) {
  c.only("_class_name", {"ControlNetModel", "ControlNetUnionModel"});
  refuse_null(c, {"conditioning_channels", "conditioning_embedding_out_channels", "controlnet_conditioning_channel_order",
                  "num_control_type", "num_trans_channel", "num_trans_head", "num_trans_layer", "num_proj_channel"});
  ControlNetConfig n;
  const bool unified = c.text("_class_name", "ControlNetModel") == "ControlNetUnionModel";
  if (unified) n.hint_channels = {48, 96, 192, 384};
  n.unet = copied_half(c, !unified);
  for (const std::string_view key : unet_keys) c.no_effect({key});
  c.no_effect({"num_attention_heads"});
  n.image_channels = positive_integer(c, "conditioning_channels", 3);
  if (n.image_channels != 3)
    fail<UnsupportedError>("{}: 'conditioning_channels' = {} is not supported, expected 3", c.where(), n.image_channels);
  n.hint_channels = c.integers("conditioning_embedding_out_channels", n.hint_channels);
  if (n.hint_channels.empty() || std::ranges::any_of(n.hint_channels, [](int64_t channels) { return channels < 1; }))
    fail<WeightError>("{}: 'conditioning_embedding_out_channels' has {} channels, expected a list of positive numbers", c.where(),
                      fmt::join(n.hint_channels, ", "));
  if (unified) c.only("controlnet_conditioning_channel_order", {"rgb"});
  else c.only("controlnet_conditioning_channel_order", {"rgb", "bgr"});
  n.bgr = c.text("controlnet_conditioning_channel_order", "rgb") == "bgr";
  if (unified) c.only("global_pool_conditions", false);
  n.pools = c.boolean("global_pool_conditions", false);
  if (unified) {
    Union u{.types = positive_integer(c, "num_control_type", 6),
            .channels = positive_integer(c, "num_trans_channel", 320),
            .heads = positive_integer(c, "num_trans_head", 8),
            .layers = positive_integer(c, "num_trans_layer", 1),
            .projected = positive_integer(c, "num_proj_channel", 320)};
    const int64_t first = n.unet.levels[0].channels;
    if (u.channels != first || u.projected != first)
      fail<WeightError>("{}: 'num_trans_channel' = {} and 'num_proj_channel' = {}, expected the {} of the first level", c.where(),
                        u.channels, u.projected, first);
    if (u.channels % u.heads) fail<WeightError>("{}: 'num_trans_head' = {} does not divide {}", c.where(), u.heads, u.channels);
    if (n.unet.added_of_size == 0)
      fail<UnsupportedError>("{}: 'addition_time_embed_dim' is missing, expected the width of the control types' sinusoids", c.where());
    n.unified = u;
  }
  c.finish();
  return n;
}

ControlNetConfig ControlNetConfig::of_tensors(const TensorList& official, const UnetConfig& base) {
  const UnetGeometry sizes = geometry_of(official);
  ControlNetConfig n{.unet = base};
  UnetConfig& u = n.unet;
  u.in_channels = sizes.in_channels, u.context = sizes.context, u.added = sizes.label;
  u.guidance = size_along(official, "time_embedding.cond_proj.weight", 1);
  u.conv_in_kernel = size_along(official, "conv_in.weight", 2);
  u.center_input_sample = false;  // which the network does not do
  u.linear_projection = sizes.linear_projection;
  u.mid = sizes.mid_depth > 0 ? UnetConfig::Mid::cross_attention : sizes.mid_resnets > 0 ? UnetConfig::Mid::resnet : UnetConfig::Mid::none;
  u.mid_depth = sizes.mid_depth;
  u.levels.resize(sizes.levels.size());
  for (size_t i = 0; i < u.levels.size(); ++i) {
    UnetConfig::Level& level = u.levels[i];
    level.channels = sizes.levels[i].channels, level.depths_down = sizes.levels[i].depths_down;
    level.layers = int64_t(level.depths_down.size());
    level.attends_down = std::ranges::any_of(level.depths_down, [](int64_t depth) { return depth > 0; });
    if (!level.attends_down) level.depths_down.clear();
  }
  n.hint_channels = {size_along(official, "controlnet_cond_embedding.conv_in.weight", 0)};
  for (int64_t i = 1;; i += 2) {
    const int64_t channels = size_along(official, fmt::format("controlnet_cond_embedding.blocks.{}.weight", i), 0);
    if (channels == 0) break;
    n.hint_channels.push_back(channels);
  }
  if (official.contains("task_embedding")) {
    const int64_t width = size_along(official, "task_embedding", 1);
    Union unified{.types = size_along(official, "task_embedding", 0),
                  .channels = width,
                  .heads = 8,
                  .layers = 0,
                  .projected = size_along(official, "spatial_ch_projs.weight", 0)};
    while (official.contains(fmt::format("transformer_layes.{}.attn.in_proj_weight", unified.layers))) ++unified.layers;
    n.unified = unified;
  }
  return n;
}

void require_same_half(const ControlNetConfig& control, const UnetConfig& base, const std::string& where) {
  const UnetConfig& u = control.unet;
  const auto same = [](const UnetConfig::Level& a, const UnetConfig::Level& b) { return a.channels == b.channels && a.layers == b.layers; };
  // The residuals of the middle block need one on both sides.
  const bool middle = (u.mid == UnetConfig::Mid::none) <= (base.mid == UnetConfig::Mid::none);
  if (std::ranges::equal(u.levels, base.levels, same) && middle && (u.context == 0 || u.context == base.context) &&
      (u.added == 0 || u.added == base.added) && u.guidance == 0 &&
      (u.in_channels == base.in_channels || u.in_channels == base.out_channels))
    return;
  fail<WeightError>("{}: is for a UNet with {}; the model's UNet has {}", where, sizes_of(u), sizes_of(base));
}

}  // namespace hearth::parts
