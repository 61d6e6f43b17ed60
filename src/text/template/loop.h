// The variable `loop` inside a for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/template/values/value.h"

namespace hearth::text::jinja {

// index, index0, revindex, revindex0, first, last, length, depth, depth0, previtem, nextitem, cycle(…), changed(…). For an iterator, `last`
// and `nextitem` fetch one element ahead, `length` and `revindex` all of them.
class LoopObject : public AttributesObject {
 public:
  explicit LoopObject(const Value& iterable);

  bool next(Value& item) override;  // advances to the next iteration
  std::string type_name() const override { return "LoopContext"; }
  std::optional<Value> attribute(const Value& self, std::string_view name) override;
  std::optional<Value> call(Arguments& arguments) override;
  std::string repr() override;
  std::optional<int64_t> size() override;
  void forget() { changed_.reset(); }  // breaks the cycle if an argument of `changed` holds this object

 private:
  bool peek();

  Next source_;
  std::optional<int64_t> length_;
  int64_t index0_ = -1;
  std::optional<Value> before_, current_, after_;
  bool ended_ = false;
};

}  // namespace hearth::text::jinja
