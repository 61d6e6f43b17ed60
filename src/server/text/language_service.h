// One resident language model: its engine, its words, and what structured output needs of its vocabulary.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/language/language_state.h"
#include "engine/engine.h"
#include "text/grammar/grammar.h"

namespace hearth::server {

class LanguageService {
 public:
  struct Options {
    std::filesystem::path path;  // empty: the demo model
    LanguageOptions open;
    engine::EngineOptions engine;
    std::string draft;  // "": none; "ngram"; else a path
  };
  LanguageService(std::string id, const Options& options);
  ~LanguageService();

  const std::string& id() const { return id_; }
  engine::Engine& engine() const { return *engine_; }
  const api::LanguageState& state() const;    // family, generation defaults, chat template, model
  const text::Tokenizer& tokenizer() const;   // ApiError 400 for a model without one
  std::string token_bytes(int32_t id) const;  // what the token adds to a text; may be a part of a character
  std::vector<int32_t> end_tokens() const;
  const text::ChatTemplate* chat() const;  // null without
  const std::string& chat_source() const;  // of the default template; empty without
  int64_t bytes() const;                   // of weights and cache

  // Compiled once per grammar and kept. ApiError 400 for a grammar that cannot be honored, about the field `param`.
  std::shared_ptr<const engine::ConstraintSource> constraint(const text::grammar::Rules& rules, const std::string& param) const;

 private:
  struct Impl;
  std::string id_;
  std::unique_ptr<Impl> impl_;
  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace hearth::server
