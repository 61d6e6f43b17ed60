#include "cli/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hearth::cli {
namespace {

TEST(JsonText, a_member_of_json_text_comes_last) {
  EXPECT_EQ(with_member({{"b", 1}, {"a", "\xff"}}, "runs", "[{\"x\":1.0}]"), "{\"b\":1,\"a\":\"\uFFFD\",\"runs\":[{\"x\":1.0}]}");
  EXPECT_EQ(with_member(nlohmann::ordered_json::object(), "a\"b", "null"), "{\"a\\\"b\":null}");
}

}  // namespace
}  // namespace hearth::cli
