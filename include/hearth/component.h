// The components of an image model: its networks.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hearth {

// Dtype of the weights in memory. Sums, statistics, activations, latents and schedules are always f32. The factors of a product are f32
// too, except bf16 on CPUs that multiply it (AMX, AVX512-BF16).
// automatic: as stored; on a CPU with AMX, bf16 for components that are stored in 16 bits.
enum class Precision { automatic, f32, bf16, f16 };

enum class ComponentRole { denoiser, autoencoder, text_encoder, image_encoder };

// A component that a model of this build can have.
struct ComponentInfo {
  std::string name;   // in model_index.json: "text_encoder_2"
  std::string label;  // "second text encoder"
  // The command's flags that replace the component, set its precision and choose its device: "--text-encoder-2"; all text encoders share
  // "--text-encoder-precision" and "--text-encoder-device", all image encoders "--image-encoder-precision" and "--image-encoder-device".
  std::string flag, precision_flag, device_flag;
  ComponentRole role = ComponentRole::denoiser;
  // What it adds, for a component that checkpoints lack and ComponentOptions::path adds to a model; else empty.
  std::string adds;
};
std::vector<ComponentInfo> list_components();

// How a component is opened.
struct ComponentOptions {
  // Replacement, or addition: a file in any layout that contains the component (safetensors or pickled, alone or with others), a
  // component's folder, or a diffusers folder. Empty: the checkpoint's own.
  std::filesystem::path path;
  // Both are refused for a component that the model lacks, unless it has another of the same kind (text encoders, image encoders).
  std::optional<Precision> precision;  // overrides OpenOptions::precision
  std::string device;                  // overrides OpenOptions::device; empty: the same device
};

}  // namespace hearth
