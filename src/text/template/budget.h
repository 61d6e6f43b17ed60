// What one rendering may use: a template comes with a checkpoint from anywhere, and must not loop or allocate without bound.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::text::jinja {

// Generous: a conversation of a thousand messages takes about a hundred thousand steps.
struct Limits {
  int64_t steps = 50'000'000;                  // nodes evaluated, elements and 256-byte pieces of text looked at
  int64_t bytes = int64_t(1) << 27;            // of values and output alive at one time
  int depth = 1000;                            // of nodes under evaluation; the reference's recursion ends near 200 nested macro calls
  static constexpr int nesting = 300;          // of values in values, of expressions in expressions, of blocks in blocks
  static constexpr int range = 100'000;        // elements of range(): the reference's sandbox
  static constexpr size_t source = 4'000'000;  // bytes of a template
};

// The account of the rendering that runs on this thread. Exceeding it is TemplateError with Failure::limit.
class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}

  // Nothing is counted where no rendering runs.
  static Budget* current();

  void step(size_t count);
  void take(size_t bytes);  // also takes time in proportion
  void give_back(size_t bytes);
  void expect(size_t bytes) const;  // fails if so much more could not be taken
  void enter();                     // one level deeper
  void leave() { --depth_; }

 private:
  friend class BudgetScope;
  Limits limits_;
  int64_t steps_ = 0, bytes_ = 0;
  int depth_ = 0;
};

// Makes a budget the thread's own until the end of the block.
class BudgetScope {
 public:
  explicit BudgetScope(Budget& budget);
  ~BudgetScope();
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;

 private:
  Budget* outer_;
};

// The same for the thread's budget, nothing without one.
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

// Bytes taken for as long as this object lives.
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
