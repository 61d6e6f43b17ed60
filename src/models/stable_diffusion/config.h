// What a Stable Diffusion family says of itself, and everything that one of its folders says beside its weights.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parts/autoencoder_kl/config.h"
#include "parts/clip/config.h"
#include "parts/unet/config.h"
#include "sampling/scheduler_config.h"
#include "text/clip_tokenizer.h"
#include "weights/checkpoint.h"

namespace hearth::models::stable_diffusion {

// A text encoder and its tokenizer, by their names in model_index.json.
struct TowerNames {
  std::string_view encoder, tokenizer;
  std::string_view class_name;  // "CLIPTextModel"
  std::string_view embedding;   // its vectors in a file of textual inversion: "clip_l"
};

// All that a family's folder tells the run that the families share. One constant each, in its entry.cpp.
struct Family {
  std::string_view name;           // "sd1"
  std::vector<TowerNames> towers;  // their states stand side by side, in this order, in what the UNet attends to
  std::vector<std::string_view> left_aside = {"safety_checker", "feature_extractor", "image_encoder"};  // components named in the notes
};

struct StableDiffusionConfig {
  struct Tower {
    TowerNames names;
    text::ClipTokenizer tokenizer;
    parts::ClipTextConfig config;
  };

  std::string family;
  std::vector<Tower> towers;
  parts::UnetConfig unet;
  parts::AutoencoderKlConfig vae;
  sampling::SchedulerConfig scheduler;           // as the reference pipeline changes it on loading
  std::optional<std::array<int64_t, 2>> native;  // [height, width] in pixels
  std::vector<std::string> notes;                // what was left aside or changed, one line each

  // Reads and checks model_index.json, the tokenizers and every config. UnsupportedError names a class, component or key that is
  // not built; WeightError what does not fit together, as check() says.
  static StableDiffusionConfig from(const Checkpoint& checkpoint, const Family& family);

  // WeightError unless the parts fit each other: vocabularies and embeddings, prompt lengths and positions, width of the states and
  // cross-attention, latent channels of UNet and autoencoder. UnsupportedError for a UNet that knows the picture's depth.
  void check(const std::string& where) const;

  int64_t layers() const;        // of the shortest text encoder
  int64_t states_width() const;  // of all towers together
};

}  // namespace hearth::models::stable_diffusion
