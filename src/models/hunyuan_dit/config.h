// Every configuration of a Hunyuan-DiT checkpoint, read and checked against the others.
#pragma once

#include "models/diffusion/latent_model.h"
#include "models/hunyuan_dit/transformer_config.h"
#include "parts/bert/config.h"
#include "parts/t5/config.h"
#include "text/tokenizer/tokenizer.h"
#include "weights/checkpoint.h"

namespace hearth::models::hunyuan_dit {

inline constexpr std::string_view family_name = "hunyuan_dit";

struct HunyuanConfig {
  text::Tokenizer tokenizer, t5_tokenizer;
  parts::BertConfig bert;
  parts::T5Config t5;
  TransformerConfig transformer;
  diffusion::AutoencoderConfig vae;
  sampling::SchedulerConfig scheduler;
  std::vector<std::string> notes;  // ignored parts of the checkpoint, one line each

  // Reads and checks model_index.json, the tokenizers and every config. UnsupportedError names a class, component or key that is not
  // supported; WeightError names what does not match: vocabularies and embeddings, positions, widths of the texts, channels of the latents.
  static HunyuanConfig from(const Checkpoint& checkpoint);
};

// WeightError unless the vocabulary has the tokens that begin, end and pad a text.
text::Tokenizer bert_tokenizer(const Checkpoint& checkpoint);
// UnsupportedError for a scheduler of flow networks. For ImageFamily::scheduler.
sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint);
parts::BertConfig bert_config(const Checkpoint& checkpoint);
parts::T5Config t5_config(const Checkpoint& checkpoint);

}  // namespace hearth::models::hunyuan_dit
