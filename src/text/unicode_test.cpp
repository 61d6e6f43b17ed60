#include "text/unicode.h"

#include <gtest/gtest.h>

namespace hearth::text {
namespace {

TEST(Unicode, classes) {
  for (const char32_t c : {U'\x1c', U'\x1f', U' ', U'\u2029'}) EXPECT_TRUE(is_python_space(c)) << uint32_t(c);
  for (const char32_t c : {U'\x1b', U'a', U'\u200b'}) EXPECT_FALSE(is_python_space(c)) << uint32_t(c);
  for (const char32_t c : {U'a', U'_', U'\u0301', U'\u0663', U'\u200d'}) EXPECT_TRUE(is_word_character(c)) << uint32_t(c);
  for (const char32_t c : {U'-', U' ', U'\u00bd', U'\u200b'}) EXPECT_FALSE(is_word_character(c)) << uint32_t(c);
}

}  // namespace
}  // namespace hearth::text
