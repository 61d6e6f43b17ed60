#include "text/template/budget.h"

#include "text/template/failure.h"

namespace hearth::text::jinja {

namespace {

thread_local Budget* current_budget = nullptr;

constexpr size_t bytes_per_step = 256;

}  // namespace

Budget* Budget::current() { return current_budget; }

void Budget::step(size_t count) {
  steps_ += int64_t(count);
  if (steps_ > limits_.steps) refuse(Failure::limit, "more than {} steps", limits_.steps);
}

void Budget::take(size_t bytes) {
  expect(bytes);
  step(bytes / bytes_per_step);
  bytes_ += int64_t(bytes);
}

void Budget::give_back(size_t bytes) { bytes_ -= int64_t(bytes); }

void Budget::expect(size_t bytes) const {
  if (bytes > size_t(limits_.bytes) || bytes_ + int64_t(bytes) > limits_.bytes)
    refuse(Failure::limit, "more than {} bytes of text and values", limits_.bytes);
}

void Budget::enter() {
  if (depth_ >= limits_.depth) refuse(Failure::limit, "maximum recursion depth of {} exceeded", limits_.depth);
  ++depth_;
}

BudgetScope::BudgetScope(Budget& budget) : outer_(current_budget) { current_budget = &budget; }
BudgetScope::~BudgetScope() { current_budget = outer_; }

void count_steps(size_t count) {
  if (current_budget) current_budget->step(count);
}

void expect_bytes(size_t bytes) {
  if (current_budget) current_budget->expect(bytes);
}

Deeper::Deeper() : budget_(current_budget) {
  if (budget_) budget_->enter();
}
Deeper::~Deeper() {
  if (budget_) budget_->leave();
}

Taken::Taken(size_t bytes) : budget_(current_budget), bytes_(bytes) {
  if (budget_) budget_->take(bytes);
}
Taken::~Taken() {
  if (budget_) budget_->give_back(bytes_);
}
void Taken::more(size_t bytes) {
  if (budget_) budget_->take(bytes);
  bytes_ += bytes;
}

}  // namespace hearth::text::jinja
