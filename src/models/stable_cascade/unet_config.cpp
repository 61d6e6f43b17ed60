#include "models/stable_cascade/unet_config.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "parts/config_reading.h"

namespace hearth::models::stable_cascade {
namespace {

using parts::positive_integer;

// One entry per level.
std::vector<int64_t> per_level(const Config& c, const char* key, size_t levels, std::vector<int64_t> otherwise, int64_t least) {
  const std::vector<int64_t> values = c.integers(key, std::move(otherwise));
  if (values.size() != levels)
    fail<WeightError>("{}: '{}' has {} entries, expected one for each of {} levels (block_out_channels)", c.where(), key, values.size(),
                      levels);
  for (const int64_t value : values)
    if (value < least) fail<WeightError>("{}: '{}' = {}, expected numbers of at least {}", c.where(), key, c.dump(key), least);
  return values;
}

BlockKind kind_of(const Config& c, const std::string& name) {
  if (name == "SDCascadeResBlock") return BlockKind::residual;
  if (name == "SDCascadeTimestepBlock") return BlockKind::timestep;
  if (name == "SDCascadeAttnBlock") return BlockKind::attention;
  fail<UnsupportedError>("{}: 'block_types_per_layer' has {}, expected SDCascadeResBlock, SDCascadeTimestepBlock or SDCascadeAttnBlock",
                         c.where(), name);
}

std::vector<std::vector<BlockKind>> read_kinds(const Config& c, size_t levels) {
  const std::vector<BlockKind> all{BlockKind::residual, BlockKind::timestep, BlockKind::attention};
  if (!c.has("block_types_per_layer")) return {levels, all};
  const nlohmann::json stated = nlohmann::json::parse(c.dump("block_types_per_layer"));
  const auto malformed = [&] {
    fail<WeightError>("{}: 'block_types_per_layer' = {}, expected a list of blocks for each of {} levels", c.where(), stated.dump(),
                      levels);
  };
  if (!stated.is_array() || stated.size() != levels) malformed();
  std::vector<std::vector<BlockKind>> kinds;
  for (const nlohmann::json& level : stated) {
    if (!level.is_array() || level.empty()) malformed();
    std::vector<BlockKind>& own = kinds.emplace_back();
    for (const nlohmann::json& name : level) {
      if (!name.is_string()) malformed();
      own.push_back(kind_of(c, name));
    }
  }
  return kinds;
}

bool attends(const UnetConfig::Level& level) { return std::ranges::find(level.blocks, BlockKind::attention) != level.blocks.end(); }

}  // namespace

UnetConfig UnetConfig::from(const Config& c) {
  c.only("_class_name", {"StableCascadeUNet"});
  parts::refuse_null(c, {"block_out_channels", "block_types_per_layer", "clip_seq", "clip_text_pooled_in_channels", "conditioning_dim",
                         "down_blocks_repeat_mappers", "down_num_layers_per_block", "in_channels", "kernel_size", "num_attention_heads",
                         "out_channels", "patch_size", "self_attn", "timestep_conditioning_type", "timestep_ratio_embedding_dim",
                         "up_blocks_repeat_mappers", "up_num_layers_per_block"});
  UnetConfig u;
  u.in_channels = positive_integer(c, "in_channels", 16);
  u.out_channels = positive_integer(c, "out_channels", 16);
  u.patch = positive_integer(c, "patch_size", 1);
  u.time = positive_integer(c, "timestep_ratio_embedding_dim", 64);
  if (u.time < 4) fail<WeightError>("{}: 'timestep_ratio_embedding_dim' = {}, expected at least 4", c.where(), u.time);
  u.conditions = c.texts("timestep_conditioning_type", std::vector<std::string>{"sca", "crp"});
  for (const std::string& name : u.conditions)
    if (name != "sca" && name != "crp")
      fail<UnsupportedError>("{}: 'timestep_conditioning_type' has \"{}\", expected sca or crp", c.where(), name);
  u.width = positive_integer(c, "conditioning_dim", 2048);
  u.rows = positive_integer(c, "clip_seq", 4);
  u.pooled = positive_integer(c, "clip_text_pooled_in_channels", 1280);
  const auto input = [&](const char* key) { return c.has(key) ? positive_integer(c, key, 0) : 0; };
  u.text = input("clip_text_in_channels"), u.image = input("clip_image_in_channels");
  u.features = input("effnet_in_channels"), u.pixels = input("pixel_mapper_in_channels");
  if ((u.text == 0) != (u.image == 0))
    fail<UnsupportedError>("{}: one of 'clip_text_in_channels' and 'clip_image_in_channels' alone is not supported", c.where());
  u.kernel = positive_integer(c, "kernel_size", 3);
  if (u.kernel % 2 == 0) fail<UnsupportedError>("{}: 'kernel_size' = {} is not supported, expected an odd number", c.where(), u.kernel);

  const std::vector<int64_t> channels = c.integers("block_out_channels", std::vector<int64_t>{2048, 2048});
  const size_t count = channels.size();
  if (count == 0) fail<WeightError>("{}: 'block_out_channels' is empty", c.where());
  per_level(c, "block_out_channels", count, channels, 1);
  const std::vector<int64_t> heads = per_level(c, "num_attention_heads", count, {32, 32}, -1),
                             down = per_level(c, "down_num_layers_per_block", count, {8, 24}, 1),
                             up = per_level(c, "up_num_layers_per_block", count, {24, 8}, 1),
                             down_runs = per_level(c, "down_blocks_repeat_mappers", count, {1, 1}, 1),
                             up_runs = per_level(c, "up_blocks_repeat_mappers", count, {1, 1}, 1);
  const std::vector<bool> self = c.boolean_per_level("self_attn", count, true);
  const std::vector<std::vector<BlockKind>> kinds = read_kinds(c, count);
  u.levels.clear();
  for (size_t i = 0; i < count; ++i) {
    const size_t from_coarse = count - 1 - i;  // lists of the way up start with the coarsest level
    u.levels.push_back({.channels = channels[i],
                        .heads = heads[i],
                        .blocks = kinds[i],
                        .down_layers = down[i],
                        .up_layers = up[from_coarse],
                        .down_runs = down_runs[i],
                        .up_runs = up_runs[from_coarse],
                        .attends_to_itself = self[i]});
    UnetConfig::Level& level = u.levels.back();
    if (!attends(level)) level.heads = 0;
    else if (level.heads < 1 || level.channels % level.heads != 0)
      fail<WeightError>("{}: 'num_attention_heads' has {} for a level of {} channels with attention, expected a divisor", c.where(),
                        level.heads, level.channels);
  }
  if (c.has("switch_level")) { u.halves = c.boolean_per_level("switch_level", count - 1); }
  c.no_effect({"dropout"});
  c.finish();
  return u;
}

}  // namespace hearth::models::stable_cascade
