// Where ops of a split backend run, what they move, and what they leave in memory. That each op computes what it should on operands of both
// sides is tested by every BACKEND_TEST ("split").
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "backends/backends.h"
#include "backends/split/split_backend.h"
#include "core/memory.h"
#include "core/on_host.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "ops/select.h"
#include "ops/shape_ops.h"
#include "support/complaint.h"
#include "support/detached_backend.h"

namespace hearth::split {
namespace {

std::vector<float> counted(int64_t n, float first = 0) {
  std::vector<float> values;
  values.resize(size_t(n));
  std::iota(values.begin(), values.end(), first);
  return values;
}

struct SplitTest : ::testing::Test {
  SplitTest() : both(make_split_backend(test::make_detached_backend({.at_once = true}))) {}

  // n × n, twice the identity.
  Weight doubling(int64_t n, Side side) {
    Tensor w = Tensor::zeros(both->host(), {n, n});
    for (int64_t i = 0; i < n; ++i) w.data<float>()[i * n + i] = 2;
    const SideScope scope(side);
    return {.name = "w", .shape = w.shape(), .prepared = both->prepare(w, WeightKind::linear, {}), .backend = both.get()};
  }
  Tensor uploaded(const Shape& shape, std::optional<Side> side = {}) {
    const SideScope scope(side);
    return Tensor::from(*both, shape, counted(shape.numel()));
  }
  int64_t on_card() { return both->card().ledger().use().now; }
  int64_t on_host() { return both->host().ledger().use().now; }
  // What was moved since the last call.
  SplitTransfers moved() {
    const SplitTransfers before = std::exchange(last, both->transfers());
    return {last.up - before.up, last.down - before.down, last.bytes_up - before.bytes_up, last.bytes_down - before.bytes_down};
  }
  void expect_moved(int64_t up, int64_t down) {
    const SplitTransfers m = moved();
    EXPECT_EQ(m.up, up);
    EXPECT_EQ(m.down, down);
  }

  std::unique_ptr<SplitBackend> both;
  SplitTransfers last;
};

TEST_F(SplitTest, a_product_is_computed_where_its_weight_is) {
  const Weight card = doubling(4, Side::card), host = doubling(4, Side::host);
  Tensor x = uploaded({3, 4});
  expect_moved(0, 0);
  x = ops::linear(x, card);
  expect_moved(1, 0);
  x = ops::linear(x, card);
  expect_moved(0, 0);
  x = ops::linear(x, host);
  expect_moved(0, 1);
  x = ops::activate(ops::linear(x, host), Activation::relu);
  expect_moved(0, 0);
  EXPECT_EQ(x.to_vector()[5], 80);
  expect_moved(0, 0);  // it is on the host already
  x = ops::linear(x, card);
  EXPECT_EQ(x.to_vector()[5], 160);
  const SplitTransfers m = moved();
  EXPECT_EQ(m.bytes_up, 48);
  EXPECT_EQ(m.bytes_down, 48);
}

TEST_F(SplitTest, products_with_weights_on_both_sides_are_computed_on_both) {
  const Weight card = doubling(4, Side::card), host = doubling(4, Side::host);
  const Tensor x = ops::linear(uploaded({3, 4}), card), none;
  moved();
  std::vector<Tensor> ys(3);
  ops::linears(x, std::vector<ops::LinearSpec>{{host, none, {}}, {card, none, {}}, {host, none, {}}}, ys);
  expect_moved(0, 1);
  for (const Tensor& y : ys) EXPECT_EQ(y.to_vector()[5], 20);
  expect_moved(0, 1);  // the result of the card
}

TEST_F(SplitTest, an_op_without_a_weight_is_computed_where_the_last_product_was) {
  const Weight card = doubling(4, Side::card), host = doubling(4, Side::host);
  const Tensor a = ops::linear(uploaded({3, 4}), card), b = ops::linear(uploaded({3, 4}), host);
  moved();
  const Tensor sum = ops::add(a, b);
  expect_moved(0, 1);
  ops::linear(sum, host);
  ops::add(a, b);  // both are here now
  expect_moved(0, 0);
  ops::linear(sum, card);
  expect_moved(1, 0);
  ops::add(a, b);
  expect_moved(1, 0);
}

TEST_F(SplitTest, the_scale_of_a_norm_decides_where_it_is_computed) {
  const Weight card = doubling(4, Side::card);
  const Tensor gamma = uploaded({4}, Side::host), x = ops::linear(uploaded({3, 4}), card);
  moved();
  const Tensor y = ops::rms_norm(x, {.gamma = gamma});
  expect_moved(0, 1);
  ops::add(x, y);
  expect_moved(0, 0);
}

TEST_F(SplitTest, what_was_only_uploaded_is_computed_on_the_host) {
  ops::linear(uploaded({3, 4}), doubling(4, Side::card));
  moved();
  const Tensor table = ops::concat({uploaded({3, 4}), ops::scaled(uploaded({2, 4}), 2, 1)}, 0);
  expect_moved(0, 0);
  EXPECT_EQ(table.to_vector()[12], 1);
  ops::linear(table, doubling(4, Side::card));
  expect_moved(1, 0);
}

TEST_F(SplitTest, memory_is_taken_where_it_is_used_and_freed_where_it_is_stale) {
  const int64_t card = on_card(), host = on_host(), size = 4096 + 64;
  Tensor x = Tensor::zeros(*both, {32, 32});
  EXPECT_EQ(on_card() + on_host(), card + host);
  Tensor y = Tensor::empty(*both, {32, 32});
  EXPECT_EQ(on_card() + on_host(), card + host);
  x = uploaded({32, 32});
  EXPECT_EQ(on_host(), host + size);
  const Weight w = doubling(32, Side::card);
  const int64_t with_weight = on_card();
  y = ops::linear(x, w);
  EXPECT_EQ(on_host(), host + size);
  EXPECT_EQ(on_card(), with_weight + 2 * size);
  both->fill(x, 1);  // what was there is gone
  EXPECT_EQ(on_host(), host);
  EXPECT_EQ(on_card(), with_weight + size);
  EXPECT_EQ(x.to_vector()[7], 1);
  EXPECT_EQ(on_host(), host + size);
  both->upload(Tensor::zeros(both->host(), {32, 32}), y);
  EXPECT_EQ(on_card(), with_weight);
  EXPECT_EQ(on_host(), host + 2 * size);
}

// Keys and values are written where the layer is, row by row.
TEST_F(SplitTest, a_part_is_written_where_the_rest_is) {
  const Tensor pages = Tensor::empty(*both, {5, 4});
  const Tensor on = ops::linear(uploaded({2, 4}), doubling(4, Side::card));
  ops::store(on, pages.slice(0, 0, 2));
  const Tensor off = ops::linear(uploaded({2, 4}), doubling(4, Side::host));
  moved();
  ops::store(off, pages.slice(0, 2, 4));
  expect_moved(1, 0);  // not the pages
  Tensor last = pages.slice(0, 4, 5);
  both->upload(Tensor::from(both->host(), {1, 4}, counted(4, 50)), last);
  const SplitTransfers m = moved();
  EXPECT_EQ(m.bytes_up, 16);
  EXPECT_EQ(m.down, 0);
  std::vector<float> values = pages.to_vector();
  EXPECT_EQ(values, (std::vector<float>{0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14, 50, 51, 52, 53}));
  Tensor two = pages.slice(0, 1, 3);
  both->fill(two, -1);
  expect_moved(0, 1);  // the pages that were read above
  values = pages.to_vector();
  EXPECT_EQ(values[3], 6);
  EXPECT_EQ(values[4], -1);
  EXPECT_EQ(values[11], -1);
  EXPECT_EQ(values[12], 8);
}

// A part of a tensor with one value, or of an uploaded one, does not lose the rest.
TEST_F(SplitTest, parts_of_filled_and_uploaded_tensors_keep_the_rest) {
  const Tensor on = ops::linear(uploaded({1, 4}), doubling(4, Side::card));
  for (Tensor x : {Tensor::filled(*both, {3, 4}, 7), uploaded({3, 4})}) {
    const float first = x.to_vector()[0], rest = x.to_vector()[11];
    ops::store(on, x.slice(0, 1, 2));
    const std::vector<float> values = x.to_vector();
    EXPECT_EQ(values[0], first);
    EXPECT_EQ(values[5], 2);
    EXPECT_EQ(values[11], rest);
  }
}

TEST_F(SplitTest, a_state_stays_where_its_layer_is) {
  Tensor state = Tensor::zeros(*both, {4, 4});
  const Tensor rows = Tensor::from(*both, {2}, std::vector<int32_t>{3, 1});
  for (const Side side : {Side::host, Side::card}) {
    const Weight w = doubling(4, side);
    Tensor own = Tensor::zeros(*both, {4, 4});
    for (int i = 0; i < 3; ++i) {
      const Tensor x = ops::linear(uploaded({2, 4}), w);
      both->scatter_add(x, rows, {}, own);
    }
    const SplitTransfers m = moved();
    EXPECT_EQ(m.bytes_up, side == Side::card ? 3 * 32 + 8 : 0);
    EXPECT_EQ(m.down, 0);
    EXPECT_EQ(own.to_vector(), (std::vector<float>{0, 0, 0, 0, 24, 30, 36, 42, 0, 0, 0, 0, 0, 6, 12, 18}));
    moved();
  }
}

TEST_F(SplitTest, views_are_of_the_same_memory) {
  const Tensor x = ops::linear(uploaded({4, 6}), doubling(6, Side::card));
  const Tensor turned = ops::contiguous(x.slice(1, 2, 5).permute({1, 0}));
  EXPECT_EQ(turned.to_vector(), (std::vector<float>{4, 16, 28, 40, 6, 18, 30, 42, 8, 20, 32, 44}));
  EXPECT_EQ(x.slice(0, 1, 3).slice(1, 5, 6).to_vector(), (std::vector<float>{22, 34}));
}

// A mapped table of the host's side is not copied.
TEST_F(SplitTest, lasting_tensors_of_the_host_are_not_copied) {
  const Tensor table = Tensor::from(both->host(), {64, 4}, counted(256));
  const int64_t host = on_host();
  const auto given = [&](Side side) {
    const SideScope scope(side, true);
    return table.to(*both);
  };
  const Tensor same = given(Side::host);
  EXPECT_EQ(on_host(), host);
  EXPECT_EQ(same.to_vector(), table.to_vector());
  table.data<float>()[9] = -1;
  EXPECT_EQ(same.to_vector()[9], -1);
  EXPECT_EQ(ops::embedding(std::vector<int32_t>{2}, same).to_vector()[1], -1);
  expect_moved(0, 0);
  EXPECT_EQ(given(Side::card).to_vector()[9], -1);
}

// A dry run places everything alike: what it takes on each side is what the run takes.
TEST(SplitBackend, its_dry_twin_takes_the_memory_of_each_side) {
  const auto both = make_split_backend(test::make_detached_backend({.inner = "cpu", .at_once = true}));
  MemoryLedger ledger;
  const auto twin = both->dry_twin(ledger);
  std::array<int64_t, 2> taken[2];
  for (const bool dry : {true, false}) {
    Backend& device = dry ? *twin : *both;
    MemoryLedger &card = dynamic_cast<SplitBackend&>(device).card().ledger(), &host = device.host().ledger();
    const MemoryWatch watch_card(card), watch_host(host);
    const std::array<int64_t, 2> before{card.use().now, host.use().now};
    const auto weight = [&](int64_t out, int64_t in, Side side) {
      const SideScope scope(side);
      const Tensor w = Tensor::empty(device.host(), {out, in});
      unless_dry(device, [&] { std::ranges::fill_n(w.data<float>(), w.numel(), 0.01f); });
      return Weight{.name = "w", .shape = w.shape(), .prepared = device.prepare(w, WeightKind::linear, {}), .backend = &device};
    };
    const Weight a = weight(640, 320, Side::card), b = weight(320, 640, Side::host);
    Tensor x = Tensor::zeros(device, {70, 320});
    for (int i = 0; i < 3; ++i) x = ops::add(x, ops::linear(ops::activate(ops::linear(x, a), Activation::silu), b));
    taken[dry] = {watch_card.peak() - before[0], watch_host.peak() - before[1]};
  }
  EXPECT_GE(taken[0][0], 640 * 320 * 4);
  EXPECT_GE(taken[0][1], 640 * 320 * 4);
  EXPECT_EQ(taken[0], taken[1]);
}

TEST(SplitBackend, a_device_without_memory_of_its_own_is_refused) {
  EXPECT_EQ(test::complaint_of([] { make_split_backend(make_backend({.name = "cpu", .threads = 1})); }),
            "UsageError: backend: cpu computes in the host's memory, so that nothing can be split; expected a card");
}

}  // namespace
}  // namespace hearth::split
