// One component of a checkpoint that comes from somewhere else than its folder: from a single file, or from what the user names.
#pragma once

#include <filesystem>

#include "core/config.h"
#include "weights/layout/sections.h"

namespace hearth {

struct GivenComponent {
  std::shared_ptr<TensorSource> tensors;     // official names
  std::vector<std::filesystem::path> files;  // that hold them
  std::filesystem::path config;              // its own config.json; empty: the checkpoint's
  Naming naming = Naming::diffusers;         // that they have in the files
  std::string class_name;                    // of an autoencoder: "AutoencoderKL", "AutoencoderTiny"; empty: the checkpoint's own
  bool decoder_alone = false;                // an autoencoder without its encoder

  // Its own configuration as JSON: that of `config`, or for an AutoencoderTiny without one the class's defaults, which are the published
  // one's; nothing where the checkpoint's holds. IoError where the file cannot be read.
  std::optional<std::string> config_text() const;
  Config own_config() const;  // of an AutoencoderTiny or with a `config`
};

// "UNet", "VAE", "text encoder", "second text encoder": what people call a component.
std::string spoken_name(std::string_view component);

// What a file holds, for messages: "UNet, VAE"; "FLUX.1 dev"; "no network that hearth knows".
std::string contents_of(const TensorList& tensors, std::span<const Section> sections);

// A file in any layout, alone or with other components, or a folder: a component's, or a diffusers folder that has the component.
// WeightError where it holds none; errors of weights/checkpoint_files.h.
GivenComponent open_given(const std::filesystem::path& path, std::string_view component);

bool has_class_embedding(const std::filesystem::path& config);  // whether a UNet's config.json asks for one (SectionOptions)

// What a text encoder's file holds beyond its configuration, as its makers ship it: the layer behind the last one used (Stable Diffusion 2
// reads its encoder's last but one and diffusers drops the last), the projection of an encoder without one, logit_scale. `layers`,
// `projects`: as the configuration says.
std::vector<std::string> ignored_of_text_encoder(Naming naming, int64_t layers, bool projects);

}  // namespace hearth
