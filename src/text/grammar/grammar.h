// Constrained decoding: which tokens may follow so that a text matches a grammar.
//
//   const Grammar grammar(json_schema_text(R"({"type": "object", …})"));      // once per schema; GrammarCache keeps it
//   const VocabularyIndex vocabulary(token_bytes, {eos});                 // once per tokenizer
//   GrammarState state(grammar);                                          // once per request
//   for (;;) {
//     const auto allowed = state.mask(vocabulary);                        // before each token is drawn
//     const int32_t id = draw(logits, *allowed);
//     if (!state.accept_token(vocabulary, id) || state.is_finished()) break;
//   }
//
// All work is on bytes, so tokens may hold parts of characters. docs/structured-output.md has the languages and the figures.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "text/grammar/expression.h"
#include "text/grammar/stacks.h"
#include "text/grammar/vocabulary_index.h"

namespace hearth::text::grammar {

// A compiled context-free grammar. Immutable; copies share it, and any number of threads may use one.
class Grammar {
 public:
  // Errors as of compile() in program.h.
  explicit Grammar(const Rules& rules) : program_(std::make_shared<const Program>(compile(rules))) {}

  bool matches(std::string_view text) const;  // all of it
  const Program& program() const { return *program_; }

 private:
  friend class GrammarState;
  std::shared_ptr<const Program> program_;
};

// Where a text stands in a grammar. Copies are cheap and independent, for speculation and for going back. It is always possible to complete
// the text from here, within the limits and with tokens for all bytes.
class GrammarState {
 public:
  // UsageError for a limit that is not positive, or a depth above Limits::max_depth.
  explicit GrammarState(Grammar grammar, const Limits& limits = {});

  // Appends the bytes. Returns false, and changes nothing, if they cannot follow. UnsupportedError if they could but for the limits.
  bool accept(std::string_view bytes);
  // Appends the token; a token that ends a text is accepted where the text is complete, and finishes the state. Nothing follows then.
  bool accept_token(const VocabularyIndex& vocabulary, int32_t id);

  // The tokens that accept_token() would accept; shared with other requests. UnsupportedError if there are none: the nesting has reached
  // its limit, or the vocabulary has no token for any byte that may follow.
  std::shared_ptr<const TokenMask> mask(const VocabularyIndex& vocabulary) const;

  bool is_complete() const { return stacks_.ended; }  // the text may end here
  bool is_finished() const { return finished_; }      // it has ended
  // The bytes that must follow, whatever is drawn: the end of a property's name, a closing tag. At most `limit`; empty at a choice, and
  // where the text may end.
  std::string forced(size_t limit = 256) const;
  ByteSet next_bytes() const;  // bytes of which each may follow, but for the limits

 private:
  Grammar grammar_;
  Limits limits_;
  Stacks stacks_;
  bool finished_ = false;
};

}  // namespace hearth::text::grammar
