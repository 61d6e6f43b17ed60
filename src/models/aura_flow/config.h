// Every configuration of an AuraFlow checkpoint, read and checked against the others.
#pragma once

#include "models/aura_flow/transformer_config.h"
#include "models/diffusion/latent_model.h"
#include "models/t5/text_prompts.h"
#include "parts/t5/config.h"
#include "text/tokenizer/tokenizer.h"
#include "weights/checkpoint.h"

namespace hearth::models::aura_flow {

inline constexpr std::string_view family_name = "aura_flow";

// Rows of the reference's pipeline and, at least, of ComfyUI.
inline constexpr t5::TextRules text_rules{.rows = 256, .least_rows_in_comfyui = 256};

struct AuraFlowConfig {
  text::Tokenizer tokenizer;
  parts::T5Config t5;
  TransformerConfig transformer;
  diffusion::AutoencoderConfig vae;
  sampling::SchedulerConfig scheduler;
  std::vector<std::string> notes;  // ignored parts of the checkpoint, one line each

  // Reads and checks model_index.json, the tokenizer and every config. UnsupportedError names a class, component or key that is not
  // supported; WeightError names what does not match: vocabulary and embedding, width of the text, channels of the latents.
  static AuraFlowConfig from(const Checkpoint& checkpoint);
};

// UnsupportedError unless it adds an end token and nothing else.
text::Tokenizer tokenizer_of(const Checkpoint& checkpoint);
// UnsupportedError unless it is for flow networks. For ImageFamily::scheduler.
sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint);
parts::T5Config t5_config(const Checkpoint& checkpoint);

}  // namespace hearth::models::aura_flow
