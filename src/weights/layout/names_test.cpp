// The name maps on the full tensor lists of published files, compared with the reference's converters (golden/make.py).
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "support/files.h"
#include "weights/layout/given_component.h"
#include "weights/layout/key_lists_test.h"
#include "weights/layout/single_file.h"
#include "weights/listing.h"
#include "weights/name_pattern.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using test::key_list, test::ListedSource;

const std::vector<std::string> single_files{"sd15-single-file", "sd21-single-file", "sdxl-single-file", "refiner-single-file"};

// As the golden file calls it.
std::string_view name_of(Form form) {
  constexpr std::array<std::string_view, 3> thirds{"first_third", "second_third", "last_third"};
  if (form == form::transposed) return "transposed";
  if (form == form::kernel) return "kernel";
  return form == form::same ? "same" : thirds.at(form.first);
}

NameMap map_of(const Section& section, const TensorList& inside) {
  if (section.component == "unet") return unet_names(blocks_of_original(inside));
  if (section.component == "vae") return autoencoder_kl_names(levels_of_original_autoencoder(inside));
  return section.naming == Naming::open_clip ? open_clip_names() : clip_names();
}

std::string digest(const std::vector<std::string>& lines) {
  uint64_t value = 0xcbf29ce484222325;
  for (const std::string& line : lines)
    for (const char c : line) value = (value ^ uint8_t(c)) * 0x100000001b3;
  return fmt::format("{:016x}", value);
}

TEST(names, G27_every_tensor_of_published_files_goes_where_the_reference_puts_it) {
  const nlohmann::json golden = load_json(test::folder_of(__FILE__) / "golden" / "names.json");
  for (const std::string& file : single_files) {
    const TensorList tensors = key_list(file);
    std::map<std::string, size_t> found;
    for (const Section& section : find_sections(tensors, file)) {
      const nlohmann::json& wanted = golden["files"][file]["components"][section.component];
      // What the reference leaves out of Stable Diffusion 2's encoder: the last layer and the projection.
      std::vector<std::string> left_out;
      if (file == "sd21-single-file" && section.component == "text_encoder") left_out = ignored_of_text_encoder(section.naming, 23, false);
      std::vector<std::string> lines;
      for (const auto& [official, piece] : official_pieces(tensors, section.prefix, map_of(section, inside_of(tensors, section.prefix)))) {
        if (matches_any(left_out, official)) continue;
        std::string shape;
        for (const int64_t d : piece.info.shape) shape += fmt::format("{}{}", shape.empty() ? "" : ",", d);
        lines.push_back(fmt::format("{}\t{}\t{}\t{}\n", official, piece.stored, name_of(piece.form), shape));
      }
      std::ranges::sort(lines);
      EXPECT_EQ(lines.size(), wanted["tensors"].get<size_t>()) << file << " " << section.component;
      EXPECT_EQ(digest(lines), wanted["digest"].get<std::string>()) << file << " " << section.component << " " << lines[0];
      found[section.component] = lines.size();
    }
    EXPECT_EQ(found.size(), golden["files"][file]["components"].size()) << file;
  }
}

// Read backwards, every official tensor leads to the original one that it came from, and no original one is left over.
TEST(names, G27_the_maps_are_bijections_on_published_files) {
  std::map<std::string, std::map<std::string, size_t>> counts;
  for (const std::string& file : single_files) {
    const TensorList tensors = key_list(file);
    size_t inside_sections = 0;
    for (const Section& section : find_sections(tensors, file)) {
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
      counts[file][section.component] = pieces.size();
      // The same structure is seen from the other side.
      if (section.component == "unet") {
        const UnetBlocks there = blocks_of_original(inside), here = blocks_of_official(official);
        EXPECT_EQ(there.layers, here.layers);
        EXPECT_EQ(there.attends_up, here.attends_up);
      }
      if (section.component == "vae") { EXPECT_EQ(levels_of_original_autoencoder(inside), levels_of_official_autoencoder(official)); }
    }
    EXPECT_EQ(inside_sections, tensors.size()) << file;
  }
  EXPECT_EQ(counts["sd15-single-file"], (std::map<std::string, size_t>{{"unet", 686}, {"vae", 248}, {"text_encoder", 196}}));
  EXPECT_EQ(counts["sd21-single-file"]["unet"], 686u);
  EXPECT_EQ(counts["sdxl-single-file"]["unet"], 1680u);
  EXPECT_EQ(counts["sdxl-single-file"]["vae"], 248u);
  EXPECT_EQ(counts["refiner-single-file"]["unet"], 1220u);
}

TEST(names, G58_each_published_file_finds_the_configurations_of_its_geometry) {
  const fs::path assets = fs::path(HEARTH_SOURCE_DIR) / "assets";
  const auto folders = [&](const std::string& file, const std::function<void(TensorList&)>& change) {
    TensorList tensors = key_list(file);
    change(tensors);
    for (const Section& section : find_sections(tensors, file)) {
      if (section.component != "unet") continue;
      std::vector<std::string> names;
      const auto source = open_section(std::make_shared<ListedSource>(tensors), section, {});
      for (const fs::path& folder : configs_with(assets, geometry_of(source->list()))) names.push_back(folder.filename());
      return fmt::format("{}", fmt::join(names, " "));
    }
    return std::string("no UNet");
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
  // One transformer block fewer is another network, and so is a file whose last block is missing.
  const auto without = [](const std::string& prefix) {
    return [prefix](TensorList& all) { std::erase_if(all, [&](const auto& named) { return named.first.starts_with(prefix); }); };
  };
  EXPECT_EQ(folders("sdxl-single-file", without("model.diffusion_model.middle_block.1.transformer_blocks.9.")), "");
  EXPECT_EQ(folders("sd15-single-file", without("model.diffusion_model.output_blocks.11.")), "");
}

TEST(names, a_fused_or_transposed_tensor_of_another_shape_is_unreadable_by_name) {
  TensorList tensors{{"transformer.resblocks.0.attn.in_proj_weight", {.shape = {7, 2}}}, {"text_projection", {.shape = {3}}}};
  Pieces pieces = official_pieces(tensors, "", open_clip_names());
  EXPECT_EQ(pieces.at("text_model.encoder.layers.0.self_attn.k_proj.weight").info.unreadable,
            "lies in 'transformer.resblocks.0.attn.in_proj_weight' of shape [7, 2], needed three times as many rows");
  EXPECT_EQ(pieces.at("text_projection.weight").info.unreadable, "lies in 'text_projection' of shape [3], needed a matrix");
  pieces = official_pieces({{"encoder.mid.attn_1.q.weight", {.shape = {4, 4, 3, 3}}}}, "", autoencoder_kl_names(1));
  EXPECT_EQ(pieces.at("encoder.mid_block.attentions.0.to_q.weight").info.unreadable,
            "lies in 'encoder.mid.attn_1.q.weight' of shape [4, 4, 3, 3], needed a 1×1 kernel or a matrix");
}

TEST(names, two_spellings_of_one_tensor_are_refused) {
  const TensorList tensors{{"embeddings.x.weight", {}}, {"text_model.embeddings.x.weight", {}}};
  EXPECT_EQ(test::message_of<WeightError>([&] { official_pieces(tensors, "", clip_names()); }),
            "names: 'embeddings.x.weight' and 'text_model.embeddings.x.weight' are both 'text_model.embeddings.x.weight'");
}

TEST(names, what_no_rule_knows_keeps_its_whole_name) {
  const Pieces pieces =
      official_pieces({{"p.out.0.weight", {}}, {"p.surplus", {}}, {"q", {}}}, "p.", unet_names({.layers = {1}, .attends_up = {false}}));
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_TRUE(pieces.contains("conv_norm_out.weight"));
  EXPECT_TRUE(pieces.contains("p.surplus"));
}

}  // namespace
}  // namespace hearth
