#include "weights/name_pattern.h"

#include <gtest/gtest.h>

#include <vector>

namespace hearth {
namespace {

TEST(NamePattern, a_star_matches_any_characters) {
  for (const auto& [pattern, name] :
       std::vector<std::pair<const char*, const char*>>{{"a.b", "a.b"},
                                                        {"*", ""},
                                                        {"*", "a.b"},
                                                        {"*.position_ids", "text_model.embeddings.position_ids"},
                                                        {"a*c", "ac"},
                                                        {"a*c", "abcbc"},
                                                        {"*b*", "abc"},
                                                        {"a**", "a"},
                                                        {"a*b*c", "aXbYbZc"}})
    EXPECT_TRUE(matches(pattern, name)) << pattern << " " << name;
  for (const auto& [pattern, name] : std::vector<std::pair<const char*, const char*>>{{"a.b", "a.b.c"},
                                                                                      {"a.b", "x.a.b"},
                                                                                      {"", "a"},
                                                                                      {"a", ""},
                                                                                      {"*.position_ids", "position_ids"},
                                                                                      {"a*c", "acb"},
                                                                                      {"a*b*c", "aXbY"},
                                                                                      {"a.b", "aXb"}})
    EXPECT_FALSE(matches(pattern, name)) << pattern << " " << name;
  EXPECT_TRUE(matches_any(std::vector<std::string>{"a", "b*"}, "bc"));
  EXPECT_FALSE(matches_any({}, "bc"));
}

}  // namespace
}  // namespace hearth
