// The variable `loop` inside a for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/template/values/value.h"

namespace hearth::text::jinja {

// index, index0, revindex, revindex0, first, last, length, previtem, nextitem. Of an iterator, `last` and `nextitem` fetch one element
// ahead, `length` and `revindex` all of them.
class LoopObject : public Object {
 public:
  explicit LoopObject(const Value& iterable);

  bool next(Value& item);                                 // to the next pass
  std::optional<Value> attribute(std::string_view name);  // nothing where there is none
  std::string repr();
  std::optional<int64_t> size();

 private:
  bool peek();

  Next source_;
  std::optional<int64_t> length_;
  int64_t index0_ = -1;
  std::optional<Value> before_, current_, after_;
  bool ended_ = false;
};

}  // namespace hearth::text::jinja
