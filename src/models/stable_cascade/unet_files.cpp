#include "models/stable_cascade/unet_files.h"

#include <array>
#include <nlohmann/json.hpp>

#include "weights/layout/sizes.h"

namespace hearth::models::stable_cascade {
namespace {

using Json = nlohmann::json;

constexpr std::array<NameRule, 12> block{{
    {"#.#.depthwise.*", "#.#.depthwise.*"},
    {"#.#.channelwise.#.*", "#.#.channelwise.#.*"},
    {"#.#.mapper.*", "#.#.mapper.*"},
    {"#.#.mapper_sca.*", "#.#.mapper_sca.*"},
    {"#.#.mapper_crp.*", "#.#.mapper_crp.*"},
    {"#.#.kv_mapper.#.*", "#.#.kv_mapper.#.*"},
    {"#.#.attention.attn.in_proj_weight", "#.#.attention.to_q.weight", form::rows(0, 1, 3)},
    {"#.#.attention.attn.in_proj_weight", "#.#.attention.to_k.weight", form::rows(1, 2, 3)},
    {"#.#.attention.attn.in_proj_weight", "#.#.attention.to_v.weight", form::rows(2, 3, 3)},
    {"#.#.attention.attn.in_proj_bias", "#.#.attention.to_q.bias", form::rows(0, 1, 3)},
    {"#.#.attention.attn.in_proj_bias", "#.#.attention.to_k.bias", form::rows(1, 2, 3)},
    {"#.#.attention.attn.in_proj_bias", "#.#.attention.to_v.bias", form::rows(2, 3, 3)},
}};
constexpr std::array<NameRule, 1> output{{{"#.#.attention.attn.out_proj.*", "#.#.attention.to_out.0.*"}}};
constexpr std::array<NameRule, 11> ends{{
    {"down_downscalers.**", "down_downscalers.**"},
    {"up_upscalers.**", "up_upscalers.**"},
    {"down_repeat_mappers.**", "down_repeat_mappers.**"},
    {"up_repeat_mappers.**", "up_repeat_mappers.**"},
    {"embedding.**", "embedding.**"},
    {"clf.**", "clf.**"},
    {"clip_txt_mapper.*", "clip_txt_mapper.*"},
    {"clip_img_mapper.*", "clip_img_mapper.*"},
    {"effnet_mapper.**", "effnet_mapper.**"},
    {"pixels_mapper.**", "pixels_mapper.**"},
    {"clip_txt_pooled_mapper.*", "clip_txt_pooled_mapper.*"},
}};
// Stage B has another name for the mapper of the pooled text.
constexpr std::array<NameRule, 1> pooled_of_b{{{"clip_mapper.*", "clip_txt_pooled_mapper.*"}}};

const NameMap& names_of_c() {
  static const NameMap map{{"down_blocks", "down_blocks", block},
                           {"down_blocks", "down_blocks", output},
                           {"up_blocks", "up_blocks", block},
                           {"up_blocks", "up_blocks", output},
                           {"", "", ends}};
  return map;
}
const NameMap& names_of_b() {
  static const NameMap map = [] {
    NameMap all = names_of_c();
    all.insert(all.begin(), {"", "", pooled_of_b});
    return all;
  }();
  return map;
}

// What tensors say of a network.
struct Found {
  std::vector<int64_t> channels, heads, down, up, down_runs, up_runs;
  std::vector<std::vector<std::string>> kinds;
  bool interpolates = false;  // 'switch_level'

  explicit Found(const TensorList& t) {
    const auto has = [&](const std::string& name) { return t.contains(name); };
    const auto kind = [&](const std::string& name) -> std::string {
      if (has(name + ".depthwise.weight")) return "SDCascadeResBlock";
      if (has(name + ".mapper.weight")) return "SDCascadeTimestepBlock";
      return has(name + ".kv_mapper.1.weight") ? "SDCascadeAttnBlock" : "";
    };
    const auto count = [&](const std::string& way, size_t place) {
      int64_t blocks = 0;
      while (!kind(fmt::format("{}_blocks.{}.{}", way, place, blocks)).empty()) ++blocks;
      return blocks;
    };
    const auto runs = [&](const std::string& way, size_t place) {
      int64_t all = 1;
      while (has(fmt::format("{}_repeat_mappers.{}.{}.weight", way, place, all - 1))) ++all;
      return all;
    };
    for (size_t i = 0; count("down", i) > 0; ++i) {
      channels.push_back(axis_of(t, fmt::format("down_blocks.{}.0.depthwise.weight", i), 0));
      std::vector<std::string>& own = kinds.emplace_back();
      const int64_t blocks = count("down", i);
      for (int64_t k = 0; k < blocks && (k == 0 || kind(fmt::format("down_blocks.{}.{}", i, k)) != own[0]); ++k)
        own.push_back(kind(fmt::format("down_blocks.{}.{}", i, k)));
      heads.push_back(own.size() > 2 ? channels.back() / 64 : 0);
      down.push_back(blocks / int64_t(own.size()));
      down_runs.push_back(runs("down", i)), up_runs.push_back(runs("up", i));
    }
    for (size_t place = 0; place < kinds.size(); ++place)
      up.push_back(count("up", place) / int64_t(kinds[kinds.size() - 1 - place].size()));
    interpolates = has("down_downscalers.1.1.blocks.0.weight");
  }
};

Geometry geometry(const std::vector<int64_t>& channels, const std::vector<int64_t>& down, const std::vector<int64_t>& up, bool features) {
  return {.sizes = {{"channels", channels}, {"down", down}, {"up", up}, {"features", {features}}},
          .description = fmt::format("channels {}; layers {} and {}; {}", fmt::join(channels, ", "), fmt::join(down, ", "),
                                     fmt::join(up, ", "), features ? "stage B" : "stage C")};
}

Geometry geometry_of(const TensorList& official) {
  const Found found(official);
  return geometry(found.channels, found.down, found.up, official.contains("effnet_mapper.0.weight"));
}

Geometry stated_geometry(const Json& config) {
  const auto list = [&](const char* key) {
    std::vector<int64_t> values;
    if (config.is_object() && config.contains(key) && config[key].is_array())
      for (const Json& value : config[key])
        if (value.is_number_integer()) values.push_back(value.get<int64_t>());
    return values;
  };
  return geometry(list("block_out_channels"), list("down_num_layers_per_block"), list("up_num_layers_per_block"),
                  stated_integer(config, "effnet_in_channels", 0) > 0);
}

// The publications, full and lite. Tensors do not show their heads, which have 64 channels, and patches: 1 in stage C, 2 in stage B.
bool is_published(const std::vector<int64_t>& channels) {
  const std::vector<std::vector<int64_t>> all{{2048, 2048}, {1536, 1536}, {320, 640, 1280, 1280}, {320, 576, 1152, 1152}};
  return std::ranges::find(all, channels) != all.end();
}

std::optional<std::string> standard_config(const TensorList& official) {
  const Found found(official);
  if (!is_published(found.channels)) return std::nullopt;
  const auto axis = [&](const std::string& name, int i) { return axis_of(official, name, i); };
  const auto width = [&](const std::string& name, int i) { return axis(name, i) > 0 ? Json(axis(name, i)) : Json(); };
  const bool is_b = official.contains("effnet_mapper.0.weight");
  const int64_t patch = is_b ? 2 : 1, size = patch * patch;
  const auto has_condition = [&](const char* name) { return official.contains(fmt::format("down_blocks.0.1.mapper_{}.weight", name)); };
  Json conditions = Json::array();
  for (const char* name : {"sca", "crp"})
    if (has_condition(name)) conditions.push_back(name);
  const int64_t rows_width = axis("clip_txt_pooled_mapper.weight", 0);
  int64_t conditioning = axis("clip_txt_mapper.weight", 0);
  for (size_t i = 0; i < found.kinds.size(); ++i)
    if (found.kinds[i].size() > 2) conditioning = axis(fmt::format("down_blocks.{}.2.kv_mapper.1.weight", i), 1);
  if (conditioning == 0 || rows_width % conditioning != 0) return std::nullopt;
  Json json{{"_class_name", "StableCascadeUNet"},
            {"in_channels", axis("embedding.1.weight", 1) / size},
            {"out_channels", axis("clf.1.weight", 0) / size},
            {"timestep_ratio_embedding_dim", axis("down_blocks.0.1.mapper.weight", 1)},
            {"patch_size", patch},
            {"conditioning_dim", conditioning},
            {"block_out_channels", found.channels},
            {"num_attention_heads", found.heads},
            {"down_num_layers_per_block", found.down},
            {"up_num_layers_per_block", found.up},
            {"down_blocks_repeat_mappers", found.down_runs},
            {"up_blocks_repeat_mappers", found.up_runs},
            {"block_types_per_layer", found.kinds},
            {"clip_text_in_channels", width("clip_txt_mapper.weight", 1)},
            {"clip_text_pooled_in_channels", axis("clip_txt_pooled_mapper.weight", 1)},
            {"clip_image_in_channels", width("clip_img_mapper.weight", 1)},
            {"clip_seq", rows_width / conditioning},
            {"effnet_in_channels", width("effnet_mapper.0.weight", 1)},
            {"pixel_mapper_in_channels", width("pixels_mapper.0.weight", 1)},
            {"kernel_size", axis("down_blocks.0.0.depthwise.weight", 2)},
            {"timestep_conditioning_type", conditions},
            {"switch_level", nullptr}};
  if (found.interpolates) json["switch_level"] = std::vector<bool>(found.channels.size() - 1, false);
  return json.dump();
}

NetworkFiles unet_files(std::vector<std::string_view> of_stage, std::string_view pooled, size_t attends) {
  static constexpr std::string_view fused[] = {"down_blocks.0.2.attention.attn.in_proj_weight",
                                               "down_blocks.2.2.attention.attn.in_proj_weight"};
  static constexpr std::string_view split[] = {"down_blocks.0.2.attention.to_q.weight", "down_blocks.2.2.attention.to_q.weight"};
  std::vector<std::string_view> original = of_stage, official = of_stage;
  original.insert(original.end(), {pooled, fused[attends]});
  official.insert(official.end(), {"clip_txt_pooled_mapper.weight", split[attends]});
  NetworkFiles files{
      .classes = {"StableCascadeUNet"},
      .spellings = {{.name = "original", .marks = std::move(original)}, {.name = "diffusers", .marks = std::move(official)}}};
  if (attends == 0) {
    files.spellings[0].reading = [](const TensorList&, const Json&) { return names_of_c(); };
    files.spellings[0].writing = [](const TensorList&) { return names_of_c(); };
  } else {
    files.spellings[0].reading = [](const TensorList&, const Json&) { return names_of_b(); };
    files.spellings[0].writing = [](const TensorList&) { return names_of_b(); };
  }
  files.standard_config = standard_config;
  files.geometry = geometry_of;
  files.stated_geometry = stated_geometry;
  return files;
}

constexpr std::array<NameRule, 2> comfyui_text{{
    {"transformer.text_model.**", "text_model.**"}, {"text_projection", "text_projection.weight", form::transposed},  // x·P there, P·x here
}};

}  // namespace

// The levels of stage C all attend; of stage B, those from the third on in the full and the lite network.
const NetworkFiles stage_c_files = unet_files({"clip_txt_mapper.weight", "clip_img_mapper.weight"}, "clip_txt_pooled_mapper.weight", 0);
const NetworkFiles stage_b_files = unet_files({"effnet_mapper.0.weight", "pixels_mapper.0.weight"}, "clip_mapper.weight", 1);

const NetworkFiles stage_a_files{
    .classes = {"PaellaVQModel"},
    .spellings = {{.name = "diffusers",
                   .marks = {"up_blocks.0.0.weight", "up_blocks.1.gammas", "up_blocks.1.depthwise.1.weight", "out_block.0.weight"}}},
    .ignored = {"in_block.*", "down_blocks.*", "vquantizer.*"},  // the encoder's
    .fallback_config = R"({"_class_name": "PaellaVQModel"})",
};

const NetworkFiles comfyui_text_files{
    .classes = {"CLIPTextModelWithProjection"},
    .spellings = {{.name = "comfyui",
                   .marks = {"transformer.text_model.embeddings.token_embedding.weight", "transformer.text_model.final_layer_norm.weight",
                             "text_projection"},
                   .reading =
                       [](const TensorList&, const Json&) {
                         return NameMap{{"", "", comfyui_text}};
                       }}},
    .ignored = {"text_model.embeddings.position_ids", "*logit_scale"},
};

}  // namespace hearth::models::stable_cascade
