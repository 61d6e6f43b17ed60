// The flags of every verb that opens a model.
#pragma once

#include <filesystem>
#include <map>

#include "cli/flags.h"
#include "hearth/hearth.h"

namespace hearth::cli {

struct OpenFlags {
  std::string model, config, refiner, preview_decoder, variant, device = "cpu", precision = "auto", cache;
  std::map<std::string, std::string> places, precisions, devices;  // of components, by the flag: "--text-encoder-2", "--text-precision"
  int threads = 0;
  bool pin = false, ema = false;

  void add_place(Flags& flags);       // --variant --device --threads --precision
  void add_parts(Flags& flags);       // a flag for each of list_components(); --config --ema
  void add_components(Flags& flags);  // --NAME-precision and --NAME-device for each of them; text encoders have theirs in common
  void add_session(Flags& flags);     // --pin-threads --cache
  std::map<std::string, std::filesystem::path> components() const;  // those that were given
  OpenOptions options() const;
};

std::vector<std::string> names_of(const std::vector<Named>& table);
Precision precision_of(const std::string& name);  // "auto", "f32", "bf16", "f16"

}  // namespace hearth::cli
