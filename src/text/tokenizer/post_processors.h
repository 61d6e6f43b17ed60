// The post-processors of a tokenizer.json: what is put around a text's tokens.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace hearth::text::pipeline {

struct PostProcessor {
  struct Piece {
    bool text;                 // the tokens of the text
    std::vector<int32_t> ids;  // else: these, where special tokens are wanted
  };
  std::vector<Piece> pieces = {{.text = true, .ids = {}}};

  std::vector<int32_t> apply(std::vector<int32_t> ids, bool add_special_tokens) const;
};

// BertProcessing, ByteLevel, RobertaProcessing, Sequence, TemplateProcessing (the template of a single text). What they do to offsets
// and type ids is not kept. UnsupportedError names any other type, WeightError a member that is missing or wrong.
PostProcessor make_post_processor(const nlohmann::json& stage);

}  // namespace hearth::text::pipeline
