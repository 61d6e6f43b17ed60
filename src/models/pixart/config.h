// Every configuration of a PixArt checkpoint, read and checked against the others.
#pragma once

#include "models/diffusion/latent_model.h"
#include "models/pixart/transformer_config.h"
#include "models/t5/text_prompts.h"
#include "parts/t5/config.h"
#include "text/tokenizer/tokenizer.h"
#include "weights/checkpoint.h"

namespace hearth::models::pixart {

inline constexpr std::string_view family_name = "pixart";

struct PixartConfig {
  text::Tokenizer tokenizer;
  parts::T5Config t5;
  TransformerConfig transformer;
  diffusion::AutoencoderConfig vae;
  sampling::SchedulerConfig scheduler;
  bool sigma = false;              // PixArt-Σ: longer texts, images up to 2048 pixels
  std::vector<std::string> notes;  // ignored parts of the checkpoint, one line each

  // Reads and checks model_index.json, the tokenizer and every config. UnsupportedError names a class, component or key that is not
  // supported; WeightError names what does not match: vocabulary and embedding, width of the text, channels of the latents.
  static PixartConfig from(const Checkpoint& checkpoint);
};

bool is_sigma(const Checkpoint& checkpoint);
t5::TextRules text_rules(bool sigma);
// UnsupportedError unless it is for networks that predict the noise. For ImageFamily::scheduler.
sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint);
parts::T5Config t5_config(const Checkpoint& checkpoint);

}  // namespace hearth::models::pixart
