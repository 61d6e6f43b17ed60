// A single file as a checkpoint: its components under their official names, and which configurations are its own.
#pragma once

#include "weights/layout/configurations.h"
#include "weights/layout/given_component.h"

namespace hearth {

struct SingleFile {
  struct Part {
    std::vector<const Slot*> slots;  // Section
    GivenComponent component;
  };
  std::vector<Part> parts;
  std::optional<Chosen> chosen;             // the built-in configuration; always there where none is given
  std::vector<const ImageFiles*> families;  // that it may be of: that of the chosen configuration, or all that have such a denoiser
  std::string contents;                     // "UNet, VAE", for messages
  std::vector<std::string> unknown;         // tensors outside of every network that no list of leftovers names
};

struct SingleFileOptions {
  std::span<const KnownFamily> families;
  std::filesystem::path config;                                  // given by the user: a diffusers folder whose configurations hold
  bool averaged = false;                                         // of the denoiser: SectionOptions
  const std::map<std::string, GivenComponent>* given = nullptr;  // by component, in place of the file's own; null: none
};

// Opens the file and finds its configurations. UnsupportedError for a denoiser of sizes that no built-in one has where none are given, and
// for a file that holds none of the families' networks; WeightError for one without a denoiser.
SingleFile open_single_file(const std::filesystem::path& file, const SingleFileOptions& options);

}  // namespace hearth
