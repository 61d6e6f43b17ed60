#include "core/error.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(Error, a_message_is_one_line_for_any_tensor_name) {
  try {
    fail<WeightError>("weights: '{}' is missing", std::string("a\nb\t\x1b[2J\x7f\0ü", 12));
  } catch (const WeightError& e) { EXPECT_STREQ(e.what(), "weights: 'a\\nb\\t\\x1b[2J\\x7f\\x00ü' is missing"); }
  EXPECT_EQ(one_line("plain ü"), "plain ü");
}

}  // namespace
}  // namespace hearth
