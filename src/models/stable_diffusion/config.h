// What a Stable Diffusion family says of itself, and everything that one of its folders says beside its weights.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/size_conditions.h"
#include "models/registry.h"
#include "models/stable_diffusion/vae.h"
#include "parts/clip/config.h"
#include "parts/unet/config.h"
#include "sampling/scheduler_config.h"
#include "text/clip_tokenizer.h"
#include "text/prompt/prompt.h"
#include "weights/checkpoint.h"

namespace hearth::models::stable_diffusion {

// A text encoder and its tokenizer, by their names in model_index.json.
struct TowerNames {
  std::string_view encoder, tokenizer;
  std::string_view class_name;  // "CLIPTextModel"
  std::string_view embedding;   // its vectors in a file of textual inversion: "clip_l"
  bool open_clip = false;       // not OpenAI's: A1111 takes no other of its layers
};

struct StableDiffusionConfig;

// How much of a run is done on a picture where nobody says.
struct Strengths {
  double image = 0.8, mask = 1;
};

// What the run goes on from: the sizes that a negative prompt has by default depend on it.
enum class Begins { with_noise, with_picture };

// All that a family's folder tells the run that the families share. One constant each, in its entry.cpp.
struct Family {
  std::string_view name;           // "sd1"
  std::vector<TowerNames> towers;  // their states stand side by side, in this order, in what the UNet attends to
  // Components named in the notes.
  std::vector<std::string_view> left_aside = {"safety_checker", "feature_extractor", "image_encoder", "depth_estimator"};

  int64_t clip_skip = 1;     // whose layer's states are taken where nobody says: 1 is the last, 2 the last but one
  bool final_norm = true;    // the states go through the text encoder's final norm
  bool mends_files = false;  // the reference's pipeline changes old configs as it loads them (README.md)
  // Numbers that the UNet is told beside the pooled text, for the prompt or the negative one; absent: it takes neither.
  std::vector<float> (*sizes)(const SizeConditions& asked, int64_t width, int64_t height, text::PromptRole role, Begins begins) = nullptr;
  bool scores = false;                                 // an aesthetic score is among them
  bool latent_statistics = false;                      // the reference's pipelines apply the autoencoder's latents_mean and latents_std
  Strengths strengths = {}, reference_strengths = {};  // the second as the reference's pipelines have them, with compat = diffusers
  // The family of a checkpoint that can do the last steps of this one's pictures, in the same latent space; absent: there is none.
  const Family* (*refined_by)(const Checkpoint& refiner) = nullptr;
  // Keys of model_index.json that are its own; absent: none.
  void (*read_index)(const Config& index, StableDiffusionConfig& config) = nullptr;
};

struct StableDiffusionConfig {
  struct Tower {
    TowerNames names;
    text::ClipTokenizer tokenizer;
    parts::ClipTextConfig config;
  };

  const Family* family = nullptr;
  std::vector<Tower> towers;
  parts::UnetConfig unet;
  VaeConfig vae;
  sampling::SchedulerConfig scheduler;                   // as the reference pipeline changes it on loading
  std::optional<std::array<int64_t, 2>> native;          // [height, width] in pixels
  std::vector<std::string> notes;                        // what was left aside or changed, one line each
  bool zeros_for_no_negative = false;                    // a negative prompt that is not given is zeros instead of the empty prompt
  bool told_picture_is_scaled = false;                   // of a UNet that edits as told: its picture is on the latents' scale
  std::shared_ptr<const StableDiffusionConfig> refiner;  // of the checkpoint that does the last steps, where there is one

  // Reads and checks model_index.json, the tokenizers and every config. UnsupportedError names a class, component or key that is
  // not built; WeightError what does not fit together, as check() says.
  // UsageError where the family knows no refiner, WeightError where the refiner has other latents.
  static StableDiffusionConfig from(const Checkpoint& checkpoint, const Family& family, const Checkpoint* refiner = nullptr);

  // WeightError unless the parts fit each other: vocabularies and embeddings, prompt lengths and positions, width of the states and
  // cross-attention, pooled text and sizes, latent channels of UNet and autoencoder.
  void check(const std::string& where) const;

  int64_t states_width() const;  // of all towers together
};

// The scheduler's file as the reference's pipeline of the checkpoint's class leaves it. For TextToImageFamily::scheduler.
sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint, const Family& family);

// For TextToImageFamily::prompt_encoders.
std::vector<PromptEncoder> prompt_encoders(const Checkpoint& checkpoint, const Family& family);

}  // namespace hearth::models::stable_diffusion
