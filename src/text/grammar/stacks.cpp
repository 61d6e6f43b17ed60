#include "text/grammar/stacks.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace hearth::text::grammar {
namespace {

bool same(const FramePtr& a, const FramePtr& b) { return a == b || (a && b && a->hash == b->hash); }

bool before(const Item& a, const Item& b) {
  if (a.state != b.state || !a.frame || !b.frame) return a.state < b.state;
  return a.frame->hash < b.frame->hash;
}

bool equal(const Item& a, const Item& b) { return a.state == b.state && same(a.frame, b.frame); }

bool contains(const std::vector<Item>& items, int32_t state, const FramePtr& frame) {
  return std::any_of(items.begin(), items.end(), [&](const Item& i) { return i.state == state && same(i.frame, frame); });
}

}  // namespace

FramePtr bottom_frame(int32_t what) {
  auto frame = std::make_shared<Frame>();
  frame->returns.push_back({what, nullptr});
  frame->hash.add(uint64_t(int64_t(what)));
  return frame;
}

Hash Stacks::hash() const {
  std::vector<std::pair<int32_t, Hash>> parts;
  for (const Item& i : items) parts.emplace_back(i.state, i.frame->hash);
  std::sort(parts.begin(), parts.end());
  Hash h;
  h.add(ended ? 1 : 0);
  for (const auto& [state, frame] : parts) {
    h.add(uint64_t(state));
    h.add(frame);
  }
  return h;
}

void Stepper::reset(Stacks& to) {
  to.items.clear();
  to.ended = to.popped = false;
  ending_.clear();
  called_count_ = 0;
}

void Stepper::pop(Stacks& to, const Frame& frame) {
  for (const Item& i : frame.returns) {
    if (i.state == Frame::end) to.ended = true;
    else if (i.state == Frame::unknown) to.popped = true;
    else add(to, i.state, i.frame);
  }
}

// Recursive through states in which a rule may end and may also go on, at most as deep as the stack. Those that must end were replaced by
// their own returns when the frame was made.
void Stepper::add(Stacks& to, int32_t state, const FramePtr& frame) {
  const bool leaf = program_.leaf[size_t(state)] != 0;
  std::vector<Item>& items = leaf ? ending_ : to.items;
  if (contains(items, state, frame)) return;
  items.push_back({state, frame});
  if (items.size() > limits_.items)
    fail<UnsupportedError>("grammar: the text has more than {} readings, expected a grammar that is less ambiguous", limits_.items);
  if (program_.final[size_t(state)] != 0) pop(to, *frame);
}

void Stepper::leave(const Frame& frame, Stacks& to) {
  reset(to);
  pop(to, frame);
}

void Stepper::enter(int32_t state, const FramePtr& frame, Stacks& to) {
  reset(to);
  add(to, state, frame);
}

void Stepper::call(int32_t rule, int32_t next, const FramePtr& frame) {
  size_t i = 0;
  while (i < called_count_ && called_[i].rule != rule) ++i;
  if (i == called_count_) {
    if (called_.size() == i) called_.emplace_back();
    called_[i].rule = rule;
    called_[i].returns.clear();
    ++called_count_;
  }
  auto& returns = called_[i].returns;
  if (program_.leaf[size_t(next)] != 0) returns.insert(returns.end(), frame->returns.begin(), frame->returns.end());
  else returns.push_back({next, frame});
}

FramePtr Stepper::finish_frame(std::vector<Item>& returns) {
  if (returns.size() > 1) {
    std::sort(returns.begin(), returns.end(), before);
    returns.erase(std::unique(returns.begin(), returns.end(), equal), returns.end());
    if (returns.size() > limits_.items)
      fail<UnsupportedError>("grammar: the text has more than {} readings, expected a grammar that is less ambiguous", limits_.items);
  }
  auto frame = std::make_shared<Frame>();
  for (const Item& i : returns) {
    frame->hash.add(uint64_t(int64_t(i.state)));
    if (!i.frame) continue;
    frame->hash.add(i.frame->hash);
    frame->depth = std::max(frame->depth, i.frame->depth + 1);
  }
  frame->returns = returns;
  return frame;
}

void Stepper::follow(Stacks& to, int32_t state, const FramePtr& frame, uint8_t byte) {
  const uint32_t action = program_.action(state, byte);
  if (action == 0) return;
  if ((action & Program::fork_bit) == 0) return add(to, int32_t(action - 1), frame);
  const Program::Fork& fork = program_.forks[action & ~Program::fork_bit];
  for (const int32_t target : fork.targets) add(to, target, frame);
  for (const auto& c : fork.calls) call(c.rule, c.next, frame);
}

void Stepper::step(const Stacks& from, uint8_t byte, Stacks& to) {
  reset(to);
  work += from.items.size();
  for (const Item& i : from.items) follow(to, i.state, i.frame, byte);
  // Callers are entered before what they call, so a frame is complete when its rule is entered.
  while (called_count_ > 0) {
    size_t first = 0;
    for (size_t i = 1; i < called_count_; ++i) {
      if (program_.rules[size_t(called_[i].rule)].level < program_.rules[size_t(called_[first].rule)].level) first = i;
    }
    const int32_t rule = called_[first].rule;
    const FramePtr frame = finish_frame(called_[first].returns);
    std::swap(called_[first], called_[--called_count_]);
    ++work;
    if (frame->depth > limits_.depth) too_deep = true;
    else follow(to, program_.rules[size_t(rule)].start, frame, byte);
  }
}

}  // namespace hearth::text::grammar
