#include "text/tokenizer/stage_reader.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text/utf8.h"

namespace hearth::text::pipeline {

std::string short_dump(const nlohmann::json& value) {
  constexpr size_t most = 60;
  if (value.is_structured()) return fmt::format("{} of {}", value.is_object() ? "an object" : "a list", value.size());
  const std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.size() <= most ? text : valid_utf8(text.substr(0, most)) + "…";
}

StageReader::StageReader(const Json& stage, std::string kind) : kind_(std::move(kind)), stage_(&stage) {
  if (!stage.is_object() || !stage.contains("type") || !stage["type"].is_string())
    fail<WeightError>("tokenizer: a {} is {}, expected an object with a \"type\"", kind_, short_dump(stage));
  type_ = stage["type"].get<std::string>();
}

bool StageReader::has(const char* name) const { return stage_->contains(name) && !(*stage_)[name].is_null(); }

const StageReader::Json& StageReader::member(const char* name) const {
  if (!has(name)) fail<WeightError>("tokenizer: the {} {} has no \"{}\"", kind_, type_, name);
  return (*stage_)[name];
}

const StageReader::Json& StageReader::list(const char* name) const {
  if (!member(name).is_array()) wrong(name, "a list");
  return member(name);
}

std::string StageReader::text(const char* name) const {
  if (!member(name).is_string()) wrong(name, "a text");
  return member(name).get<std::string>();
}

std::string StageReader::text_or_empty(const char* name) const { return has(name) ? text(name) : std::string(); }

bool StageReader::flag(const char* name) const {
  if (!member(name).is_boolean()) wrong(name, "true or false");
  return member(name).get<bool>();
}

bool StageReader::flag(const char* name, bool otherwise) const { return has(name) ? flag(name) : otherwise; }

int64_t StageReader::integer(const char* name, int64_t low, int64_t high) const {
  const Json& value = member(name);
  if (!value.is_number_integer() || value < low || value > high) wrong(name, fmt::format("an integer from {} to {}", low, high));
  return value.get<int64_t>();
}

std::string StageReader::character(const char* name) const {
  const std::string value = text(name);
  if (value.empty() || value.size() != sequence_length(value[0])) wrong(name, "one character");
  return value;
}

Pattern StageReader::pattern(const char* name) const {
  const Json& value = member(name);
  if (value.is_object() && value.size() == 1 && value.begin()->is_string()) {
    const auto content = value.begin()->get<std::string>();
    if (value.contains("Regex") || (value.contains("String") && content.empty())) return {.literal = "", .regex = Regex(content)};
    if (value.contains("String")) return {.literal = content, .regex = {}};
  }
  wrong(name, "{\"String\": …} or {\"Regex\": …}");
}

void StageReader::wrong(const char* name, const std::string& needed) const {
  fail<WeightError>("tokenizer: \"{}\" of the {} {} is {}, expected {}", name, kind_, type_, short_dump(member(name)), needed);
}

void StageReader::unknown() const { fail<UnsupportedError>("tokenizer: the {} '{}' is not supported", kind_, type_); }

}  // namespace hearth::text::pipeline
