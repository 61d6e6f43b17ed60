// From the state of a text to the tokens that may follow.
//
// What may follow in a state of a rule depends on the rule's callers only for tokens in which the rule ends. So the tree of tokens is
// walked once per state of a rule (StateMask), for all texts and grammars that contain the rule; and for each text only below those nodes
// of the tree at which the rule may have ended. Complete masks are kept per state of the text as well.
#pragma once

#include <memory>

#include "text/grammar/stacks.h"
#include "text/grammar/vocabulary_index.h"

namespace hearth::text::grammar {

// Exactly the tokens that can be appended within the limits, and those that end a text if it may end. UnsupportedError if there are none,
// or if the text is so ambiguous that the walk would take more than about 10^7 steps.
std::shared_ptr<const TokenMask> mask_of(const Program& program, const Limits& limits, const Stacks& stacks,
                                         const VocabularyIndex& vocabulary);

}  // namespace hearth::text::grammar
