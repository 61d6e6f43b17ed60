// A language model that is a parts::Decoder: what Llama, Mistral and Qwen have in common once their configs are read.
#pragma once

#include "models/language_model.h"
#include "parts/decoder/decoder.h"
#include "weights/language_checkpoint.h"

namespace hearth::models {

class DecoderModel final : public LanguageModel {
 public:
  DecoderModel(std::string family, const parts::DecoderConfig& config, const LanguageCheckpoint& checkpoint, Backend& device,
               const LoadRequest& request);

  std::string family() const override { return family_; }
  std::vector<ComponentReport> components() const override { return {report_}; }
  LanguageSizes sizes() const override { return {.vocabulary = net_->config.vocabulary, .positions = net_->config.positions}; }
  std::unique_ptr<TextState> start(int64_t context, DType cache) const override;
  int64_t cache_bytes(int64_t context, DType cache) const override { return net_->state_bytes(context, cache); }
  void feed(TextState& state, std::span<const int32_t> ids, int64_t from, const OnLogits& logits, const OnProgress& progress) override;

 private:
  std::string family_;
  std::optional<parts::Decoder> net_;
  ComponentReport report_;
};

}  // namespace hearth::models
