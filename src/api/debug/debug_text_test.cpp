#include "api/debug/debug_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hearth::api {
namespace {

TEST(DebugText, slowest_first_with_share_rate_and_fraction) {
  const auto debug = nlohmann::json::parse(R"({"timing": {
    "ceilings": {"matrix_gflops": 492.25, "bf16_gflops": 0, "read_gbs": 46},
    "phases": [{"phase": "encode", "wall_seconds": 0.5}, {"phase": "sample", "wall_seconds": 1.5}],
    "ops": [{"phase": "encode", "op": "linear", "calls": 2, "seconds": 0.5, "gflop": 10, "fraction": 0.25},
            {"phase": "sample", "op": "group_norm", "calls": 30, "seconds": 1.5, "gflop": 0, "gbs": 23, "fraction": 0.5}],
    "blocks": [{"phase": "sample", "block": "mid_block", "calls": 4, "seconds": 0.25, "whole_seconds": 1.5, "gflop": 1}]},
    "shapes": ["sample: linear [2, 3] → [2, 4], 7 times"]})");
  EXPECT_EQ(debug_text(debug),
            "ceilings, measured now: 492.2 GFLOP/s, reads 46.0 GB/s\n"
            "wall seconds: encode 0.5000 sample 1.5000; in each table the rows of a phase add up to these\n"
            "phase    op            calls    seconds  share       GB/s   GFLOP/s of ceiling\n"
            "sample   group_norm       30     1.5000  75.0%       23.0                 0.50\n"
            "encode   linear            2     0.5000  25.0%                 20.0       0.25\n"
            "\n"
            "phase    block        calls    seconds  share      whole   GFLOP/s of ceiling\n"
            "sample   mid_block        4     0.2500 100.0%     1.5000       4.0           \n"
            "sample: linear [2, 3] → [2, 4], 7 times");
  EXPECT_EQ(debug_text(nlohmann::json::object()), "");
}

TEST(DebugText, no_time_and_short_names) {
  const auto debug = nlohmann::json::parse(R"({"timing": {
    "ceilings": {"matrix_gflops": 1, "bf16_gflops": 2, "read_gbs": 3},
    "ops": [{"phase": "encode", "op": "gelu", "calls": 1, "seconds": 0, "gflop": 1}],
    "blocks": [{"phase": "encode", "block": "mid", "calls": 1, "seconds": 0, "whole_seconds": 0}]}})");
  EXPECT_EQ(debug_text(debug),
            "ceilings, measured now: 1.0 GFLOP/s, of bf16 factors 2.0, reads 3.0 GB/s\n"
            "phase    op      calls    seconds  share       GB/s   GFLOP/s of ceiling\n"
            "encode   gelu        1     0.0000   0.0%                                \n"
            "\n"
            "phase    block    calls    seconds  share      whole   GFLOP/s of ceiling\n"
            "encode   mid          1     0.0000   0.0%     0.0000                     ");
}

}  // namespace
}  // namespace hearth::api
