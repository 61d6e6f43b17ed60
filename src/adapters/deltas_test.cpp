#include "adapters/deltas.h"

#include <gtest/gtest.h>

#include <random>

#include "core/error.h"
#include "support/backend_test.h"
#include "support/complaint.h"
#include "support/files.h"
#include "weights/safetensors/safetensors.h"

namespace hearth::adapters {
namespace {

struct Deltas : testing::Test {
  test::TemporaryFolder folder;
  std::unique_ptr<Backend> host = test::make_test_backend("reference");
  std::shared_ptr<const AdapterFile> file;

  Tensor values(const Shape& shape, std::vector<float> v) { return Tensor::from(*host, shape, v); }
  // A file of one module, "m".
  Delta delta(const std::map<std::string, Tensor>& parts, const Shape& weight, Form form = form::same, double strength = 1) {
    std::map<std::string, Tensor> named;
    for (const auto& [end, x] : parts) named["m." + end] = x;
    write_safetensors(folder / "a.safetensors", named);
    file = std::make_shared<const AdapterFile>(open_adapter(folder / "a.safetensors"));
    return {.file = file, .module = &file->modules.at(0), .shape = weight, .form = form, .strength = strength};
  }
  std::vector<float> change(const Delta& d, const std::vector<float>& own) {
    check(d);
    std::vector<float> sum(own.size());
    add_to_weight(d, own.data(), sum, *host);
    return sum;
  }
  std::string complaint(const Delta& d) {
    std::string text = test::complaint_of([&] { check(d); });
    const std::string where = (folder / "a.safetensors").string();
    if (const size_t at = text.find(where); at != text.npos) text.replace(at, where.size(), "FILE");
    return text;
  }
};

using Values = std::vector<float>;
const Values none4(4);

TEST_F(Deltas, of_low_rank_have_alpha_by_rank_and_the_strength) {
  const Tensor down = values({2, 2}, {1, 2, 3, 4}), up = values({2, 2}, {1, 0, 0, 1});
  const Delta d = delta({{"lora_down.weight", down}, {"lora_up.weight", up}, {"alpha", values({}, {4})}}, {2, 2}, form::same, 0.5);
  EXPECT_EQ(low_rank(d), 2);
  EXPECT_EQ(change(d, none4), (Values{1, 2, 3, 4}));  // 0.5 · 4/2
  const auto [low, high] = joined({d}).read(*host);
  EXPECT_EQ(low.to_vector(), (Values{1, 2, 3, 4}));
  EXPECT_EQ(high.to_vector(), (Values{1, 0, 0, 1}));
}

TEST_F(Deltas, of_several_pairs_are_one_after_the_other) {
  const Delta a = delta({{"lora_A.weight", values({1, 2}, {1, 2})}, {"lora_B.weight", values({2, 1}, {3, 4})}}, {2, 2}, form::same, 2);
  const std::shared_ptr<const AdapterFile> first = file;
  const Delta b = delta({{"lora_A.weight", values({1, 2}, {5, 6})}, {"lora_B.weight", values({2, 1}, {7, 8})}}, {2, 2});
  const auto [low, high] = joined({a, b}).read(*host);
  EXPECT_EQ(low.to_vector(), (Values{1, 2, 5, 6}));
  EXPECT_EQ(high.to_vector(), (Values{6, 7, 8, 8}));
}

TEST_F(Deltas, take_the_official_part_of_a_module) {
  const std::map<std::string, Tensor> parts{{"diff", values({4, 1}, {1, 2, 3, 4})}};
  EXPECT_EQ(change(delta(parts, {2, 1}, form::rows(1, 2, 2)), {0, 0}), (Values{3, 4}));
  EXPECT_EQ(change(delta(parts, {4, 1}, form::swapped), none4), (Values{3, 4, 1, 2}));
  EXPECT_EQ(change(delta(parts, {1, 4}, form::transposed), none4), (Values{1, 2, 3, 4}));
  Delta reordered = delta(parts, {4, 1});
  reordered.row_order = {3, 0, 1, 2};
  EXPECT_EQ(change(reordered, none4), (Values{4, 1, 2, 3}));
}

TEST_F(Deltas, of_whole_kronecker_factors_ignore_alpha) {
  const Delta d = delta({{"lokr_w1", values({1, 2}, {1, 10})}, {"lokr_w2", values({2, 1}, {2, 3})}, {"alpha", values({}, {7})}}, {2, 2});
  EXPECT_EQ(low_rank(d), 0);
  EXPECT_EQ(change(d, none4), (Values{2, 20, 3, 30}));
}

TEST_F(Deltas, of_directions_keep_the_stated_norms) {
  const std::map<std::string, Tensor> parts{
      {"lora_down.weight", values({1, 2}, {0, 0})}, {"lora_up.weight", values({2, 1}, {0, 0})}, {"dora_scale", values({2, 1}, {10, 1})}};
  EXPECT_EQ(change(delta(parts, {2, 2}), {3, 4, 1, 0}), (Values{3, 4, 0, 0}));  // rows 3, 4 → 6, 8 and 1, 0 → 1, 0
}

TEST_F(Deltas, that_do_not_fit_are_refused_in_one_line) {
  const Tensor m22 = values({2, 2}, {1, 2, 3, 4}), m12 = values({1, 2}, {1, 2}), m21 = values({2, 1}, {1, 2});
  EXPECT_EQ(complaint(delta({{"lora_down.weight", m12}}, {2, 2})), "WeightError: FILE: module 'm' lacks 'up'");
  EXPECT_EQ(complaint(delta({{"lora_down.weight", m12}, {"lora_up.weight", m22}}, {2, 2})),
            "WeightError: FILE: 'm.lora_up.weight' has shape [2, 2], the model's weight needs [2, 1]");
  EXPECT_EQ(complaint(delta({{"lora_down.weight", m12}, {"lora_up.weight", m21}}, {2, 3})),
            "WeightError: FILE: 'm.lora_down.weight' has shape [1, 2], the model's weight needs [1, 3]");
  EXPECT_EQ(complaint(delta({{"lokr_w1", m22}, {"lokr_w2", m22}}, {4, 2})),
            "WeightError: FILE: 'm' has factors [2, 2] and [2, 2], the model's weight needs products [4, 2]");
  EXPECT_EQ(complaint(delta({{"lora_down.weight", m12}, {"lora_up.weight", m21}, {"lokr_w1", m22}}, {2, 2})),
            "WeightError: FILE: 'm.lokr_w1' does not belong to the other tensors of its module");
  EXPECT_EQ(complaint(delta({{"alpha", values({}, {1})}}, {2, 2})),
            "WeightError: FILE: module 'm' has only 'alpha', which changes nothing");
}

TEST_F(Deltas, of_other_kinds_are_refused_by_name) {
  write_safetensors(folder / "b.safetensors", {{"m.oft_blocks", values({1, 1, 1}, {1})}});
  EXPECT_EQ(test::complaint_of([&] { open_adapter(folder / "b.safetensors"); }),
            "UnsupportedError: " + (folder / "b.safetensors").string() + ": 'm.oft_blocks' belongs to OFT, which hearth does not support");
}

// Random parts of random shapes: each is refused with a message or changes the weight; nothing reads outside of a tensor.
TEST_F(Deltas, of_random_files_are_applied_or_refused) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return int64_t(random() % uint32_t(n)); };
  const std::vector<const char*> ends{"lora_down.weight",
                                      "lora_up.weight",
                                      "lora_mid.weight",
                                      "hada_w1_a",
                                      "hada_w1_b",
                                      "hada_w2_a",
                                      "hada_w2_b",
                                      "hada_t1",
                                      "hada_t2",
                                      "lokr_w1",
                                      "lokr_w1_a",
                                      "lokr_w1_b",
                                      "lokr_w2",
                                      "lokr_w2_a",
                                      "lokr_w2_b",
                                      "lokr_t2",
                                      "dora_scale",
                                      "diff",
                                      "alpha",
                                      "set_weight",
                                      "ia3_l",
                                      "lora_magnitude_vector"};
  int applied = 0;
  for (int round = 0; round < 300; ++round) {
    const Shape weight = round % 3 ? Shape{2, 2} : Shape{2, 2, 1, 2};
    const size_t kind = size_t(below(4));
    const std::vector<std::vector<size_t>> sets{{0, 1}, {3, 4, 5, 6}, {9, 12}, {17}};
    std::vector<size_t> chosen = sets[kind];
    for (int extra = int(below(3)); extra > 0; --extra) chosen.push_back(size_t(below(int(ends.size()))));
    std::map<std::string, Tensor> parts;
    for (const size_t i : chosen) {
      Shape shape;
      for (int64_t rank = below(4) == 0 ? below(5) : 2; rank > 0; --rank) shape.push_back(below(6) == 0 ? below(4) : 2);
      if (std::string_view(ends[i]) == "alpha" && below(2)) shape = {};
      parts[ends[i]] = values(shape, Values(size_t(shape.numel()), 0.5f));
    }
    try {
      const Form forms[] = {form::same, form::rows(0, 1, 2), form::swapped, form::transposed};
      const Delta d = delta(parts, weight, weight.rank() == 2 ? forms[below(4)] : form::same);
      check(d);
      Values sum(size_t(weight.numel()));
      const Values own(sum.size(), 1);
      if (changes_weight(d)) add_to_weight(d, own.data(), sum, *host);
      if (low_rank(d)) joined({d}).read(*host);
      ++applied;
    } catch (const Error&) {}
  }
  EXPECT_GT(applied, 10);
}

}  // namespace
}  // namespace hearth::adapters
