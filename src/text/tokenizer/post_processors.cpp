#include "text/tokenizer/post_processors.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"
#include "text/tokenizer/stage_reader.h"

namespace hearth::text::pipeline {
namespace {

int32_t id_of(const nlohmann::json& json, const StageReader& stage, const char* name) {
  if (!json.is_number_integer() || json < 0 || json > std::numeric_limits<int32_t>::max()) stage.wrong(name, "ids");
  return json.get<int32_t>();
}

// ["[SEP]", 102]
PostProcessor::Piece named_token(const StageReader& stage, const char* name) {
  const auto& pair = stage.member(name);
  if (!pair.is_array() || pair.size() != 2) stage.wrong(name, "a token and its id");
  return {.text = false, .ids = {id_of(pair[1], stage, name)}};
}

PostProcessor from_template(const StageReader& stage) {
  const auto& specials = stage.member("special_tokens");
  if (!specials.is_object()) stage.wrong("special_tokens", "an object");
  PostProcessor made;
  made.pieces.clear();
  for (const auto& piece : stage.list("single")) {
    if (!piece.is_object() || piece.size() != 1 || !piece.begin()->is_object() || !piece.begin()->contains("id"))
      stage.wrong("single", "a list of Sequence and SpecialToken");
    const auto& id = (*piece.begin())["id"];
    if (piece.contains("Sequence")) {
      if (id != "A") stage.wrong("single", "only the sequence A");
      made.pieces.push_back({.text = true, .ids = {}});
      continue;
    }
    if (!piece.contains("SpecialToken") || !id.is_string() || !specials.contains(id.get<std::string>()))
      stage.wrong("single", "only tokens of special_tokens");
    const auto& special = specials[id.get<std::string>()];
    if (!special.is_object() || !special.contains("ids") || !special["ids"].is_array()) stage.wrong("special_tokens", "ids for each token");
    PostProcessor::Piece token{.text = false, .ids = {}};
    for (const auto& value : special["ids"]) token.ids.push_back(id_of(value, stage, "special_tokens"));
    made.pieces.push_back(std::move(token));
  }
  return made;
}

}  // namespace

PostProcessor make_post_processor(const nlohmann::json& json) {
  if (json.is_null()) return {};
  const StageReader stage(json, "post-processor");
  if (stage.type() == "ByteLevel") return {};
  if (stage.type() == "TemplateProcessing") return from_template(stage);
  if (stage.type() == "BertProcessing" || stage.type() == "RobertaProcessing")
    return {{named_token(stage, "cls"), {.text = true, .ids = {}}, named_token(stage, "sep")}};
  if (stage.type() != "Sequence") stage.unknown();

  PostProcessor made;
  for (const auto& step : stage.list("processors")) {
    PostProcessor next = make_post_processor(step);
    if (next.pieces.size() == 1 && next.pieces[0].text) continue;
    if (made.pieces.size() != 1)
      fail<UnsupportedError>("tokenizer: a post-processor Sequence with two steps that add tokens is not supported");
    made = std::move(next);
  }
  return made;
}

std::vector<int32_t> PostProcessor::apply(std::vector<int32_t> ids, bool add_special_tokens) const {
  if (pieces.size() == 1 && pieces[0].text) return ids;
  std::vector<int32_t> out;
  for (const Piece& piece : pieces) {
    if (!piece.text && !add_special_tokens) continue;
    const std::vector<int32_t>& part = piece.text ? ids : piece.ids;
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

}  // namespace hearth::text::pipeline
