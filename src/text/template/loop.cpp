#include "text/template/loop.h"

#include "text/template/values/operations.h"

namespace hearth::text::jinja {

LoopObject::LoopObject(const Value& iterable)
    : Object(sizeof *this, iterable.depth()),
      source_(iterate(iterable)),
      length_(iterable.is(Kind::loop) ? std::nullopt : known_length(iterable)) {}

bool LoopObject::peek() {
  if (after_) return true;
  if (ended_) return false;
  Value item;
  if (source_(item)) after_ = std::move(item);
  else ended_ = true;
  return after_.has_value();
}

bool LoopObject::next(Value& item) {
  if (!peek()) return false;
  ++index0_;
  before_ = std::move(current_);
  current_ = std::move(after_);
  after_.reset();
  item = *current_;
  return true;
}

std::optional<int64_t> LoopObject::size() {
  if (length_) return length_;
  List rest;
  while (peek()) {
    rest.push_back(*std::exchange(after_, std::nullopt));
    expect_bytes(rest.size() * sizeof(Value));
  }
  length_ = index0_ + 1 + int64_t(rest.size());
  source_ = iterate(Value::list(std::move(rest)));
  ended_ = false;
  return length_;
}

std::optional<Value> LoopObject::attribute(std::string_view name) {
  if (name == "index") return Value(index0_ + 1);
  if (name == "index0") return Value(index0_);
  if (name == "first") return Value(index0_ == 0);
  if (name == "last") return Value(!peek());
  if (name == "length") return Value(*size());
  if (name == "revindex") return Value(*size() - index0_);
  if (name == "revindex0") return Value(*size() - index0_ - 1);
  if (name == "previtem") return index0_ == 0 ? make_undefined("there is no previous item") : *before_;
  if (name == "nextitem") return peek() ? *after_ : make_undefined("there is no next item");
  for (const char* other : {"changed", "cycle", "depth", "depth0"})  // known to Jinja2, used by no chat template
    if (name == other) throw Unsupported{fmt::format("loop.{}", name)};
  return {};
}

std::string LoopObject::repr() { return fmt::format("<LoopContext {}/{}>", index0_ + 1, *size()); }

}  // namespace hearth::text::jinja
