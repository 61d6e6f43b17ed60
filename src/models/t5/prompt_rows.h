// From a prompt's text to the states of a T5 encoder: one row of tokens, in the syntax of one of three programs.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"
#include "parts/t5/t5_encoder.h"
#include "text/prompt/prompt.h"
#include "text/tokenizer/tokenizer.h"

namespace hearth::models::t5 {

struct Row {
  std::vector<int32_t> ids;    // the text's tokens, the end token </s>, padding; Ends
  std::vector<float> weights;  // of each; those of </s> and padding are 1
  int64_t length = 0;          // ids before the padding
  std::string warning;         // what was dropped or does not apply, in one line; empty if nothing

  bool weighted() const;  // whether a weight is not 1
  bool operator==(const Row&) const = default;
};

// What stands around a text, for encoders other than T5.
struct Ends {
  std::optional<int32_t> start = {}, end = {};  // absent: nothing, and the tokenizer's end token
  std::string_view encoder = "T5";              // in messages
};

struct RowReading {
  text::PromptSyntax syntax = text::PromptSyntax::plain;
  text::Emphasis emphasis = text::Emphasis::original;  // for a1111
  std::optional<int64_t> length;                       // absent: neither truncated nor padded
  Ends ends = {};
  bool lower = false;  // lower case, without white space around it (Python's lower and strip); not in comfyui
};

// plain     As diffusers (_get_t5_prompt_embeds of its pipelines): exactly `length` ids. A longer text is truncated before </s>, a shorter
//           one is padded.
// a1111     As stable-diffusion-webui 1.10 (Sd3T5): exactly `length` ids, which is how many CLIP's chunks have. Brackets are removed, but
//           weights have no effect; a longer text loses its end and </s>. Schedules and AND must be resolved already.
// comfyui   As ComfyUI (SDTokenizer, encode_token_weights): at least `length` ids; a longer text is not truncated. Every weighted part is
//           tokenized alone, so that it begins with a space.
//
// `role` is for the warning. UsageError: see text/prompt/weighted_text.h; UnsupportedError for an embedding in ComfyUI's syntax, and for a
// text that a tokenizer's pattern takes too long on.
Row read_row(std::string_view text, text::PromptRole role, const RowReading& reading, const text::Tokenizer& tokenizer);

// What a family does with padding.
struct Padding {
  bool masked = false;            // tokens attend only to tokens before the padding
  bool zeroed = false;            // its states are replaced by zeros
  bool makes_empty_text = false;  // the empty text of a weight's difference has padding only, without </s>
};

// An encoder: rows of equally many ids, and how many ids of each are attended to (absent: all) → states [B, T, C] f32.
using RowEncoder = std::function<Tensor(const std::vector<std::vector<int32_t>>& ids, const std::vector<int64_t>& lengths)>;

// The states of each row [1, T, C] f32, on the encoder's device. Distinct rows are encoded once, rows of equal length together. Weights act
// as in ComfyUI: (z − e)·w + e per token, where e are the states of the empty text of equal length.
std::vector<Tensor> encode_rows(const RowEncoder& encoder, std::span<const Row> rows, const text::Tokenizer& tokenizer, const Ends& ends,
                                const Padding& padding = {});
std::vector<Tensor> encode_rows(const parts::T5EncoderModel& model, std::span<const Row> rows, const text::Tokenizer& tokenizer,
                                const Padding& padding = {});

}  // namespace hearth::models::t5
