// A single file as a checkpoint: its components under their official names, and which configurations are its own.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "weights/layout/given_component.h"
#include "weights/layout/unet_geometry.h"

namespace hearth {

struct SingleFile {
  std::map<std::string, GivenComponent> components;
  std::filesystem::path configs;             // a diffusers folder without weights
  std::map<std::string, std::string> patch;  // scheduler_config.json: key → JSON in place of what stands there
  std::string contents;                      // "UNet, VAE", for messages
  std::vector<std::string> unknown;          // tensors outside of every network that no list of leftovers names
};

struct SingleFileOptions {
  std::filesystem::path assets;        // configs/NAME: the built-in configurations; empty: none
  std::filesystem::path config;        // given by the user: these and no others
  bool averaged = false;               // SectionOptions
  std::shared_ptr<TensorSource> unet;  // given by the user, official names: stands for the file's own
};

// Opens the file and finds its configurations: those given, or the built-in ones whose UNet has its geometry. Of several the one whose
// marker (`_marker` in model_index.json) is a tensor of the file, and whose scheduler predicts what the file does: that is told by the
// markers v_pred and ztsnr, by the metadata (modelspec.prediction_type), or, in Stable Diffusion 2, by the deviation of one bias as ComfyUI
// does (architectures §1.2). UnsupportedError for a UNet of another geometry and for a file that holds none of these networks.
SingleFile open_single_file(const std::filesystem::path& file, const SingleFileOptions& options);

// A file of such a folder, "unet/config.json". Built-in folders that share it with another name that one (`_base` in model_index.json)
// instead of holding it. The path in the folder itself where neither has it.
std::filesystem::path published_file(const std::filesystem::path& folder, const std::filesystem::path& file);

// The folders of assets/configs whose UNet has this geometry, by name.
std::vector<std::filesystem::path> configs_with(const std::filesystem::path& assets, const UnetGeometry& geometry);

}  // namespace hearth
