// For `hearth inspect` and `hearth tokenize`: queries of a checkpoint that need no weights.
#include "models/clip/files.h"
#include "models/clip/prompt_reader.h"
#include "models/diffusion/checks.h"
#include "models/flux1/model.h"
#include "models/t5/prompt_reader.h"
#include "models/t5/tokenizer.h"

namespace hearth::models::flux1 {

std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant) {
  diffusion::Checks checks(checkpoint, variant);
  checks.builds(
      "text_encoder", [&] { return clip_config(checkpoint); }, [](const Scope& w, const auto& c) { parts::ClipTextModel(w, c); });
  checks.builds(
      "text_encoder_2", [&] { return t5_config(checkpoint); }, [](const Scope& w, const auto& c) { parts::T5EncoderModel(w, c); });
  checks.builds(
      "transformer", [&] { return TransformerConfig::from(checkpoint.config("transformer")); },
      [](const Scope& w, const auto& c) { Transformer(w, c); });
  checks.builds(
      "vae", [&] { return diffusion::AutoencoderConfig::from(checkpoint); },
      [](const Scope& w, const auto& c) { diffusion::Autoencoder(w, c); });
  checks.attempt("tokenizer", [&] { text::ClipTokenizer::parse(clip::clip_files(checkpoint, "tokenizer")); });
  checks.attempt("tokenizer_2", [&] { t5::tokenizer_of(checkpoint, "tokenizer_2"); });
  checks.attempt("scheduler", [&] { scheduler_of(checkpoint); });
  return checks.finish([&] { FluxConfig::from(checkpoint); });
}

std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint) {
  std::vector<std::unique_ptr<PromptReader>> readers;
  readers.push_back(
      std::make_unique<clip::ClipPromptReader>(text::ClipTokenizer::parse(clip::clip_files(checkpoint, "tokenizer")), "text_encoder"));
  const bool guidance = checkpoint.config("transformer").boolean("guidance_embeds", false);
  readers.push_back(std::make_unique<t5::T5PromptReader>(t5::tokenizer_of(checkpoint, "tokenizer_2"), "text_encoder_2",
                                                         t5::RowLengths{.plain = guidance ? 512 : 256, .comfyui = 256}));
  return readers;
}

}  // namespace hearth::models::flux1
