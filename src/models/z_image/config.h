// Every configuration of a Z-Image checkpoint, read and checked against the others.
#pragma once

#include "models/diffusion/latent_model.h"
#include "models/language_encoder/chat_prompt.h"
#include "models/z_image/transformer_config.h"
#include "weights/checkpoint.h"

namespace hearth::models::z_image {

inline constexpr std::string_view family_name = "z_image";

// A prompt is a message of the user; the answer may begin with thinking.
inline constexpr language_encoder::ChatForm chat_form{.variables = R"({"enable_thinking": true})"};
inline constexpr int64_t default_length = 512;  // max_sequence_length

struct ZImageConfig {
  language_encoder::ChatTokenizer tokenizer;
  parts::DecoderConfig text_encoder;
  TransformerConfig transformer;
  diffusion::AutoencoderConfig vae;
  sampling::SchedulerConfig scheduler;
  std::vector<std::string> notes;  // remarks about the checkpoint, one line each

  // Reads and checks model_index.json, the tokenizer and every config. UnsupportedError names a class, component or key that is not
  // supported; WeightError names what does not match: vocabulary and embeddings, widths of the texts, channels of the latents.
  static ZImageConfig from(const Checkpoint& checkpoint);
};

language_encoder::ChatTokenizer tokenizer_of(const Checkpoint& checkpoint);
parts::DecoderConfig text_encoder_of(const Checkpoint& checkpoint);
parts::DecoderTextEncoder build_text_encoder(const Scope& w, const parts::DecoderConfig& config);  // the second to last hidden state
sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint);                              // for ImageFamily::scheduler

}  // namespace hearth::models::z_image
