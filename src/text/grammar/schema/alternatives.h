// The disjunctive normal form of a schema: $ref, allOf, anyOf and oneOf are resolved, and each alternative is a list of schemas whose own
// keywords (type, properties, minimum …) all hold.
#pragma once

#include <functional>
#include <vector>

#include "text/grammar/schema/document.h"

namespace hearth::text::grammar::schema {

class Alternatives {
 public:
  // `disjoint`: whether no value is valid for both lists of schemas, as far as that can be proved.
  Alternatives(const Document& document, std::function<bool(const All&, const All&)> disjoint)
      : document_(document), disjoint_(std::move(disjoint)) {}

  // In the order of the document, without those that contain the schema `false`. UnsupportedError for a $ref that leads back to itself,
  // for branches of oneOf that may overlap, and for more than 512 alternatives.
  std::vector<All> of(const All& schemas);

 private:
  std::vector<All> of_one(const Json& schema);
  std::vector<All> of_branches(const Json& schema, const char* keyword, const Json& branches);
  void combine(const Json& schema, const char* keyword, std::vector<All>& with, const std::vector<All>& other);

  const Document& document_;
  std::function<bool(const All&, const All&)> disjoint_;
  std::vector<const Json*> path_;
  bool proving_ = false;  // disjoint_ runs: then oneOf counts as anyOf, which only makes the proof harder
};

}  // namespace hearth::text::grammar::schema
