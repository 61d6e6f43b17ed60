// A JSON schema as a document: where its parts are, what they refer to, and which keywords they have.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::text::grammar::schema {

using Json = nlohmann::ordered_json;

// A conjunction of schemas, parts of the document: a value must be valid for each. Empty: any value.
using All = std::vector<const Json*>;

class Document {
 public:
  // Keeps a reference to the schema. UnsupportedError if it is nested more than 200 deep.
  explicit Document(const Json& root);

  const Json& root() const { return root_; }
  std::string pointer(const Json& part) const;  // "#/properties/a", for messages
  // The schema that "$ref": reference means. UnsupportedError unless it is "#" or "#/…" and exists.
  const Json& resolve(const Json& from, const std::string& reference) const;
  // UnsupportedError for a keyword that is neither supported nor an annotation, UsageError for a value that no keyword may have.
  void check(const Json& schema) const;

  // `#/…: keyword: what`
  [[noreturn]] void refuse(const Json& schema, std::string_view keyword, const std::string& what) const;
  [[noreturn]] void invalid(const Json& schema, std::string_view keyword, const std::string& what) const;

  // A keyword's value, or null. A count is not negative.
  const Json* find(const Json& schema, const char* keyword) const;
  int count(const Json& schema, const char* keyword, int otherwise) const;

 private:
  void index(const Json& part);
  const Json& root_;
  struct Place {
    const Json* parent;
    std::string key;
  };
  std::map<const Json*, Place> places_;
};

// The values of "items" and its relatives in both spellings: 2020-12 (prefixItems, items) and before (items as a list, additionalItems).
struct Items {
  std::vector<const Json*> first;
  const Json* others = nullptr;  // null: any value
};
Items items_of(const Document& document, const Json& schema);

}  // namespace hearth::text::grammar::schema
