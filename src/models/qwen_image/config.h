// Every configuration of a Qwen-Image checkpoint, read and checked against the others.
#pragma once

#include "models/diffusion/latent_model.h"
#include "models/language_encoder/chat_prompt.h"
#include "models/qwen_image/images.h"
#include "models/qwen_image/text_encoder.h"
#include "models/qwen_image/transformer_config.h"
#include "parts/autoencoder_wan/config.h"
#include "weights/checkpoint.h"

namespace hearth::models::qwen_image {

inline constexpr std::string_view family_name = "qwen_image";
inline constexpr int64_t default_length = 512;  // max_sequence_length

inline constexpr std::string_view image_pad = "<|image_pad|>";  // the token of an image's rows in prompts

// The reference's texts around a prompt, and the number of tokens of the first, whose states are dropped.
inline constexpr int64_t dropped_tokens = 34;
inline constexpr language_encoder::ChatForm prompt_form{
    .in_front =
        "<|im_start|>system\nDescribe the image by detailing the color, shape, size, texture, quantity, text, spatial relationships "
        "of the objects and background:<|im_end|>\n<|im_start|>user\n",
    .behind = "<|im_end|>\n<|im_start|>assistant\n"};

// How a model edits reference images: they stand in the prompt, in this area, and their latents behind those of the generated image.
struct Edits {
  language_encoder::ChatForm form;
  int64_t dropped = 64;
  bool several = false;    // numbers its images; otherwise it takes one
  double prompt_area = 0;  // in pixels
};
std::optional<Edits> edits_of(const Checkpoint& checkpoint);  // by the pipeline's class; nothing if it makes images of texts

struct QwenImageConfig {
  language_encoder::ChatTokenizer tokenizer;
  TextEncoderConfig text_encoder;
  std::optional<parts::QwenVisionConfig> added_vision;  // of a vision tower beside a text encoder that has none, from a GGUF file
  std::optional<Edits> edits;
  ImagePreparation preparation;  // of a model that edits
  int32_t image_token = 0;       // the same
  TransformerConfig transformer;
  parts::AutoencoderWanConfig vae;
  sampling::SchedulerConfig scheduler;
  const parts::QwenVisionConfig& vision() const { return added_vision ? *added_vision : *text_encoder.vision; }  // of a model that edits

  std::vector<std::string> notes;  // remarks about the checkpoint, one line each

  // Reads and checks model_index.json, the tokenizer and every config. UnsupportedError names a class, component or key that is not
  // supported; WeightError names what does not match: vocabulary and embeddings, widths of texts and images, channels of the latents.
  static QwenImageConfig from(const Checkpoint& checkpoint);
};

parts::AutoencoderWanConfig vae_of(const Checkpoint& checkpoint);
language_encoder::ChatTokenizer tokenizer_of(const Checkpoint& checkpoint);
TextEncoderConfig text_encoder_of(const Checkpoint& checkpoint);
// The vision tower of a text encoder in a GGUF file, which the user adds (slots::image_encoder). UsageError if it is missing, or if there
// is no use for it.
std::optional<parts::QwenVisionConfig> added_vision_of(const Checkpoint& checkpoint);
sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint);  // for ImageFamily::scheduler

}  // namespace hearth::models::qwen_image
