// Every configuration of a FLUX.1 checkpoint, read and checked against the others.
#pragma once

#include "models/diffusion/latent_model.h"
#include "models/flux1/transformer_config.h"
#include "parts/clip/config.h"
#include "parts/t5/config.h"
#include "text/clip/clip_tokenizer.h"
#include "text/tokenizer/tokenizer.h"
#include "weights/checkpoint.h"

namespace hearth::models::flux1 {

inline constexpr std::string_view family_name = "flux1";

struct FluxConfig {
  text::ClipTokenizer clip_tokenizer;
  text::Tokenizer t5_tokenizer;
  parts::ClipTextConfig clip;
  parts::T5Config t5;
  TransformerConfig transformer;
  diffusion::AutoencoderConfig vae;
  sampling::SchedulerConfig scheduler;
  std::vector<std::string> notes;  // ignored parts of the checkpoint, one line each

  // Reads and checks model_index.json, the tokenizers and every config. UnsupportedError names a class, component or key that is not
  // supported; WeightError names what does not match: vocabularies and embeddings, widths of the texts, channels of the latents, inputs
  // that the pipeline's class needs.
  static FluxConfig from(const Checkpoint& checkpoint);

  diffusion::Beside beside() const;  // the transformer's inputs besides the latents, determined by its number of input channels
};

// For ImageFamily::scheduler.
sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint);
parts::ClipTextConfig clip_config(const Checkpoint& checkpoint);
parts::T5Config t5_config(const Checkpoint& checkpoint);

}  // namespace hearth::models::flux1
