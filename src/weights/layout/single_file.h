// A single file as a checkpoint: its components under their official names, and the configurations that match it.
#pragma once

#include "weights/layout/configurations.h"
#include "weights/layout/given_component.h"

namespace hearth {

struct SingleFile {
  struct FoundComponent {
    std::vector<const Slot*> slots;  // Section
    GivenComponent component;
  };
  std::vector<FoundComponent> parts;
  std::optional<Chosen> chosen;             // the built-in configuration; always set if the user gives none
  std::vector<const ImageFiles*> families;  // candidates: that of the chosen configuration, or all that have such a denoiser
  std::string contents;                     // "UNet, VAE", for messages
  std::vector<std::string> unknown;         // tensors outside every network that no list of leftovers names
};

struct SingleFileOptions {
  std::span<const KnownFamily> families;
  std::filesystem::path config;                                  // from the user: a diffusers folder whose configurations apply
  bool averaged = false;                                         // for the denoiser: SectionOptions
  const std::map<std::string, GivenComponent>* given = nullptr;  // by component, instead of the file's own; null: none
};

// Opens the file and finds its configurations. UnsupportedError for a file that holds no network of the families, and, unless `config` is
// given, for a denoiser whose sizes match no built-in configuration; WeightError for a file without a denoiser.
SingleFile open_single_file(const std::filesystem::path& file, const SingleFileOptions& options);

}  // namespace hearth
