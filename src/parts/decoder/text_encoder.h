// A decoder as the text encoder of another network: it takes whole prompts, has no head, and returns the hidden states of chosen layers. As
// transformers' model(input_ids, attention_mask, output_hidden_states=True).hidden_states, 4.57.1, with its attention `sdpa`.
#pragma once

#include <span>

#include "parts/decoder/decoder.h"
#include "weights/blocks.h"

namespace hearth::parts {

// A prompt with its padding: ids before `begin` and from `end` on are padding, which no token attends to. Padding behind the prompt attends
// to the prompt, padding in front of it to nothing.
struct PaddedText {
  std::vector<int32_t> ids;
  int64_t begin = 0, end = 0;  // end > begin

  // Of a text with images, which has no padding: rows [n, C] f32 that replace the embeddings of the n ids from `at` on, and the positions
  // of all tokens (RotaryConfig::sections); empty: 0, 1, 2 …
  struct Inserted {
    int64_t at = 0;
    Tensor rows;
  };
  std::vector<Inserted> inserted = {};
  std::vector<RotaryConfig::Position> positions = {};

  bool padded() const { return begin > 0 || end < std::ssize(ids); }
};

class DecoderTextEncoder {
 public:
  // `states`: the hidden states to return: 0 is what the first layer receives, i the result of layer i counted from 1, and the number of
  // layers what the last norm makes of the last layer's result. Layers behind the last of them are checked, and not loaded. UsageError
  // for one that the decoder does not have.
  DecoderTextEncoder(const Scope& w, const DecoderConfig& config, std::vector<int64_t> states);

  // The states of each text in the order of the constructor's, [T, C] f32 each; rows of padding, too. The result for a text does not depend
  // on the others. UsageError for an id outside the vocabulary; ShapeError for inserted rows or positions that are not those of the text;
  // UnsupportedError for them without mrope_section, for them together with padding, and for padding if a layer has a recurrence, or a
  // window that is shorter than the text.
  std::vector<std::vector<Tensor>> operator()(std::span<const PaddedText> texts) const;

  int64_t width() const { return config_.width; }

 private:
  DecoderConfig config_;
  std::vector<int64_t> states_;
  DecoderInput input_;
  Blocks<DecoderLayer> layers_;
  std::optional<Norm> norm_;
};

}  // namespace hearth::parts
