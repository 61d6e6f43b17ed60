// Every configuration of a SANA checkpoint, read and checked against the others.
#pragma once

#include "models/diffusion/latent_model.h"
#include "models/sana/autoencoder_config.h"
#include "models/sana/transformer_config.h"
#include "parts/decoder/text_encoder.h"
#include "text/tokenizer/tokenizer.h"
#include "weights/checkpoint.h"

namespace hearth::models::sana {

inline constexpr std::string_view family_name = "sana";

struct SanaConfig {
  text::Tokenizer tokenizer;
  parts::DecoderConfig text_encoder;
  TransformerConfig transformer;
  AutoencoderDcConfig vae;
  sampling::SchedulerConfig scheduler;
  bool sprint = false;             // SANA-Sprint: one to four steps, the guidance scale is an input
  std::vector<std::string> notes;  // remarks about the checkpoint, one line each

  // Reads and checks model_index.json, the tokenizer and every config. UnsupportedError names a class, component or key that is not
  // supported; WeightError names what does not match: vocabulary and embeddings, widths of the texts, channels of the latents, a
  // transformer of the other kind.
  static SanaConfig from(const Checkpoint& checkpoint);
};

bool is_sprint(const Checkpoint& checkpoint);
text::Tokenizer tokenizer_of(const Checkpoint& checkpoint);
parts::DecoderConfig text_encoder_of(const Checkpoint& checkpoint);
parts::DecoderTextEncoder build_text_encoder(const Scope& w, const parts::DecoderConfig& config);  // what the last norm returns
// UnsupportedError unless it is of flow models, for Sprint of TrigFlow models. For ImageFamily::scheduler.
sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint);

}  // namespace hearth::models::sana
