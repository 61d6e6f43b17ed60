// The flags of every command that opens an image model.
#pragma once

#include <filesystem>
#include <map>

#include "cli/flags.h"
#include "hearth/hearth.h"

namespace hearth::cli {

struct OpenFlags {
  std::string model, config, refiner, preview_decoder, variant, device = "cpu", precision = "auto", cache;
  // Of components, by the flag: "--text-encoder-2", "--text-encoder-precision".
  std::map<std::string, std::string> paths, precisions, devices;
  int threads = 0;
  std::optional<int64_t> gpu_layers, gpu_memory;
  bool pin = false, ema = false;

  void add_model(Flags& flags);                                     // -m
  void add_variant(Flags& flags);                                   // --variant
  void add_components(Flags& flags);                                // a flag for each of list_components() to replace; --config --ema
  void add_added_components(Flags& flags);                          // a flag for each to add
  void add_device(Flags& flags);                                    // --device --gpu-layers --gpu-memory --threads --precision
  void add_component_precisions_and_devices(Flags& flags);          // text encoders share theirs
  void add_session(Flags& flags);                                   // --pin-threads --weight-cache
  std::map<std::string, std::filesystem::path> components() const;  // those that were given
  OpenOptions options() const;
};

// Flags that several commands share.
Flag& add_threads(Flags& flags, int& threads);  // 0: one per CPU
// --gpu-layers --gpu-memory. what: "layers", of a language model, or "blocks of each network".
void add_gpu_share(Flags& flags, std::string_view what, std::optional<int64_t>& layers, std::optional<int64_t>& memory);
Flag& add_pin_threads(Flags& flags, bool& pin);
Flag& add_variant(Flags& flags, std::string& variant);
Flag& add_json(Flags& flags, const std::string& keys, bool& json);  // `keys`: the contents of the object

inline constexpr const char* device_help =
    "Device that runs the model (hearth list backends): vulkan is the first graphics card, vulkan:1 the second, auto a card if there is "
    "one, else "
    "the CPU";
// A flag that names a device. Its value is that of the command line; named_device() replaces "auto" and says what it chose.
Flag& add_device_flag(Flags& flags, const std::string& name, const std::string& help, std::string& device, const std::string& unset);
std::string named_device(const std::string& device);
std::vector<std::string> names_of(const std::vector<Named>& table);
Precision precision_of(const std::string& name);  // "auto", "f32", "bf16", "f16"

}  // namespace hearth::cli
