#include "ops/trace.h"

#include <functional>

#include "core/memory.h"
#include "ops/attention.h"
#include "ops/conv.h"
#include "ops/delta_rule.h"
#include "ops/linear_attention.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "ops/pool.h"
#include "ops/recurrence.h"
#include "ops/rope.h"
#include "ops/select.h"
#include "ops/shape_ops.h"
#include "ops/spec_test.h"

namespace hearth {
namespace {

struct Record : Observer {
  bool watches_dry_runs() const override { return true; }
  void on_op(const OpEvent& e) override {
    reported += fmt::format("{} '{}' {} {} {}\n", e.op, e.weight, e.x.shape(), e.y.shape(), e.flop);
    seconds += e.seconds;
    bytes += e.bytes;
    factors = e.factors;
    y = e.y;
  }
  std::string reported;
  double seconds = 0;
  int64_t bytes = 0;
  DType factors = DType::f32;
  Tensor y;
};

struct Call {
  std::string reported;
  std::function<Tensor()> op;
};

std::vector<Call> calls(Backend& device) {
  test::Random random(61);
  const Weight matrix = random.weight(device, {6, 10}, WeightKind::linear, {.hold = DType::f32}).device;
  const Weight kernel = random.weight(device, {4, 3, 3, 2}, WeightKind::conv, {.hold = DType::f32}).device;
  const Tensor x = Tensor::zeros(device, {2, 5, 7, 10}), image = Tensor::zeros(device, {2, 5, 7, 3}), c = Tensor::zeros(device, {10}),
               q = Tensor::zeros(device, {2, 5, 3, 8}), k = Tensor::zeros(device, {2, 7, 3, 8}),
               half = Tensor::zeros(device, {2, 5}, DType::f16);
  const std::vector<int32_t> ids(6, 1);
  const auto norm_of = [&device](int64_t C) {
    return GroupNormSpec{.groups = 1, .gamma = Tensor::zeros(device, {C}), .beta = Tensor::zeros(device, {C})};
  };
  return {
      {"linear 'w' [2, 5, 7, 10] [2, 5, 7, 6] 8400\n", [=] { return ops::linear(x, matrix); }},                  // 2 · 420 · 10
      {"conv2d 'w' [2, 5, 7, 3] [2, 3, 6, 4] 5184\n", [=] { return ops::conv(image, kernel, {}, {}); }},         // 2 · 144 · 18
      {"attention '' [2, 5, 3, 8] [2, 5, 3, 8] 6720\n", [=] { return ops::attention(q, k, k, {.scale = 1}); }},  // 4 · 6 · 5 · 7 · 8
      {"group_norm '' [2, 5, 7, 10] [2, 5, 7, 10] 0\n", [=] { return ops::group_norm(x, {.groups = 5, .gamma = c, .beta = c}); }},
      {"layer_norm '' [2, 5, 7, 10] [2, 5, 7, 10] 0\n", [=] { return ops::layer_norm(x, {.gamma = c, .beta = c}); }},
      {"activate '' [2, 5] [2, 5] 0\n", [=] { return ops::activate(half, Activation::relu); }},
      {"group_norm+linear 'w' [2, 5, 7, 10] [2, 5, 7, 6] 8400\n", [=] { return ops::linear(x, matrix, {}, {}, norm_of(10)); }},
      {"group_norm+conv2d 'w' [2, 5, 7, 3] [2, 3, 6, 4] 5184\n", [=] { return ops::conv(image, kernel, {}, {}, {}, norm_of(3)); }},
      {"linear_combination '' [2, 5] [2, 5] 0\n", [=] { return ops::add(half, half); }},
      {"copy '' [2, 5] [2, 5] 0\n", [=] { return ops::cast(half, DType::bf16); }},
      {"copy '' [10, 2, 5, 7] [10, 2, 5, 7] 0\n",
       [=] {
         return ops::contiguous(x.permute({3, 0, 1, 2}));
       }},
      {"concat '' [2, 5] [2, 10] 0\n",
       [=] {
         return ops::concat({half, half}, 1);
       }},
      {"concat '' [2, 5] [6, 5] 0\n", [=] { return ops::repeat_batch(half, 3); }},
      {"resize_nearest '' [2, 5, 7, 10] [2, 4, 3, 10] 0\n", [=] { return ops::resize_nearest(x, 4, 3); }},
      {"embedding '' [2, 5] [6, 5] 0\n", [=] { return ops::embedding(ids, half); }},
      {"", [=] { return ops::contiguous(half); }},  // no op if nothing changes
      {"", [=] { return ops::cast(half, DType::f16); }},
      {"", [=] { return ops::repeat_batch(half, 1); }},
  };
}

// Calls that a backend may refuse. Flop of a product: 2 · values of y · terms of each sum; of a transposed convolution: 2 · values of x ·
// values of y that each contributes to.
std::vector<Call> further_calls(Backend& device) {
  const auto zeros = [&](const Shape& shape, DType dtype = DType::f32) { return Tensor::zeros(device, shape, dtype); };
  const auto conv = [&](const Shape& x, const Shape& w, WeightKind kind, int64_t groups) {
    const std::vector<float> values(size_t(w.numel()));
    return [=, &device, x = zeros(x)] { return ops::conv(x, test::weight_of(device, w, values, kind, groups), {}, {}); };
  };
  const Tensor q = zeros({2, 5, 6, 8}), k = zeros({2, 7, 3, 8}), v = zeros({2, 7, 3, 4}), x = zeros({2, 5, 10}),
               rows = Tensor::from(device, {3}, std::vector<int32_t>{0, 1, 1}), table = zeros({4, 6}), few = zeros({3, 6}, DType::f16);
  std::vector<Call> all{
      {"conv2d 'w' [2, 5, 7, 6] [2, 3, 6, 4] 5184\n", conv({2, 5, 7, 6}, {4, 3, 3, 2}, WeightKind::conv, 2)},              // 144 · 18
      {"conv2d 'w' [2, 5, 7, 6] [2, 7, 8, 8] 20160\n", conv({2, 5, 7, 6}, {6, 4, 3, 2}, WeightKind::conv_transposed, 2)},  // 420 · 24
      {"attention '' [2, 5, 6, 8] [2, 5, 6, 4] 10080\n", [=] { return ops::attention(q, k, v, {}); }},  // 60 · 7 · (8 + 4)
      {"cached_attention '' [2, 6, 8] [2, 6, 4] 1728\n",                                                // 12 · 6 · (8 + 4)
       [=, one = zeros({2, 6, 8}), ck = zeros({9, 3, 8}), cv = zeros({9, 3, 4})] {
         return ops::cached_attention(one, {.k = ck, .v = cv, .first = 4}, {});
       }},
      {"cached_attention '' [2, 6, 8] [2, 6, 4] 864\n",  // 12 · 3 · (8 + 4)
       [=, one = zeros({2, 6, 8}), ck = zeros({9, 3, 8}), cv = zeros({9, 3, 4})] {
         return ops::cached_attention(one, {.k = ck, .v = cv, .first = 4, .window = 3}, {});
       }},
      {"rms_norm '' [2, 5, 10] [2, 5, 10] 0\n", [=, scale = zeros({2, 10})] { return ops::rms_norm(x, {.scale = scale}); }},
      {"delta_rule '' [4, 2, 3] [4, 2, 3] 360\n",  // 4 · 2 · 3 · 3, 5 each
       [=, three = zeros({4, 2, 3}), decay = zeros({4, 2}), state = zeros({2, 3, 3})] {
         return ops::delta_rule({.q = three, .k = three, .v = three, .decay = decay}, state);
       }},
      {"linear_attention '' [2, 5, 3, 8] [2, 5, 3, 4] 5760\n",  // 2 · 2 · 3 · 8 · (4 + 1) · (5 + 7)
       [=, q3 = zeros({2, 5, 3, 8})] { return ops::linear_attention(q3, k, v, 1); }},
      {"add_weighted '' [4, 2, 3] [4, 2, 3] 0\n",
       [=, three = zeros({4, 2, 3}), u = zeros({2, 3})] { return ops::add_weighted(three, three, three, u, three); }},
      {"gated_scan '' [4, 6] [4, 6] 0\n", [=, state = zeros({6})] { return ops::gated_scan(table, table, state, true); }},
      {"multiply '' [2, 5, 10] [2, 5, 10] 0\n", [=] { return ops::multiply(x, x); }},
      {"affine '' [2, 5, 10] [2, 5, 10] 0\n", [=] { return ops::affine(x, {}, {}); }},
      {"rope '' [2, 5, 6, 8] [2, 5, 6, 8] 0\n", [=, turns = zeros({1, 5, 1, 2, 3})] { return ops::rope(q, turns, RotaryPairs::halves); }},
      {"pool '' [2, 5, 10] [2, 4, 10] 0\n", [=] { return ops::pool(x, {.columns = {.size = 2}}); }},
      {"top_k '' [2, 5, 10] [2, 5, 3] 0\n", [=] { return ops::top_k(x, 3).values; }},
      {"gather '' [4, 6] [3, 6] 0\n", [=] { return ops::gather(table, rows); }},
      {"scatter_add '' [3, 6] [4, 6] 0\n", [=] { return ops::scatter_add(table, few, rows); }},
      {"causal_conv '' [4, 6] [4, 6] 144\n",  // 24 · 3
       [=, taps = zeros({3, 6}), tail = zeros({2, 6})] { return ops::causal_conv(table, taps, {}, tail); }},
      {"selective_scan '' [4, 6] [4, 6] 720\n",  // 24 · 5 · 3
       [=, a = zeros({5, 6}), b = zeros({4, 5})] { return ops::selective_scan(table, table, a, b, b, {}, a); }},
      {"state_space_scan '' [4, 6] [4, 6] 720\n",
       [=, a = zeros({3}), dt = zeros({4, 3}), b = zeros({4, 5}), state = zeros({3, 5, 2})] {
         return ops::state_space_scan(table, dt, b, b, {.a = a}, state);
       }},
  };
  all.push_back({"conv1d 'w' [2, 5, 3] [2, 3, 4] 432\n", conv({2, 5, 3}, {4, 3, 3}, WeightKind::conv, 1)});  // 24 · 9
  all.push_back(
      {"conv3d 'w' [1, 4, 5, 6, 2] [1, 3, 3, 5, 4] 8640\n", conv({1, 4, 5, 6, 2}, {4, 2, 2, 3, 2}, WeightKind::conv, 1)});  // 180 · 24
  return all;
}

BACKEND_TEST(Trace, optional_ops_report_themselves) {
  for (const Call& call : further_calls(device))
    test::supported(device, [&] {
      Record record;
      const ObserverScope watch(record);
      const Tensor y = call.op();
      EXPECT_EQ(record.reported, call.reported);
      EXPECT_EQ(&record.y.storage(), &y.storage()) << call.reported;
    });
}

BACKEND_TEST(Trace, a_dry_run_reports_what_a_run_would) {
  MemoryLedger ledger;
  const auto dry = device.dry_twin(ledger);
  for (const auto& some : {calls(*dry), further_calls(*dry)})
    for (const Call& call : some)
      test::supported(*dry, [&] {
        Record record;
        const ObserverScope watch(record);
        call.op();
        EXPECT_EQ(record.reported, call.reported);
      });
}

BACKEND_TEST(Trace, every_op_reports_itself) {
  for (const Call& call : calls(device)) {
    Record record;
    const auto start = std::chrono::steady_clock::now();
    const Tensor y = [&] {
      const ObserverScope watch(record);
      return call.op();
    }();
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ASSERT_EQ(record.reported, call.reported);
    if (call.reported.empty()) continue;
    EXPECT_EQ(&record.y.storage(), &y.storage()) << call.reported;
    EXPECT_GE(record.seconds, 0) << call.reported;
    EXPECT_LE(record.seconds, elapsed) << call.reported;
  }
}

BACKEND_TEST(Trace, bytes_are_those_of_all_inputs_and_the_output) {
  const Tensor half = Tensor::zeros(device, {2, 5}, DType::f16), q = Tensor::zeros(device, {1, 4, 2, 8}),
               k = Tensor::zeros(device, {1, 3, 2, 8}), table = Tensor::zeros(device, {100, 5}), bias = Tensor::zeros(device, {1, 2, 4, 3}),
               ring = Tensor::zeros(device, {6, 1, 8}), thin = Tensor::zeros(device, {3, 5}, DType::f16),
               rows = Tensor::from(device, {3}, std::vector<int32_t>{0, 1, 1});
  const auto zeros = [&](const Shape& shape) { return Tensor::zeros(device, shape); };
  const std::vector<int32_t> ids(6, 1);
  const std::pair<int64_t, std::function<Tensor()>> calls[] = {
      {20 + 20, [=] { return ops::activate(half, Activation::relu); }},
      {4 * (3 * 24 + 8 + 18 + 24),
       [=, three = Tensor::zeros(device, {4, 2, 3}), decay = Tensor::zeros(device, {4, 2}), state = Tensor::zeros(device, {2, 3, 3})] {
         return ops::delta_rule({.q = three, .k = three, .v = three, .decay = decay}, state);
       }},
      {4 * (2 * 500 + 5 + 500), [=, state = Tensor::zeros(device, {5})] { return ops::gated_scan(table, table, state, true); }},
      {20 + 40, [=] { return ops::cast(half, DType::f32); }},
      {4 * 20,
       [=] {
         return ops::linear_combination({half, half, half}, {1, 2, 3});
       }},
      {60 + 60,
       [=] {
         return ops::concat({half, half, half}, 0);
       }},
      {4 * (64 + 48 + 48 + 64), [=] { return ops::attention(q, k, k, {.scale = 1}); }},
      {4 * (30 + 30), [=] { return ops::embedding(ids, table); }},
      {4 * (64 + 48 + 24 + 24 + 32), [=] { return ops::attention(q, k, k.slice(3, 0, 4), {.bias = bias}); }},
      {4 * (64 + 80 + 64),
       [=] {
         return ops::cached_attention(q.view({4, 2, 8}), {.k = ring, .v = ring, .first = 1}, {});
       }},
      {3 * 4 * 500, [=] { return ops::multiply(table, table); }},
      {4 * (500 + 200 + 200), [=] { return ops::top_k(table, 2).values; }},  // values and columns
      {4 * (15 + 15), [=] { return ops::gather(table, rows); }},
      {4 * (500 + 500) + 30, [=] { return ops::scatter_add(table, thin, rows); }},
      {4 * (500 + 500 + 15 + 10), [=, taps = zeros({3, 5}), tail = zeros({2, 5})] { return ops::causal_conv(table, taps, {}, tail); }},
      {4 * (3 * 500 + 400 + 20), [=, a = zeros({2, 5}), b = zeros({100, 2})] { return ops::selective_scan(table, table, a, b, b, {}, a); }},
  };
  for (const auto& [bytes, op] : calls)
    test::supported(device, [&] {
      Record record;
      const ObserverScope watch(record);
      op();
      EXPECT_EQ(record.bytes, bytes) << record.reported;
    });
}

BACKEND_TEST(Trace, products_report_their_factors) {
  if (!device.multiplies_bf16()) GTEST_SKIP() << "no products of bf16 factors";
  test::Random random(62);
  const WeightForm form{.hold = DType::bf16, .factors = DType::bf16};
  const Weight matrix = random.weight(device, {6, 10}, WeightKind::linear, form).device;
  const Weight kernel = random.weight(device, {4, 3, 3, 2}, WeightKind::conv, form).device;
  const Tensor q = Tensor::zeros(device, {2, 5, 3, 8});
  const std::function<Tensor()> calls[] = {[&] {
                                             return ops::linear(Tensor::zeros(device, {2, 10}), matrix);
                                           },
                                           [&] {
                                             return ops::conv(Tensor::zeros(device, {2, 5, 7, 3}), kernel, {}, {});
                                           },
                                           [&] { return ops::attention(q, q, q, {.scale = 1, .factors = DType::bf16}); }};
  for (const auto& op : calls) {
    Record record;
    const ObserverScope watch(record);
    op();
    EXPECT_EQ(record.factors, DType::bf16) << record.reported;
  }
}

BACKEND_TEST(Trace, every_op_stops_a_canceled_run) {
  for (const auto& some : {calls(device), further_calls(device)})
    for (const Call& call : some) {
      if (call.reported.empty()) continue;
      const std::atomic<bool> flag = true;
      const CancelScope scope(flag);
      EXPECT_THROW(call.op(), Canceled) << call.reported;
    }
}

}  // namespace
}  // namespace hearth
