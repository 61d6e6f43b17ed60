#include "parts/unet/geometry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "parts/unet/names.h"

namespace hearth::parts {
namespace {

using Json = nlohmann::json;

int64_t axis_of(const TensorList& all, const std::string& name, int axis) {
  const auto found = all.find(name);
  return found == all.end() || found->second.shape.rank() <= axis ? 0 : found->second.shape[axis];
}

// Number of blocks of the transformer at a path.
int64_t depth_of(const TensorList& all, const std::string& path) {
  int64_t depth = 0;
  while (all.contains(fmt::format("{}.transformer_blocks.{}.norm1.weight", path, depth))) ++depth;
  return depth;
}

int64_t whole(const Json& value, int64_t otherwise) { return value.is_number_integer() ? value.get<int64_t>() : otherwise; }

int64_t whole(const Json& config, const char* key, int64_t otherwise) {
  return config.contains(key) ? whole(config[key], otherwise) : otherwise;
}

// One entry per level; a scalar is repeated.
std::vector<Json> per_level(const Json& config, const char* key, size_t levels, const Json& otherwise) {
  const Json value = config.contains(key) && !config[key].is_null() ? config[key] : otherwise;
  std::vector<Json> all = value.is_array() ? value.get<std::vector<Json>>() : std::vector<Json>(levels, value);
  all.resize(levels, otherwise);
  return all;
}

std::vector<int64_t> depths_of(const Json& entry, int64_t count) {
  std::vector<int64_t> depths(size_t(count), whole(entry, 1));
  if (entry.is_array())
    for (size_t i = 0; i < depths.size(); ++i) depths[i] = i < entry.size() ? whole(entry[i], 1) : 1;
  return depths;
}

bool attends(const Json& type) { return type.is_string() && type.get_ref<const std::string&>().starts_with("CrossAttn"); }

}  // namespace

Geometry UnetGeometry::compared() const {
  Geometry g{.description = describe()};
  g.sizes = {{"in", {in_channels}},  {"out", {out_channels}}, {"middle", {mid_resnets, mid_depth}},
             {"context", {context}}, {"label", {label}},      {"linear projection", {linear_projection}}};
  for (size_t i = 0; i < levels.size(); ++i) {
    g.sizes[fmt::format("channels {}", i)] = {levels[i].channels};
    g.sizes[fmt::format("depths down {}", i)] = levels[i].depths_down;
    g.sizes[fmt::format("depths up {}", i)] = levels[i].depths_up;
  }
  return g;
}

std::string UnetGeometry::describe() const {
  std::vector<int64_t> channels;
  for (const Level& level : levels) channels.push_back(level.channels);
  std::string text = fmt::format("channels {}", fmt::join(channels, ", "));
  if (context > 0) text += fmt::format("; context {}", context);
  if (label > 0) text += fmt::format("; added embedding {}", label);
  return text + fmt::format("; {} in, {} out", in_channels, out_channels);
}

UnetGeometry geometry_of(const TensorList& official) {
  UnetGeometry g{.in_channels = axis_of(official, "conv_in.weight", 1), .out_channels = axis_of(official, "conv_out.weight", 0)};
  const UnetBlocks blocks = blocks_of_official(official);
  const size_t levels = blocks.layers.size();
  for (size_t i = 0; i < levels; ++i) {
    UnetGeometry::Level level{.channels = axis_of(official, fmt::format("down_blocks.{}.resnets.0.conv1.weight", i), 0)};
    for (int64_t j = 0; j < blocks.layers[i]; ++j)
      level.depths_down.push_back(depth_of(official, fmt::format("down_blocks.{}.attentions.{}", i, j)));
    for (int64_t j = 0; official.contains(fmt::format("up_blocks.{}.resnets.{}.norm1.weight", levels - 1 - i, j)); ++j)
      level.depths_up.push_back(depth_of(official, fmt::format("up_blocks.{}.attentions.{}", levels - 1 - i, j)));
    g.levels.push_back(std::move(level));
  }
  while (official.contains(fmt::format("mid_block.resnets.{}.norm1.weight", g.mid_resnets))) ++g.mid_resnets;
  g.mid_depth = depth_of(official, "mid_block.attentions.0");
  for (const auto& [name, info] : official) {
    if (g.context == 0 && name.ends_with(".attn2.to_k.weight") && info.shape.rank() == 2) g.context = info.shape[1];
    if (name.ends_with(".proj_in.weight") && info.shape.rank() == 2) g.linear_projection = true;
  }
  g.label = std::max(axis_of(official, "add_embedding.linear_1.weight", 1), axis_of(official, "class_embedding.linear_1.weight", 1));
  return g;
}

UnetGeometry geometry_of(const Json& config) {
  UnetGeometry g{.in_channels = whole(config, "in_channels", 4), .out_channels = whole(config, "out_channels", 4)};
  const Json channels = config.contains("block_out_channels") ? config["block_out_channels"] : Json{320, 640, 1280, 1280};
  const size_t levels = channels.is_array() ? channels.size() : 0;
  const auto layers = per_level(config, "layers_per_block", levels, 2),
             depth = per_level(config, "transformer_layers_per_block", levels, 1);
  const auto down = per_level(config, "down_block_types", levels, "CrossAttnDownBlock2D"),
             up = per_level(config, "up_block_types", levels, "CrossAttnUpBlock2D");
  std::vector<Json> depth_up(depth.rbegin(), depth.rend());
  if (config.contains("reverse_transformer_layers_per_block"))
    depth_up = per_level(config, "reverse_transformer_layers_per_block", levels, 1);
  for (size_t i = 0; i < levels; ++i) {
    const int64_t count = std::clamp<int64_t>(whole(layers[i], 2), 0, 1000);
    const size_t mirror = levels - 1 - i;
    g.levels.push_back(
        {.channels = whole(channels[i], 0),
         .depths_down = attends(down[i]) ? depths_of(depth[i], count) : std::vector<int64_t>(size_t(count)),
         .depths_up = attends(up[mirror]) ? depths_of(depth_up[mirror], count + 1) : std::vector<int64_t>(size_t(count + 1))});
  }
  const Json mid = config.contains("mid_block_type") ? config["mid_block_type"] : Json("UNetMidBlock2DCrossAttn");
  if (mid == "UNetMidBlock2DCrossAttn") {
    g.mid_resnets = 2;
    g.mid_depth = levels == 0 ? 0 : depths_of(depth.back(), 1)[0];
  } else if (!mid.is_null()) {
    g.mid_resnets = 1;
  }
  const bool any = g.mid_depth > 0 || std::ranges::any_of(g.levels, [](const UnetGeometry::Level& l) {
                     return std::ranges::any_of(l.depths_down, [](int64_t d) { return d > 0; });
                   });
  if (any) {
    g.context = whole(config, "cross_attention_dim", 1280);
    g.linear_projection = config.contains("use_linear_projection") && config["use_linear_projection"] == true;
  }
  g.label = whole(config, "projection_class_embeddings_input_dim", 0);
  return g;
}

}  // namespace hearth::parts
