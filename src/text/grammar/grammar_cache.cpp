#include "text/grammar/grammar_cache.h"

namespace hearth::text::grammar {

Grammar GrammarCache::get(std::string_view kind, std::string_view source, const std::function<Grammar()>& make) {
  Hash key;
  key.add(kind);
  key.add(source);
  if (const auto known = grammars_.find(key)) return *known;
  const auto made = std::make_shared<const Grammar>(make());
  const Program& p = made->program();
  const size_t cost = 1000 + 4 * p.actions.size() + 8 * p.final.size() + 100 * (p.rules.size() + p.forks.size());
  grammars_.insert(key, made, cost);
  return *made;
}

}  // namespace hearth::text::grammar
