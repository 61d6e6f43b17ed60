// One resident language model: its engine, its words, and what structured output needs of its vocabulary.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/language/language_state.h"
#include "engine/engine.h"
#include "server/fields.h"
#include "server/tools/tool_prompt.h"
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
  // A loaded model with an adapter. It shares the weights with `base`, and has an engine and pages of its own; `options.path` is not used.
  LanguageService(std::string id, std::shared_ptr<const LanguageService> base, const Lora& adapter, const Options& options);
  ~LanguageService();

  const std::string& id() const { return id_; }
  engine::Engine& engine() const { return *engine_; }
  const api::LanguageState& state() const;    // family, generation defaults, chat template, model
  const text::Tokenizer& tokenizer() const;   // ApiError 400 for a model without one
  std::string token_bytes(int32_t id) const;  // what the token adds to a text; may be a part of a character
  std::vector<int32_t> end_tokens() const;
  const std::string& chat_source() const;  // of the default chat template; empty without
  // The chat as the model reads it. tools: null for none. ApiError 400 for a model without a chat template, and for what the template
  // refuses.
  std::string render(const Json& messages, const Json& tools, const Json& variables, bool continue_final_message) const;
  const tools::ToolFormat& tool_format() const;
  const tools::Reasoning& reasoning() const;
  const tools::TemplateSupport& template_support() const;
  const std::vector<std::string>& hidden_tokens() const;  // special tokens that are no marks of tool calls or reasoning, as text
  bool device_lost() const;                               // LanguageModel::device_lost
  int64_t bytes() const;                                  // of its own weights, and the cache

  // The grammar of that kind and source, which `rules` makes the first time. ApiError 400 about the field `param` for one that cannot be
  // honored. with_marks: the marks of tool calls and reasoning may be special tokens.
  std::shared_ptr<const engine::ConstraintSource> constraint(std::string_view kind, std::string_view source,
                                                             const std::function<text::grammar::Rules()>& rules, const std::string& param,
                                                             bool with_marks = false) const;

 private:
  struct Impl;
  LanguageService(std::string id, const Options& options, std::unique_ptr<Impl> impl);
  std::string id_;
  std::unique_ptr<Impl> impl_;
  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace hearth::server
