// From a request's prompts to the transformer's conditionings.
#pragma once

#include <array>

#include "models/hunyuan_dit/config.h"
#include "models/hunyuan_dit/transformer.h"
#include "models/t5/text_prompts.h"
#include "parts/bert/bert.h"
#include "parts/t5/t5_encoder.h"

namespace hearth::models::hunyuan_dit {

// Names of the conditioning's tensors and lengths.
inline constexpr std::string_view bert_states = "bert";   // [n, text_rows, C]
inline constexpr std::string_view t5_states = "t5";       // [n, t5_rows, C]
inline constexpr std::string_view sizes_given = "sizes";  // [n, 6 · 256], of transformers with conditions

// A call's conditionings as inputs of the transformer, whose `timesteps` must outlive the result.
Inputs inputs_of(const diffusion::Conditioning& given, std::span<const float> timesteps);

struct Encoders {
  diffusion::Slot<parts::BertModel> bert;
  diffusion::Slot<parts::T5EncoderModel> t5;
};

// How the texts of the two encoders are read: [CLS] before, [SEP] behind; </s> behind. They have as many ids as the transformer has rows.
t5::RowReading bert_reading(const text::Tokenizer& tokenizer, int64_t rows);
t5::RowReading t5_reading(int64_t rows);

// The sizes that the request states: 1024×1024 for the original image, the run's size for the target, no crop.
SizeConditions size_conditions(const OptionValues& given, int64_t height, int64_t width);

class Prompts final : public diffusion::ReadPrompts {
 public:
  // UnsupportedError for embeddings; UsageError for a text in ComfyUI's syntax that is longer than a row; errors of t5::read_prompt.
  Prompts(const HunyuanConfig& config, const Encoders& encoders, const ImageTask& task, bool use_negative, ResolvedImage& resolved);

  bool has_negative() const override { return prompts_[0].size() > 1; }
  std::vector<diffusion::EncodedPrompt> encode(const diffusion::Loaded& networks, Backend& host) const override;

 private:
  const HunyuanConfig& config_;
  Encoders encoders_;
  SizeConditions sizes_ = {};
  std::array<t5::RowReading, 2> readings_;             // of BERT and of T5
  std::array<std::vector<t5::RowPrompt>, 2> prompts_;  // the prompt, and the negative prompt if it is evaluated
};

}  // namespace hearth::models::hunyuan_dit
