// The networks that an image model is made of.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hearth {

// The type that weights are held in. Sums, statistics, activations, latents and schedules are f32 whatever is chosen. The factors
// of a product are f32 too, but for bf16 where the processor multiplies it: AMX, AVX512-BF16.
// automatic: as stored; on a processor with AMX, bf16 for components that are stored in 16 bits.
enum class Precision { automatic, f32, bf16, f16 };

enum class ComponentRole { denoiser, autoencoder, text_encoder };

// Those that any model of this build may have.
struct ComponentInfo {
  std::string name;    // in model_index.json: "text_encoder_2"
  std::string spoken;  // "second text encoder"
  // The command's flags that replace it, set its precision and say what computes it: "--text-encoder-2", and "--text-encoder-precision" and
  // "--text-encoder-device", which all text encoders share.
  std::string flag, precision_flag, device_flag;
  ComponentRole role = ComponentRole::denoiser;
};
std::vector<ComponentInfo> list_components();

// How one of them is opened.
struct ComponentOptions {
  // In place of the checkpoint's own: a file in any layout that holds the component (safetensors or pickled, alone or with others), a
  // component's folder, or a diffusers folder. Empty: the checkpoint's own.
  std::filesystem::path path;
  std::optional<Precision> precision;  // in place of that of all components; nothing to a checkpoint that lacks this one
  std::string device;                  // likewise, as OpenOptions::device; empty: that of all components
};

}  // namespace hearth
