// The post-processors of a tokenizer.json, which add special tokens around those of a text.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace hearth::text::pipeline {

struct PostProcessor {
  struct Piece {
    bool text;                 // the tokens of the text
    std::vector<int32_t> ids;  // else these, if special tokens are requested
  };
  std::vector<Piece> pieces = {{.text = true, .ids = {}}};

  std::vector<int32_t> apply(std::vector<int32_t> ids, bool add_special_tokens) const;
};

// BertProcessing, ByteLevel, RobertaProcessing, Sequence, TemplateProcessing (the template of a single text). Offsets and type ids are
// ignored. UnsupportedError names any other type, WeightError a missing or invalid member.
PostProcessor make_post_processor(const nlohmann::json& stage);

}  // namespace hearth::text::pipeline
