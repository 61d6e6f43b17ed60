// Grammars by their source, so that equal requests compile once.
#pragma once

#include <functional>
#include <string_view>

#include "text/grammar/grammar.h"

namespace hearth::text::grammar {

// Any number of threads may use it.
class GrammarCache {
 public:
  // Keeps the grammars that were used last, as many as fit into about that many bytes of tables.
  explicit GrammarCache(size_t bytes = size_t(256) << 20) : grammars_(bytes) {}

  // The grammar of that kind ("gbnf", "json schema, compact") and source, which `make` compiles if it is not there; what `make` throws is
  // not remembered. Two threads that ask at the same time may both compile.
  Grammar get(std::string_view kind, std::string_view source, const std::function<Grammar()>& make);
  size_t size() const { return grammars_.size(); }

 private:
  Lru<Hash, Grammar> grammars_;
};

}  // namespace hearth::text::grammar
