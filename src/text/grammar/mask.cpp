#include "text/grammar/mask.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace hearth::text::grammar {
namespace {

constexpr size_t max_walk_steps = 20'000'000;

class Walk {
 public:
  Walk(const Program& program, const Limits& limits, const VocabularyIndex& vocabulary)
      : program_(program), vocabulary_(vocabulary), stepper(program, limits) {}

  // Calls found(node, popped, all) for each node below `top` to which the stacks can follow; popped: see Stacks. all: the stacks can follow
  // to all nodes below it as well, without popping, and those are not called.
  template <class Found> void below(size_t top, const Stacks& stacks, const Found& found) {
    if (levels_.empty()) levels_.resize(size_t(vocabulary_.longest()) + 1);
    const auto nodes = vocabulary_.nodes();
    const size_t base = nodes[top].depth;
    if (stacks.items.empty() || nodes[top].end == top + 1) return;
    levels_[0].stacks = stacks;
    levels_[0].simple = false;
    for (size_t i = top + 1; i < nodes[top].end;) {
      const auto& node = nodes[i];
      const Level& from = levels_[node.depth - base - 1];
      Level& to = levels_[node.depth - base];
      if (!follow(from, node.byte, to)) {
        i = node.end;
        continue;
      }
      if (to.simple && node.plain_height != VocabularyIndex::not_plain && node.plain_height <= program_.plain_run[size_t(to.state)]) {
        found(i, false, true);
        i = node.end;
        continue;
      }
      found(i, !to.simple && to.stacks.popped, false);
      i = to.simple || !to.stacks.items.empty() ? i + 1 : node.end;
    }
  }

 private:
  // Nearly all steps lead from one state to one other state of the same rule: those need neither items nor counts of references.
  struct Level {
    bool simple = false;
    int32_t state = 0;
    const FramePtr* frame = nullptr;  // in a level above
    Stacks stacks;                    // if not simple
  };

  bool follow(const Level& from, uint8_t byte, Level& to) {
    const bool one = from.simple || from.stacks.items.size() == 1;
    if (one) {
      const int32_t state = from.simple ? from.state : from.stacks.items[0].state;
      const uint32_t action = program_.action(state, byte);
      if (action == 0) return false;
      if ((action & Program::fork_bit) == 0 && program_.final[action - 1] == 0) {
        to.simple = true;
        to.state = int32_t(action - 1);
        to.frame = from.simple ? from.frame : &from.stacks.items[0].frame;
        return true;
      }
    }
    to.simple = false;
    if (from.simple) {
      single_.items.assign(1, {from.state, *from.frame});
      stepper.step(single_, byte, to.stacks);
    } else {
      stepper.step(from.stacks, byte, to.stacks);
    }
    if (stepper.work > max_walk_steps)
      fail<UnsupportedError>("grammar: the text has too many readings here, expected a grammar that is less ambiguous");
    return !to.stacks.items.empty() || to.stacks.ended || to.stacks.popped;
  }

  const Program& program_;
  const VocabularyIndex& vocabulary_;
  std::vector<Level> levels_;
  Stacks single_;

 public:
  Stepper stepper;
};

std::shared_ptr<const StateMask> state_mask(const Program& program, int32_t state, const VocabularyIndex& vocabulary, Walk& walk) {
  const auto& rule = program.rules[size_t(program.rule_of[size_t(state)])];
  Hash key = rule.hash;
  key.add(uint64_t(state - rule.start));
  if (auto known = vocabulary.state_masks.find(key)) return known;

  static const FramePtr unknown = bottom_frame(Frame::unknown);
  auto mask = std::make_shared<StateMask>();
  Stacks stacks;
  stacks.items.push_back({state, unknown});
  const auto nodes = vocabulary.nodes();
  std::array<std::vector<uint32_t>, 256> after_end;
  walk.below(0, stacks, [&](size_t node, bool popped, bool all) {
    const auto ids = all ? vocabulary.ids_from(node) : vocabulary.ids_at(node);
    mask->tokens.insert(mask->tokens.end(), ids.begin(), ids.end());
    if (!popped) return;
    for (size_t child = node + 1; child < nodes[node].end; child = nodes[child].end)
      after_end[nodes[child].byte].push_back(uint32_t(child));
  });
  if (std::any_of(after_end.begin(), after_end.end(), [](const auto& list) { return !list.empty(); })) {
    for (const auto& list : after_end) {
      mask->starts.push_back(uint32_t(mask->after_end.size()));
      mask->after_end.insert(mask->after_end.end(), list.begin(), list.end());
    }
    mask->starts.push_back(uint32_t(mask->after_end.size()));
  }
  if (mask->tokens.size() > vocabulary.size() / 32) {
    TokenMask set(vocabulary.size());
    for (const uint32_t id : mask->tokens) set.set(id);
    mask->words = std::move(set.words);
    mask->tokens = {};
  }
  const size_t cost = 200 + 4 * (mask->tokens.size() + mask->after_end.size() + mask->starts.size()) + 8 * mask->words.size();
  vocabulary.state_masks.insert(key, mask, cost);
  return mask;
}

}  // namespace

std::shared_ptr<const TokenMask> mask_of(const Program& program, const Limits& limits, const Stacks& stacks,
                                         const VocabularyIndex& vocabulary) {
  Hash key = stacks.hash();
  key.add(program.hash);
  key.add(uint64_t(limits.depth));
  if (auto known = vocabulary.masks.find(key)) return known;

  auto mask = std::make_shared<TokenMask>(vocabulary.size());
  Walk walk(program, limits, vocabulary);
  const auto allow = [&](size_t node, bool, bool all) {
    for (const uint32_t id : all ? vocabulary.ids_from(node) : vocabulary.ids_at(node)) mask->set(id);
  };
  Stacks outer, next;
  for (const Item& item : stacks.items) {
    // Where a token could reach the limit of depth, only the walk over this very stack is exact.
    if (item.frame->depth + vocabulary.longest() >= limits.depth) {
      Stacks one;
      one.items.push_back(item);
      walk.below(0, one, allow);
      continue;
    }
    const auto inner = state_mask(program, item.state, vocabulary, walk);
    for (const uint32_t id : inner->tokens) mask->set(id);
    for (size_t w = 0; w < inner->words.size(); ++w) mask->words[w] |= inner->words[w];
    if (inner->after_end.empty()) continue;
    walk.stepper.leave(*item.frame, outer);
    for (size_t byte = 0; byte < 256; ++byte) {
      if (inner->starts[byte] == inner->starts[byte + 1]) continue;
      walk.stepper.step(outer, uint8_t(byte), next);
      if (next.items.empty() && !next.ended) continue;
      for (uint32_t i = inner->starts[byte]; i < inner->starts[byte + 1]; ++i) {
        allow(inner->after_end[i], false, false);
        walk.below(inner->after_end[i], next, allow);
      }
    }
  }
  if (stacks.ended) {
    for (const int32_t id : vocabulary.ends()) mask->set(size_t(id));
  }
  if (mask->none()) {
    if (walk.stepper.too_deep) fail<UnsupportedError>("grammar: the text has reached the nesting limit of {} rules", limits.depth);
    fail<UnsupportedError>("grammar: no token of the vocabulary can follow here, expected one for every byte that may");
  }
  vocabulary.masks.insert(key, mask, 200 + 8 * mask->words.size());
  return mask;
}

}  // namespace hearth::text::grammar
