#include "api/debug/profile.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/backend_test.h"

namespace hearth::api {
namespace {

using Json = nlohmann::json;

Json find(const Json& rows, const char* name, const std::string& what, const std::string& phase) {
  for (const Json& row : rows)
    if (row.at(name) == what && row.at("phase") == phase) return row;
  ADD_FAILURE() << "no row '" << what << "' of " << phase << " in " << rows.dump(1);
  return {};
}

double sum(const Json& rows, const std::string& phase) {
  double seconds = 0;
  for (const Json& row : rows)
    if (row.at("phase") == phase) seconds += row.at("seconds").get<double>();
  return seconds;
}

BACKEND_TEST(Profile, every_instant_is_counted_once_on_each_side) {
  const Tensor x = Tensor::empty(device, {1});
  const auto op = [&](const char* name, double seconds, double flop, DType factors, int64_t bytes) {
    return OpEvent{.op = name, .weight = "", .x = x, .y = x, .seconds = seconds, .flop = flop, .factors = factors, .bytes = bytes};
  };
  Profile p(Ceilings{.matrix_gflops = 1, .bf16_gflops = 4, .read_gbs = 2});
  p.op(op("linear", 1, 1e9, DType::f32, 8), 1);  // before the first phase: not counted
  p.begin_phase("encode", 10);
  p.op(op("embedding", 1, 0, DType::f32, 1'000'000'000), 12);  // 1 s before it
  p.begin_phase("sample", 13);                                 // and 1 s after it
  p.enter("outer", 14);
  p.enter("inner", 16);
  p.op(op("linear", 3, 1.5e9, DType::f32, 8), 20);
  p.leave(21);
  p.begin_phase("sample", 21.5);                          // continues
  p.op(op("copy", 1, 0, DType::f32, 2'000'000'000), 24);  // within the next op, which started at 22
  p.op(op("conv2d", 4, 8e9, DType::bf16, 8), 26);
  p.debugging(29);
  p.leave(30);
  p.op(op("linear", 2, 1e9, DType::f32, 8), 32);
  p.end(33);
  p.op(op("linear", 1, 1e9, DType::f32, 8), 40);
  p.leave(41);

  const Json report = p.report(), ops = report.at("ops"), blocks = report.at("blocks");
  EXPECT_EQ(report.at("phases"), (Json{{{"phase", "encode"}, {"wall_seconds", 3.0}}, {{"phase", "sample"}, {"wall_seconds", 20.0}}}));
  for (const Json& phase : report.at("phases"))
    for (const Json& rows : {ops, blocks}) EXPECT_EQ(sum(rows, phase.at("phase")), phase.at("wall_seconds")) << rows.dump(1);

  const auto seconds_of = [&](const char* what) { return find(ops, "op", what, "sample").at("seconds"); };
  EXPECT_EQ(seconds_of("linear"), 5.0);
  EXPECT_EQ(seconds_of("copy"), 1.0);
  EXPECT_EQ(seconds_of("conv2d"), 2.0);
  EXPECT_EQ(seconds_of("debugging"), 3.0);
  EXPECT_EQ(seconds_of("between operations"), 9.0);
  EXPECT_EQ(find(ops, "op", "linear", "sample").at("calls"), 2);
  EXPECT_EQ(find(ops, "op", "linear", "sample").at("gflop"), 2.5);
  EXPECT_EQ(find(ops, "op", "linear", "sample").at("fraction"), 0.5);
  EXPECT_EQ(find(ops, "op", "conv2d", "sample").at("fraction"), 1.0);  // 8 GFLOP in 2 s, at most 4 GFLOP/s
  EXPECT_EQ(find(ops, "op", "embedding", "encode").at("gbs"), 1.0);
  EXPECT_EQ(find(ops, "op", "embedding", "encode").at("fraction"), 0.5);
  EXPECT_FALSE(find(ops, "op", "linear", "sample").contains("gbs"));
  EXPECT_FALSE(find(ops, "op", "between operations", "sample").contains("fraction"));

  const Json inner = find(blocks, "block", "inner", "sample"), outer = find(blocks, "block", "outer", "sample");
  EXPECT_EQ(inner.at("seconds"), 5.0);
  EXPECT_EQ(inner.at("whole_seconds"), 5.0);
  EXPECT_EQ(inner.at("fraction"), 0.3);
  EXPECT_EQ(outer.at("seconds"), 8.0);
  EXPECT_EQ(outer.at("whole_seconds"), 13.0);  // without the debugging time
  EXPECT_EQ(outer.at("gflop"), 8.0);
  EXPECT_EQ(outer.at("calls"), 1);
  EXPECT_EQ(find(blocks, "block", "outside the blocks", "sample").at("seconds"), 4.0);
  EXPECT_EQ(find(blocks, "block", "debugging", "sample").at("seconds"), 3.0);
}

BACKEND_TEST(Profile, a_product_of_few_rows_is_bound_by_reading_its_weight) {
  const Tensor x = Tensor::empty(device, {1});
  const auto product = [&](const char* name, double seconds, double flop, int64_t weight) {
    return OpEvent{.op = name, .weight = "w", .x = x, .y = x, .seconds = seconds, .flop = flop, .bytes = 8, .weight_bytes = weight};
  };
  for (const bool known : {true, false}) {
    Profile p(known ? std::optional(Ceilings{.matrix_gflops = 1, .bf16_gflops = 4, .read_gbs = 2}) : std::nullopt);
    p.begin_phase("decode", 0);
    p.op(product("linear", 1, 0.25e9, 1'000'000'000), 1);
    p.op(product("linear", 1, 0.25e9, 2'000'000'000), 2);
    p.op(product("both", 1, 0.25e9, 1'000'000'000), 3);
    p.op(product("both", 1, 0.75e9, 1'000'000'000), 4);
    p.end(4);
    const Json ops = p.report().at("ops"), linear = find(ops, "op", "linear", "decode"), both = find(ops, "op", "both", "decode");
    EXPECT_FALSE(both.contains("gbs"));
    EXPECT_EQ(linear.contains("gbs"), known);
    EXPECT_EQ(linear.contains("fraction"), known);
    if (!known) continue;
    EXPECT_EQ(linear.at("gbs"), 1.5);
    EXPECT_EQ(linear.at("fraction"), 0.75);
    EXPECT_EQ(both.at("fraction"), 0.625);
  }
}

BACKEND_TEST(Profile, a_block_left_open_ends_with_its_phase) {
  Profile p;
  p.begin_phase("sample", 0);
  p.enter("block", 1);
  p.begin_phase("decode", 3);
  p.end(4);
  p.begin_phase("sample", 5);  // starts again
  p.end(7);
  const Json report = p.report();
  EXPECT_FALSE(report.contains("ceilings"));
  EXPECT_EQ(find(report.at("blocks"), "block", "block", "sample").at("whole_seconds"), 2.0);
  EXPECT_EQ(sum(report.at("blocks"), "sample"), 5.0);
  EXPECT_EQ(report.at("phases")[0].at("wall_seconds"), 5.0);
  EXPECT_EQ(sum(report.at("ops"), "decode"), 1.0);
}

}  // namespace
}  // namespace hearth::api
