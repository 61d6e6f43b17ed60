// Reads the members of one stage of a tokenizer.json by name and type, with clear errors.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/regex.h"

namespace hearth::text::pipeline {

// {"String": "…"} or {"Regex": "…"}.
struct Pattern {
  std::string literal;         // if there is no regex
  std::optional<Regex> regex;  // for a Regex, and for an empty String, which matches everywhere
  std::vector<Span> find_all(std::string_view text) const { return regex ? regex->find_all(text) : find_literal(text, literal); }
};

// Every error is a WeightError that names the stage and the member.
class StageReader {
 public:
  using Json = nlohmann::json;

  // `kind`: its name in messages, "normalizer". The stage is an object with a string "type", and outlives the reader.
  StageReader(const Json& stage, std::string kind);

  const std::string& type() const { return type_; }
  bool has(const char* name) const;  // and it is not null
  const Json& member(const char* name) const;
  const Json& list(const char* name) const;
  std::string text(const char* name) const;
  std::string text_or_empty(const char* name) const;
  bool flag(const char* name) const;
  bool flag(const char* name, bool otherwise) const;
  int64_t integer(const char* name, int64_t low, int64_t high) const;
  std::string character(const char* name) const;  // one character of UTF-8
  Pattern pattern(const char* name) const;

  [[noreturn]] void wrong(const char* name, const std::string& needed) const;
  [[noreturn]] void unknown() const;  // UnsupportedError that names the type

 private:
  std::string kind_, type_;
  const Json* stage_;
};

// About sixty characters of a value, for messages.
std::string short_dump(const nlohmann::json& value);

}  // namespace hearth::text::pipeline
