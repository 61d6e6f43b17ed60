// Every configuration of a FLUX.2 checkpoint, read and checked against the others.
#pragma once

#include <array>

#include "models/diffusion/latent_model.h"
#include "models/flux2/codec.h"
#include "models/flux2/transformer_config.h"
#include "models/language_encoder/chat_prompt.h"
#include "weights/checkpoint.h"

namespace hearth::models::flux2 {

inline constexpr std::string_view family_name = "flux2";

// How a text encoder is used: the form of its prompts, and the hidden states that are put side by side.
struct Texts {
  language_encoder::ChatForm form;
  std::array<int64_t, 3> states;
};
inline constexpr int64_t default_length = 512;  // max_sequence_length

struct Flux2Config {
  language_encoder::ChatTokenizer tokenizer;
  parts::DecoderConfig text_encoder;
  Texts texts;
  TransformerConfig transformer;
  CodecSettings vae;
  sampling::SchedulerConfig scheduler;
  bool distilled = false;          // klein without classifier-free guidance
  std::vector<std::string> notes;  // remarks about the checkpoint, one line each

  // Reads and checks model_index.json, the tokenizer and every config. UnsupportedError names a class, component or key that is not
  // supported; WeightError names what does not match: vocabulary and embeddings, layers and widths of the texts, channels of the latents.
  static Flux2Config from(const Checkpoint& checkpoint);
};

Texts texts_of(const Checkpoint& checkpoint);  // of dev or klein, by the pipeline's class
CodecSettings codec_of(const Checkpoint& checkpoint);
language_encoder::ChatTokenizer tokenizer_of(const Checkpoint& checkpoint);
parts::DecoderConfig text_encoder_of(const Checkpoint& checkpoint);
sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint);  // for ImageFamily::scheduler

}  // namespace hearth::models::flux2
