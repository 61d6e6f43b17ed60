#include "core/text/bytes.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

using Two = std::pair<std::string, std::string>;

TEST(Bytes, different_sizes_print_differently) {
  EXPECT_EQ(in_gigabytes(2'304'000'000, 1'500'000'000), Two("2.30", "1.50"));
  EXPECT_EQ(in_gigabytes(1'904'000'000, 1'898'000'000), Two("1.904", "1.898"));
  EXPECT_EQ(in_gigabytes(1'900'000'001, 1'900'000'000), Two("1.900000001", "1.900000000"));
  EXPECT_EQ(in_gigabytes(7'000'000, 7'000'000), Two("0.01", "0.01"));
  EXPECT_EQ(in_gigabytes(0, 1), Two("0.000000000", "0.000000001"));
}

}  // namespace
}  // namespace hearth
