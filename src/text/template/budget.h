// The limits of one rendering. A template is untrusted input and must not loop or allocate without bound.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::text::jinja {

// Generous: a conversation of a thousand messages takes about a hundred thousand steps.
struct Limits {
  int64_t steps = 50'000'000;                  // evaluated nodes, and elements and 256-byte pieces of text that are processed
  int64_t bytes = int64_t(1) << 27;            // of live values and output
  int depth = 1000;                            // of nodes under evaluation; the reference's recursion limit is near 200 nested macro calls
  static constexpr int nesting = 300;          // of values, of expressions, and of blocks
  static constexpr int range = 100'000;        // elements of range(), as in the reference's sandbox
  static constexpr size_t source = 4'000'000;  // bytes of a template
};

// The resources that the rendering on this thread has used. Exceeding a limit is TemplateError with Failure::limit.
class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}

  // nullptr if no rendering runs; then nothing is counted.
  static Budget* current();

  void step(size_t count);
  void take(size_t bytes);  // also counts steps in proportion
  void give_back(size_t bytes);
  void expect(size_t bytes) const;  // fails if take(bytes) would
  void enter();                     // one level deeper
  void leave() { --depth_; }

 private:
  friend class BudgetScope;
  Limits limits_;
  int64_t steps_ = 0, bytes_ = 0;
  int depth_ = 0;
};

// Sets the budget of the thread until the end of the block.
class BudgetScope {
 public:
  explicit BudgetScope(Budget& budget);
  ~BudgetScope();
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;

 private:
  Budget* outer_;
};

// The same for the budget of the thread; without one they do nothing.
void count_steps(size_t count = 1);
void expect_bytes(size_t bytes);

// One level of recursion, for a block.
class Deeper {
 public:
  Deeper();
  ~Deeper();
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  Budget* budget_;
};

// Bytes that are taken while this object lives.
class Taken {
 public:
  explicit Taken(size_t bytes);
  ~Taken();
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  void more(size_t bytes);

 private:
  Budget* budget_;
  size_t bytes_;
};

}  // namespace hearth::text::jinja
