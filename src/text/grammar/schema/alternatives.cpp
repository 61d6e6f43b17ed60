#include "text/grammar/schema/alternatives.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace hearth::text::grammar::schema {

constexpr size_t max_alternatives = 512, max_path = 200;

// Each of `with` together with each of `other`.
void Alternatives::combine(const Json& schema, const char* keyword, std::vector<All>& with, const std::vector<All>& other) {
  if (with.size() * other.size() > max_alternatives)
    document_.refuse(schema, keyword,
                     "together with what stands beside it there are more than " + std::to_string(max_alternatives) + " alternatives");
  std::vector<All> out;
  for (const All& a : with) {
    for (const All& b : other) {
      All both = a;
      for (const Json* s : b) {
        if (std::find(both.begin(), both.end(), s) == both.end()) both.push_back(s);
      }
      out.push_back(std::move(both));
    }
  }
  with = std::move(out);
}

std::vector<All> Alternatives::of(const All& schemas) {
  std::vector<All> out{{}};
  for (const Json* s : schemas) combine(*s, "allOf", out, of_one(*s));
  return out;
}

std::vector<All> Alternatives::of_branches(const Json& schema, const char* keyword, const Json& branches) {
  std::vector<std::vector<All>> each;
  for (const Json& branch : branches) each.push_back(of_one(branch));
  if (std::string_view(keyword) == "oneOf" && !proving_) {
    proving_ = true;
    const auto path = std::exchange(path_, {});
    for (size_t i = 0; i < each.size(); ++i) {
      for (size_t j = i + 1; j < each.size(); ++j) {
        for (const All& a : each[i]) {
          for (const All& b : each[j]) {
            All first{&schema}, second{&schema};
            first.insert(first.end(), a.begin(), a.end());
            second.insert(second.end(), b.begin(), b.end());
            if (!disjoint_(first, second))
              document_.refuse(schema, keyword,
                               "branches " + std::to_string(i) + " and " + std::to_string(j) +
                                   " may both hold, expected branches that exclude each other, or anyOf");
          }
        }
      }
    }
    path_ = path;
    proving_ = false;
  }
  std::vector<All> out;
  for (const auto& list : each) out.insert(out.end(), list.begin(), list.end());
  return out;
}

std::vector<All> Alternatives::of_one(const Json& schema) {
  document_.check(schema);
  if (schema.is_boolean()) return schema.get<bool>() ? std::vector<All>{{}} : std::vector<All>{};
  if (path_.size() > max_path) document_.refuse(schema, "$ref", "references lead to references more than 200 times");
  if (std::find(path_.begin(), path_.end(), &schema) != path_.end())
    document_.refuse(schema, "$ref", "it leads back to itself without a value in between");
  path_.push_back(&schema);
  std::vector<All> out{{&schema}};
  if (const Json* ref = document_.find(schema, "$ref"))
    combine(schema, "$ref", out, of_one(document_.resolve(schema, ref->get<std::string>())));
  if (const Json* all = document_.find(schema, "allOf")) {
    for (const Json& part : *all) combine(schema, "allOf", out, of_one(part));
  }
  for (const char* keyword : {"anyOf", "oneOf"}) {
    if (const Json* branches = document_.find(schema, keyword)) combine(schema, keyword, out, of_branches(schema, keyword, *branches));
  }
  path_.pop_back();
  return out;
}

}  // namespace hearth::text::grammar::schema
