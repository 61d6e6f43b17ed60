// What a family of UNets under CLIP says of itself: one constant in its folder.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/files/config.h"
#include "models/diffusion/latent_model.h"
#include "text/prompt/prompt.h"

namespace hearth::models::stable_diffusion {

// A text encoder and its tokenizer, by their names in model_index.json.
struct TowerNames {
  std::string_view encoder, tokenizer;
  std::string_view class_name;  // "CLIPTextModel"
  std::string_view embedding;   // its vectors in a file of textual inversion: "clip_l"
  bool open_clip = false;       // not OpenAI's: A1111 takes no other of its layers
};

struct StableDiffusionConfig;

// What the run goes on from: the sizes that a negative prompt has by default depend on it.
enum class Begins { with_noise, with_image };

// All that a family tells the code that these families share.
struct Family {
  std::string_view name;
  std::vector<TowerNames> towers;                 // their states stand side by side, in this order, in what the UNet attends to
  std::vector<Option> options;                    // its own
  std::vector<std::string_view> benchmarks = {};  // ImageFamily::benchmarks
  // Components named in the notes.
  std::vector<std::string_view> left_aside = {"safety_checker", "feature_extractor", "image_encoder", "depth_estimator"};

  int64_t clip_skip = 1;     // whose layer's states are taken where nobody says: 1 is the last, 2 the last but one
  bool final_norm = true;    // the states go through the text encoder's final norm
  bool mends_files = false;  // the reference's pipeline changes old configs as it loads them (README.md)
  // Numbers that the UNet is told beside the pooled text, for the prompt or the negative one; absent: it takes neither.
  std::vector<float> (*sizes)(const OptionValues& asked, int64_t width, int64_t height, text::PromptRole role, Begins begins) = nullptr;
  bool latent_statistics = false;  // the reference's pipelines apply the autoencoder's latents_mean and latents_std
  diffusion::Strengths strengths = {}, reference_strengths = {};  // diffusion::Facts
  std::span<const std::pair<std::string_view, std::string_view>> step_tables = {};
  bool can_be_refined = false;  // a second checkpoint with the same latents may do the last steps
  // Keys of model_index.json that are its own; absent: none.
  void (*read_index)(const Config& index, StableDiffusionConfig& config) = nullptr;
};

}  // namespace hearth::models::stable_diffusion
