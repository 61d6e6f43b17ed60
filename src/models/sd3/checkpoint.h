// The complete configuration of a Stable Diffusion 3 checkpoint.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/clip/towers.h"
#include "models/diffusion/autoencoder.h"
#include "models/sd3/config.h"
#include "parts/t5/config.h"
#include "sampling/compat/scheduler_config.h"
#include "text/tokenizer/tokenizer.h"
#include "weights/checkpoint.h"

namespace hearth::models::sd3 {

struct Sd3Config {
  // Whether the checkpoint has a T5 encoder. `lacking`: its index lists one, but its files are absent, so a run must decline it.
  enum class T5 { present, none, lacking };

  std::vector<clip::Tower> towers;  // CLIP-L and OpenCLIP bigG
  T5 has_t5 = T5::none;
  std::optional<parts::T5Config> t5;            // if present
  std::optional<text::Tokenizer> t5_tokenizer;  // if present
  MmditConfig transformer;
  diffusion::AutoencoderConfig vae;
  sampling::SchedulerConfig scheduler;
  std::vector<std::string> notes;  // ignored parts of the checkpoint, one line each

  // Reads and checks model_index.json, the tokenizers and every config. UnsupportedError names a class, component or key that is not
  // supported; WeightError names what does not match, as in check().
  static Sd3Config from(const Checkpoint& checkpoint);

  // WeightError unless the components match each other: vocabularies and embeddings, widths of the states and of the pooled text, latent
  // channels of transformer and autoencoder.
  void check(const std::string& where) const;

  int64_t clip_width() const;                                                                          // of the states of both towers
  bool is_inpainting() const { return transformer.in_channels == 2 * vae.codec.latent_channels + 1; }  // takes mask and masked image
};

// The first encoder. A single file has no projection of CLIP-L, which is the identity there: the pooled vector is then unprojected.
clip::Tower first_tower(const Checkpoint& checkpoint);
clip::Tower second_tower(const Checkpoint& checkpoint);
Sd3Config::T5 t5_of(const Checkpoint& checkpoint);
// UnsupportedError unless it is for flow networks. For ImageFamily::scheduler.
sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint);

}  // namespace hearth::models::sd3
