// From a request's prompts to the transformer's conditionings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/diffusion/latent_model.h"
#include "models/sd3/checkpoint.h"
#include "models/t5/prompt_rows.h"
#include "parts/t5/t5_encoder.h"

namespace hearth::models::sd3 {

// clip::states [n, 77·chunks + T5's rows, joint_attention_dim] and clip::pooled [n, pooled_projection_dim], f32.
// The states of both CLIP encoders side by side, with zeros up to the transformer's width; then T5's rows. Without T5, zeros stand for
// them: as many as a prompt may have, or in A1111's syntax as many as CLIP has; in ComfyUI's none.
class Sd3Prompts final : public diffusion::ReadPrompts {
 public:
  // `slots`: of both CLIP encoders. `t5`: absent if the checkpoint has none. Errors of clip::TowerPrompts and t5::read_row; UsageError if
  // the checkpoint lacks the T5 encoder and the request does not decline it.
  Sd3Prompts(const Sd3Config& config, std::vector<diffusion::Slot<parts::ClipTextModel>> slots,
             std::optional<diffusion::Slot<parts::T5EncoderModel>> t5, const ImageTask& task, bool use_negative, Backend& host,
             ResolvedImage& resolved);

  bool has_negative() const override { return texts_.has_negative(); }
  std::vector<std::string> unused() const override;
  std::vector<diffusion::EncodedPrompt> encode(const diffusion::Loaded& networks, Backend& host) const override;

 private:
  // A prompt's rows, as text::Condition has its entries.
  struct RowEntry {
    int64_t end = 0;
    t5::Row row;
  };
  using RowConditions = std::vector<std::vector<RowEntry>>;
  RowConditions read_rows(const ImageTask& task, text::PromptRole role, const t5::RowReading& reading, ResolvedImage& resolved) const;

  const Sd3Config& config_;
  std::optional<diffusion::Slot<parts::T5EncoderModel>> t5_;  // absent: not used
  clip::TowerPrompts texts_;
  std::vector<RowConditions> rows_;  // of the prompt, and of the negative prompt if it is evaluated; empty without T5
  int64_t zero_rows_ = 0;            // in their place
};

}  // namespace hearth::models::sd3
