#include "parts/decoder/recurrent_state.h"

#include "core/error.h"
#include "ops/shape_ops.h"
#include "support/backend_test.h"
#include "support/complaint.h"

namespace hearth::parts {
namespace {

constexpr int64_t spacing = RecurrentState::spacing;

// The state of a text of `length` tokens: its length.
void set(RecurrentState& s, int64_t length) {
  for (const Tensor& x : s.tensors())
    ops::store(Tensor::from(x.backend(), x.shape(), std::vector<float>(size_t(x.numel()), float(length))), x);
}
void feed(RecurrentState& s, int64_t from, int64_t to) {
  for (int64_t t = from + 1; t <= to; ++t)
    if (t % spacing == 0) set(s, t), s.checkpoint(t);
  set(s, to);
}
std::vector<int64_t> lengths(const RecurrentState& s, int64_t stored) {
  std::vector<int64_t> all;
  for (int64_t t = 0; t < stored; ++t)
    if (s.reachable(stored, t) == t) all.push_back(t);
  return all;
}

BACKEND_TEST(RecurrentState, continues_from_checkpoints) {
  const std::vector<Shape> shapes{{3, 4}, {0, 4}, {2, 5, 2}};
  RecurrentState s(device, shapes, 2000);
  EXPECT_EQ(s.bytes(), 32 * 4);
  EXPECT_EQ(RecurrentState::bytes_for(shapes, 2000), (1 + 7) * 32 * 4);
  EXPECT_EQ(RecurrentState::bytes_for(shapes, 100'000), 9 * 32 * 4);
  EXPECT_EQ(s.tensors()[0].to_vector(), std::vector<float>(12));
  feed(s, 0, 3 * spacing + 20);
  EXPECT_EQ(s.bytes(), (1 + 3) * 32 * 4);
  EXPECT_EQ(s.reachable(3 * spacing + 20, 3 * spacing + 20), 3 * spacing + 20);
  EXPECT_EQ(s.reachable(3 * spacing + 20, 3 * spacing + 19), 3 * spacing);
  EXPECT_EQ(s.reachable(3 * spacing + 20, 2 * spacing), 2 * spacing);
  EXPECT_EQ(s.reachable(3 * spacing + 20, spacing - 1), 0);
  s.shorten(2 * spacing);
  EXPECT_EQ(s.bytes(), (1 + 2) * 32 * 4);
  EXPECT_EQ(s.tensors()[2].to_vector(), std::vector<float>(20, 2 * spacing));
  EXPECT_EQ(lengths(s, 2 * spacing + 9), (std::vector<int64_t>{0, spacing, 2 * spacing}));
  feed(s, 2 * spacing, 4 * spacing);
  EXPECT_EQ(lengths(s, 4 * spacing + 1), (std::vector<int64_t>{0, spacing, 2 * spacing, 3 * spacing, 4 * spacing}));
  s.shorten(0);
  EXPECT_EQ(s.tensors()[0].to_vector(), std::vector<float>(12));
  EXPECT_EQ(lengths(s, 300), (std::vector<int64_t>{0}));
  EXPECT_EQ(s.bytes(), 32 * 4);
}

// A bounded number of checkpoints, dense at the end.
BACKEND_TEST(RecurrentState, keeps_fewer_of_the_older_checkpoints) {
  const std::vector<Shape> shapes{{1}};
  RecurrentState s(device, shapes, 1 << 20);
  feed(s, 0, 200 * spacing + 1);
  EXPECT_EQ(s.bytes(), 9 * 4);
  const std::vector<int64_t> kept = lengths(s, 200 * spacing + 1);
  ASSERT_EQ(std::ssize(kept), 1 + RecurrentState::most_checkpoints);
  EXPECT_EQ(kept.back(), 200 * spacing);
  for (size_t i = 1; i < kept.size(); ++i)  // a gap is at most about as long as what follows it
    EXPECT_LE(kept[i] - kept[i - 1], 2 * (200 * spacing - kept[i]) + 3 * spacing) << i;
  s.shorten(kept[4]);
  EXPECT_EQ(s.tensors()[0].to_vector(), std::vector<float>(1, float(kept[4])));
}

BACKEND_TEST(RecurrentState, moves_through_a_file) {
  const std::vector<Shape> shapes{{3, 4}, {2}};
  RecurrentState s(device, shapes, 2000), t(device, shapes, 500);
  feed(s, 0, 700), feed(t, 0, 300);
  t.load(700, s.save(700));
  EXPECT_EQ(t.tensors()[0].to_vector(), s.tensors()[0].to_vector());
  EXPECT_EQ(t.tensors()[1].to_vector(), s.tensors()[1].to_vector());
  EXPECT_EQ(lengths(t, 700), (std::vector<int64_t>{0}));
  EXPECT_EQ(t.bytes(), 14 * 4);
  std::vector<Tensor> saved = s.save(700);
  std::swap(saved[0], saved[1]);
  EXPECT_EQ(test::complaint_of([&] { t.load(700, saved); }),
            "WeightError: recurrent state: saved tensor 0 is f32 [2], expected f32 [3, 4]");
  saved.pop_back();
  EXPECT_EQ(test::complaint_of([&] { t.load(700, saved); }), "WeightError: recurrent state: 1 saved tensors, expected 2");
}

}  // namespace
}  // namespace hearth::parts
