#include "text/grammar/grammar.h"

#include <utility>

#include "core/error.h"
#include "text/grammar/mask.h"

namespace hearth::text::grammar {

bool Grammar::matches(std::string_view text) const {
  GrammarState state(*this);
  return state.accept(text) && state.is_complete();
}

GrammarState::GrammarState(Grammar grammar, const Limits& limits) : grammar_(std::move(grammar)), limits_(limits) {
  if (limits.depth < 1 || limits.depth > Limits::max_depth || limits.items < 1)
    fail<UsageError>("grammar: the limits are {} nested rules and {} readings, expected 1 to {} and at least 1", limits.depth, limits.items,
                     Limits::max_depth);
  static const FramePtr bottom = bottom_frame(Frame::end);
  Stepper(grammar_.program(), limits_).enter(grammar_.program().rules[0].start, bottom, stacks_);
}

bool GrammarState::accept(std::string_view bytes) {
  if (finished_) return bytes.empty();
  Stepper stepper(grammar_.program(), limits_);
  Stacks now = stacks_, next;
  for (const char byte : bytes) {
    stepper.too_deep = false;
    stepper.step(now, uint8_t(byte), next);
    if (next.items.empty() && !next.ended) {
      if (stepper.too_deep) fail<UnsupportedError>("grammar: the text has reached the nesting limit of {} rules", limits_.depth);
      return false;
    }
    std::swap(now, next);
  }
  stacks_ = std::move(now);
  return true;
}

bool GrammarState::accept_token(const VocabularyIndex& vocabulary, int32_t id) {
  const std::string& bytes = vocabulary.token(id);
  if (vocabulary.is_end(id)) {
    if (!is_complete()) return false;
    finished_ = true;
    return true;
  }
  return !finished_ && !bytes.empty() && accept(bytes);
}

std::shared_ptr<const TokenMask> GrammarState::mask(const VocabularyIndex& vocabulary) const {
  if (!finished_) return mask_of(grammar_.program(), limits_, stacks_, vocabulary);
  auto ends = std::make_shared<TokenMask>(vocabulary.size());
  for (const int32_t id : vocabulary.ends()) ends->set(size_t(id));
  return ends;
}

ByteSet GrammarState::next_bytes() const {
  ByteSet set;
  if (finished_) return set;
  for (const Item& i : stacks_.items) {
    for (size_t b = 0; b < 256; ++b) {
      if (grammar_.program().action(i.state, uint8_t(b)) != 0) set.set(b);
    }
  }
  return set;
}

std::string GrammarState::forced(size_t limit) const {
  std::string bytes;
  GrammarState ahead = *this;
  while (bytes.size() < limit && !ahead.is_complete()) {
    const ByteSet next = ahead.next_bytes();
    if (next.count() != 1) break;
    size_t byte = 0;
    while (!next[byte]) ++byte;
    if (!ahead.accept(std::string(1, char(byte)))) break;
    bytes += char(byte);
  }
  return bytes;
}

}  // namespace hearth::text::grammar
