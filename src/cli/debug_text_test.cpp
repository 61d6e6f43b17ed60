#include "cli/debug_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hearth::cli {
namespace {

TEST(DebugText, slowest_first_with_share_and_rate) {
  const auto debug = nlohmann::ordered_json::parse(R"({"timing": {
    "ops": [{"phase": "encode", "op": "linear", "calls": 2, "seconds": 0.5, "gflop": 10},
            {"phase": "sample", "op": "group_norm", "calls": 30, "seconds": 1.5, "gflop": 0}],
    "blocks": [{"phase": "sample", "block": "mid_block", "calls": 4, "seconds": 0.25}]},
    "shapes": ["sample: linear [2, 3] → [2, 4], 7 times"]})");
  EXPECT_EQ(debug_text(debug),
            "phase    op            calls    seconds  share   GFLOP/s\n"
            "sample   group_norm       30     1.5000  75.0%          \n"
            "encode   linear            2     0.5000  25.0%      20.0\n"
            "\n"
            "phase    block        calls    seconds  share   GFLOP/s\n"
            "sample   mid_block        4     0.2500 100.0%          \n"
            "sample: linear [2, 3] → [2, 4], 7 times");
  EXPECT_EQ(debug_text(nlohmann::ordered_json::object()), "");
}

TEST(DebugText, no_time_and_short_names) {
  const auto debug = nlohmann::ordered_json::parse(R"({"timing": {
    "ops": [{"phase": "encode", "op": "gelu", "calls": 1, "seconds": 0, "gflop": 1}],
    "blocks": [{"phase": "encode", "block": "mid", "calls": 1, "seconds": 0}]}})");
  EXPECT_EQ(debug_text(debug),
            "phase    op      calls    seconds  share   GFLOP/s\n"
            "encode   gelu        1     0.0000   0.0%          \n"
            "\n"
            "phase    block    calls    seconds  share   GFLOP/s\n"
            "encode   mid          1     0.0000   0.0%          ");
}

}  // namespace
}  // namespace hearth::cli
