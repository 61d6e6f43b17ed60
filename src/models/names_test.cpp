// The name maps on the full tensor lists of published files, compared with the reference's converters (weights/layout/golden/make.py).
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "models/checkpoints.h"
#include "parts/autoencoder_kl/files.h"
#include "parts/clip/files.h"
#include "parts/unet/files.h"
#include "parts/unet/names.h"
#include "support/files.h"
#include "weights/layout/key_lists_test.h"
#include "weights/name_pattern.h"

namespace hearth::models {
namespace {

namespace fs = std::filesystem;
using test::key_list;

const std::vector<std::string> single_files{"sd15-single-file",  "sd21-single-file", "sdxl-single-file", "refiner-single-file",
                                            "sd3-medium-sai",    "sd35-medium-sai",  "sd35-large-sai",   "flux1-dev-bfl",
                                            "flux1-schnell-bfl", "flux1-fill-bfl"};

// As named in the golden file.
std::string name_of(Form form) {
  switch (form.kind) {
    case Form::Kind::same: return "same";
    case Form::Kind::rows: return fmt::format("rows {} to {} of {}", form.first, form.end, form.parts);
    case Form::Kind::swapped: return "swapped";
    case Form::Kind::transposed: return "transposed";
    case Form::Kind::kernel: return "kernel";
  }
  return "";
}

NameMap map_of(const Section& section, const TensorList& inside) { return section.spelling->reading(inside, {}); }

std::string component_of(const Section& section) { return std::string(section.slot().name); }

std::vector<Section> sections_of(const TensorList& tensors, const std::string& file) { return find_sections(tensors, image_files(), file); }

std::string digest(const std::vector<std::string>& lines) {
  uint64_t value = 0xcbf29ce484222325;
  for (const std::string& line : lines)
    for (const char c : line) value = (value ^ uint8_t(c)) * 0x100000001b3;
  return fmt::format("{:016x}", value);
}

TEST(Names, every_tensor_of_published_files_goes_where_the_reference_puts_it) {
  const nlohmann::json golden = load_json(fs::path(HEARTH_SOURCE_DIR) / "src/weights/layout/golden/names.json");
  for (const std::string& file : single_files) {
    const TensorList tensors = key_list(file);
    std::map<std::string, size_t> found;
    for (const Section& section : sections_of(tensors, file)) {
      const nlohmann::json& wanted = golden["files"][file]["components"][component_of(section)];
      // The reference leaves out the last layer and the projection of Stable Diffusion 2's encoder.
      std::vector<std::string> left_out;
      if (file == "sd21-single-file" && component_of(section) == "text_encoder")
        left_out = section.spelling->surplus("CLIPTextModel", Config::parse(R"({"num_hidden_layers": 23})", "config"));
      std::vector<std::string> lines;
      for (const auto& [official, piece] : official_pieces(tensors, section.prefix, map_of(section, inside_of(tensors, section.prefix)))) {
        if (matches_any(left_out, official)) continue;
        std::string shape;
        for (const int64_t d : piece.info.shape) shape += fmt::format("{}{}", shape.empty() ? "" : ",", d);
        lines.push_back(fmt::format("{}\t{}\t{}\t{}\n", official, piece.stored, name_of(piece.form), shape));
      }
      std::ranges::sort(lines);
      EXPECT_EQ(lines.size(), wanted["tensors"].get<size_t>()) << file << " " << component_of(section);
      EXPECT_EQ(digest(lines), wanted["digest"].get<std::string>()) << file << " " << component_of(section) << " " << lines[0];
      found[component_of(section)] = lines.size();
    }
    EXPECT_EQ(found.size(), golden["files"][file]["components"].size()) << file;
  }
}

// In reverse, every official tensor maps to its original one, and no original one is left over.
TEST(Names, the_maps_are_bijections_on_published_files) {
  std::map<std::string, std::map<std::string, size_t>> counts;
  for (const std::string& file : single_files) {
    const TensorList tensors = key_list(file);
    size_t inside_sections = 0;
    for (const Section& section : sections_of(tensors, file)) {
      const TensorList inside = inside_of(tensors, section.prefix);
      inside_sections += inside.size();
      const NameMap map = map_of(section, inside);
      const Pieces pieces = official_pieces(tensors, section.prefix, map);
      std::set<std::string> reached;
      TensorList official;
      for (const auto& [name, piece] : pieces) {
        const auto back = to_original(name, map);
        ASSERT_TRUE(back) << name;
        EXPECT_EQ(section.prefix + back->name, piece.stored);
        EXPECT_EQ(back->form, piece.form) << name;
        EXPECT_EQ(piece.info.unreadable, "") << name;
        reached.insert(back->name);
        official[name] = piece.info;
      }
      EXPECT_EQ(reached.size(), inside.size());
      counts[file][component_of(section)] = pieces.size();
      // The same structure is derived from the other layout.
      if (section.network == &parts::unet_files) {
        const parts::UnetBlocks there = parts::blocks_of_original(inside), here = parts::blocks_of_official(official);
        EXPECT_EQ(there.layers, here.layers);
        EXPECT_EQ(there.attends_up, here.attends_up);
      }
      if (section.network == &parts::autoencoder_kl_files) {
        EXPECT_EQ(parts::levels_of_original_autoencoder(inside), parts::levels_of_official_autoencoder(official));
      }
    }
    EXPECT_EQ(inside_sections, tensors.size()) << file;
  }
  EXPECT_EQ(counts["sd15-single-file"], (std::map<std::string, size_t>{{"unet", 686}, {"vae", 248}, {"text_encoder", 196}}));
  EXPECT_EQ(counts["sd21-single-file"]["unet"], 686u);
  EXPECT_EQ(counts["sdxl-single-file"]["unet"], 1680u);
  EXPECT_EQ(counts["sdxl-single-file"]["vae"], 248u);
  EXPECT_EQ(counts["refiner-single-file"]["unet"], 1220u);
  EXPECT_EQ(counts["sd3-medium-sai"]["transformer"], 683u);
  EXPECT_EQ(counts["sd35-medium-sai"]["transformer"], 909u);
  EXPECT_EQ(counts["sd35-large-sai"]["transformer"], 1227u);
  EXPECT_EQ(counts["flux1-dev-bfl"], (std::map<std::string, size_t>{{"transformer", 1160}}));
  EXPECT_EQ(counts["flux1-schnell-bfl"]["transformer"], 1156u);
  EXPECT_EQ(counts["flux1-fill-bfl"]["transformer"], 1160u);
}

TEST(Names, each_published_file_finds_the_configurations_of_its_geometry) {
  const std::vector<KnownFamily> families = image_files();
  const auto folders = [&](const std::string& file, const std::function<void(TensorList&)>& change) {
    TensorList tensors = key_list(file);
    change(tensors);
    for (const Section& section : sections_of(tensors, file)) {
      if (section.slot().role != ComponentRole::denoiser) continue;
      std::vector<std::string> names;
      const auto source = open_section(std::make_shared<test::ListedSource>(tensors), section, {});
      for (const Configuration& c : configurations_with({*section.network, section.slot(), *source}, families))
        names.push_back(c.folder.filename());
      return fmt::format("{}", fmt::join(names, " "));
    }
    return std::string("no denoiser");
  };
  const auto as_it_is = [](TensorList&) {};
  const auto channels = [](int64_t n) {
    return [n](TensorList& all) { all["model.diffusion_model.input_blocks.0.0.weight"].shape[1] = n; };
  };
  EXPECT_EQ(folders("sd15-single-file", as_it_is), "sd15");
  EXPECT_EQ(folders("sd15-single-file", channels(9)), "sd15-inpainting");
  EXPECT_EQ(folders("sd15-single-file", channels(8)), "sd15-pix2pix");
  EXPECT_EQ(folders("sd15-single-file", channels(7)), "");
  EXPECT_EQ(folders("sd21-single-file", as_it_is), "sd21 sd21-base");
  EXPECT_EQ(folders("sd21-single-file", channels(9)), "sd2-inpainting");
  EXPECT_EQ(folders("sd21-single-file", channels(5)), "sd2-depth");
  EXPECT_EQ(folders("sdxl-single-file", as_it_is), "cosxl playground-v2.5 sdxl");
  EXPECT_EQ(folders("sdxl-single-file", channels(9)), "sdxl-inpainting");
  EXPECT_EQ(folders("sdxl-single-file", channels(8)), "cosxl-edit sdxl-pix2pix");
  EXPECT_EQ(folders("refiner-single-file", as_it_is), "sdxl-refiner");
  EXPECT_EQ(folders("sd3-medium-sai", as_it_is), "sd3-medium");
  EXPECT_EQ(folders("sd35-medium-sai", as_it_is), "sd35-medium");
  EXPECT_EQ(folders("sd35-large-sai", as_it_is), "sd35-large sd35-large-turbo");
  EXPECT_EQ(folders("sd3-medium-sai", [](TensorList& all) { all["model.diffusion_model.pos_embed"].shape[1] = 1024; }), "");
  const auto takes = [](int64_t n) { return [n](TensorList& all) { all["img_in.weight"].shape[1] = n; }; };
  EXPECT_EQ(folders("flux1-dev-bfl", as_it_is), "flux1-dev flux1-kontext-dev");
  EXPECT_EQ(folders("flux1-dev-bfl", takes(128)), "flux1-canny-dev flux1-depth-dev");
  EXPECT_EQ(folders("flux1-fill-bfl", as_it_is), "flux1-fill-dev");
  EXPECT_EQ(folders("flux1-schnell-bfl", as_it_is), "flux1-schnell");
  EXPECT_EQ(folders("flux1-schnell-bfl", takes(128)), "");
  // With one transformer block less it is another network, and so is a file whose last block is missing.
  const auto without = [](const std::string& prefix) {
    return [prefix](TensorList& all) { std::erase_if(all, [&](const auto& named) { return named.first.starts_with(prefix); }); };
  };
  EXPECT_EQ(folders("sdxl-single-file", without("model.diffusion_model.middle_block.1.transformer_blocks.9.")), "");
  EXPECT_EQ(folders("sd15-single-file", without("model.diffusion_model.output_blocks.11.")), "");
  EXPECT_EQ(folders("sd35-medium-sai", without("model.diffusion_model.joint_blocks.23.")), "");
  EXPECT_EQ(folders("sd35-medium-sai", without("model.diffusion_model.joint_blocks.12.x_block.attn2.")), "");
  EXPECT_EQ(folders("flux1-dev-bfl", without("single_blocks.37.")), "");
}

TEST(Names, a_fused_or_transposed_tensor_of_another_shape_is_unreadable_by_name) {
  TensorList tensors{{"transformer.resblocks.0.attn.in_proj_weight", {.shape = {7, 2}}}, {"text_projection", {.shape = {3}}}};
  Pieces pieces = official_pieces(tensors, "", parts::open_clip_names());
  EXPECT_EQ(pieces.at("text_model.encoder.layers.0.self_attn.k_proj.weight").info.unreadable,
            "is stored in 'transformer.resblocks.0.attn.in_proj_weight' of shape [7, 2], expected three times as many rows");
  EXPECT_EQ(pieces.at("text_projection.weight").info.unreadable, "is stored in 'text_projection' of shape [3], expected a matrix");
  pieces = official_pieces({{"encoder.mid.attn_1.q.weight", {.shape = {4, 4, 3, 3}}}}, "", parts::autoencoder_kl_names(1));
  EXPECT_EQ(pieces.at("encoder.mid_block.attentions.0.to_q.weight").info.unreadable,
            "is stored in 'encoder.mid.attn_1.q.weight' of shape [4, 4, 3, 3], expected a 1×1 kernel or a matrix");
}

TEST(Names, two_spellings_of_one_tensor_are_refused) {
  const TensorList tensors{{"embeddings.x.weight", {}}, {"text_model.embeddings.x.weight", {}}};
  EXPECT_EQ(test::message_of<WeightError>([&] { official_pieces(tensors, "", parts::clip_names()); }),
            "names: 'embeddings.x.weight' and 'text_model.embeddings.x.weight' both map to 'text_model.embeddings.x.weight'");
}

TEST(Names, what_no_rule_knows_keeps_its_whole_name) {
  const Pieces pieces = official_pieces({{"p.out.0.weight", {}}, {"p.surplus", {}}, {"q", {}}}, "p.",
                                        parts::unet_names({.layers = {1}, .attends_up = {false}}));
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_TRUE(pieces.contains("conv_norm_out.weight"));
  EXPECT_TRUE(pieces.contains("p.surplus"));
}

// Every rule has the same placeholders on both sides, so the table works in reverse, too.
TEST(Names, tables_of_published_folders_are_bijections) {
  const std::map<std::string, std::map<std::string, std::string>> expected{
      {"AutoencoderKL",
       {{"encoder.mid_block.attentions.0.query.weight", "encoder.mid_block.attentions.0.to_q.weight"},
        {"encoder.mid_block.attentions.0.key.bias", "encoder.mid_block.attentions.0.to_k.bias"},
        {"decoder.mid_block.attentions.0.value.weight", "decoder.mid_block.attentions.0.to_v.weight"},
        {"decoder.mid_block.attentions.0.proj_attn.bias", "decoder.mid_block.attentions.0.to_out.0.bias"}}},
      {"CLIPTextModel",
       {{"embeddings.token_embedding.weight", "text_model.embeddings.token_embedding.weight"},
        {"encoder.layers.11.self_attn.q_proj.bias", "text_model.encoder.layers.11.self_attn.q_proj.bias"},
        {"final_layer_norm.weight", "text_model.final_layer_norm.weight"}}}};
  for (const auto& [class_name, pairs] : expected) {
    const std::span<const Alias> rules = network_of(image_files(), class_name)->aliases;
    std::map<std::string, TensorInfo> stored, official;
    for (const auto& [from, to] : pairs) stored[from], official[to];
    EXPECT_EQ(official_names(stored, rules), pairs);
    for (const auto& [name, same] : official_names(official, rules)) EXPECT_EQ(name, same) << "an official name is no alias";
    std::vector<Alias> reversed;
    for (const Alias& rule : rules) reversed.push_back({rule.official, rule.stored});
    for (const auto& [to, from] : official_names(official, reversed)) EXPECT_EQ(pairs.at(from), to);
  }
}

}  // namespace
}  // namespace hearth::models
