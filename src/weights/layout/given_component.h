// One component of a checkpoint that comes from somewhere else than its folder: from a single file, or from what the user names.
#pragma once

#include "core/files/config.h"
#include "weights/layout/sections.h"

namespace hearth {

struct GivenComponent {
  std::shared_ptr<TensorSource> tensors;     // official names
  std::vector<std::filesystem::path> files;  // that hold them
  std::filesystem::path config;              // its own config.json; empty: the checkpoint's
  const NetworkFiles* network = nullptr;
  const Spelling* spelling = nullptr;  // that it has in the files
  std::string class_name;              // the network's first
  bool decoder_alone = false;          // an autoencoder without its encoder

  // Its own configuration as JSON: that of `config`, or the network's standard one; nothing where the checkpoint's holds. IoError where the
  // file cannot be read.
  std::optional<std::string> config_text() const;
  Config own_config() const;  // where there is one
};

// A section of an opened file as a component.
GivenComponent given_by(std::shared_ptr<TensorSource> source, const Section& section, const SectionOptions& options);

// A file in any layout, alone or with other components, or a folder: a component's, or a diffusers folder that has the component.
// WeightError where it holds none; errors of weights/checkpoint_files.h.
GivenComponent open_given(const std::filesystem::path& path, std::string_view component, std::span<const KnownFamily> families);

}  // namespace hearth
