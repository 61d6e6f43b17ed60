// A component of a checkpoint that does not come from the checkpoint's folder, but from a single file or from a path that the user gives.
#pragma once

#include "core/files/config.h"
#include "weights/layout/sections.h"

namespace hearth {

class GgufFile;  // weights/gguf/gguf.h

struct GivenComponent {
  std::shared_ptr<TensorSource> tensors;      // under official names
  std::vector<std::filesystem::path> files;   // the files of the tensors
  std::string variant = {};                   // of the files, if they are those of a folder
  std::filesystem::path config;               // its own config.json; empty: the checkpoint's, or `stated`
  std::string stated = {};                    // the JSON of the config that the file itself states
  std::shared_ptr<const GgufFile> gguf = {};  // of the tensors, if it is one
  const NetworkFiles* network = nullptr;
  const Spelling* spelling = nullptr;  // of the names in the files
  std::string class_name;              // the first class of the network
  bool decoder_alone = false;          // an autoencoder without its encoder

  // Its own configuration as JSON: the file `config`, what the file states, or the network's standard configuration; nullopt if the
  // checkpoint's applies. IoError if the file cannot be read.
  std::optional<std::string> config_text() const;
  Config own_config() const;  // requires that config_text() has a value
};

// Makes a component of a section of an open file.
GivenComponent given_by(std::shared_ptr<TensorSource> source, const Section& section, const SectionOptions& options);

// Opens each component from its path, and the components that a path adds together with another (Slot::adds).
std::map<std::string, GivenComponent> open_all_given(const std::map<std::string, std::filesystem::path>& paths,
                                                     std::span<const KnownFamily> families, const std::string& variant = {});

// Opens a component from `path`: a file in any layout, which may hold other components too, or a folder, either the component's own or a
// diffusers folder that has the component. Of a folder the files of the variant, or if it lacks that, those in full precision.
// WeightError if it does not hold the component; errors of weights/checkpoint_files.h.
GivenComponent open_given(const std::filesystem::path& path, std::string_view component, std::span<const KnownFamily> families,
                          const std::string& variant = {});

}  // namespace hearth
