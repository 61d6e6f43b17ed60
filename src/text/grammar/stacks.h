// The configurations of a program: what has been called and where each caller goes on, for all readings of the text at once.
//
// A frame holds every place to which a rule that was called at one position of the text may return (the sets of Scott & Johnstone's GLL
// 2010), so that ambiguous grammars need polynomial time and memory. Frames are immutable, counted, and compared by their hashes.
#pragma once

#include <memory>
#include <vector>

#include "text/grammar/program.h"

namespace hearth::text::grammar {

struct Frame;
using FramePtr = std::shared_ptr<const Frame>;

struct Item {
  int32_t state;
  FramePtr frame;  // of the rule that the state belongs to
};

struct Frame {
  // Not states: the end of the text; and what is below the frame, where that is not known.
  static constexpr int32_t end = -1, unknown = -2;

  std::vector<Item> returns;  // sorted by state and hash; end and unknown have no frame
  int32_t depth = 1;
  Hash hash;
};

FramePtr bottom_frame(int32_t what);  // Frame::end or Frame::unknown

struct Stacks {
  std::vector<Item> items;  // each has bytes that may follow
  bool ended = false;       // the text may end here
  bool popped = false;      // what is below an unknown frame may go on here

  Hash hash() const;  // independent of the order of items
};

struct Limits {
  static constexpr int32_t max_depth = 4096;

  int32_t depth = 512;  // of rules that have not ended: nested arrays, parentheses; at most max_depth
  size_t items = 512;   // readings of the text at the same time
};

// Moves stacks over bytes. Keeps its memory between calls; use one per thread.
class Stepper {
 public:
  Stepper(const Program& program, const Limits& limits) : program_(program), limits_(limits) {}

  // `to` becomes `from` after the byte, without items and ends if the byte cannot follow; then `too_deep` says whether the limit of depth
  // is a reason. UnsupportedError if the text has too many readings. `to` is not `from`.
  void step(const Stacks& from, uint8_t byte, Stacks& to);
  // `to` becomes the places to which the frame returns, with all places to which those may return at once.
  void leave(const Frame& frame, Stacks& to);
  // `to` becomes the state, in a rule that was called from the frame.
  void enter(int32_t state, const FramePtr& frame, Stacks& to);

  bool too_deep = false;
  size_t work = 0;  // steps times readings, to bound the work

 private:
  struct Called {
    int32_t rule;
    std::vector<Item> returns;
  };
  void reset(Stacks& to);
  void add(Stacks& to, int32_t state, const FramePtr& frame);
  void pop(Stacks& to, const Frame& frame);
  void call(int32_t rule, int32_t next, const FramePtr& frame);
  void follow(Stacks& to, int32_t state, const FramePtr& frame, uint8_t byte);
  FramePtr finish_frame(std::vector<Item>& returns);

  const Program& program_;
  Limits limits_;
  std::vector<Called> called_;  // in this step and not entered yet; the first called_count_ count
  size_t called_count_ = 0;
  std::vector<Item> ending_;  // of this step: states whose rules ended
};

}  // namespace hearth::text::grammar
