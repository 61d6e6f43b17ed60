#include "weights/stacked.h"

#include "support/backend_test.h"
#include "support/files.h"

namespace hearth {
namespace {

constexpr StackRule rules[] = {
    {"blk.#.gate_exps.weight", "layers.#.experts.#.gate.weight"},
    {"blk.#.both.weight", "layers.#.experts.#.a.weight", StackRule::Rows::first_half},
    {"blk.#.both.weight", "layers.#.experts.#.b.weight", StackRule::Rows::second_half},
    {"blk.#.mixed", "layers.#.experts.#.even.weight", StackRule::Rows::even, true},
    {"blk.#.mixed", "layers.#.experts.#.odd.weight", StackRule::Rows::odd, true},
    {"blk.#.mixed_bias", "layers.#.experts.#.odd.bias", StackRule::Rows::odd},
};

// Tensors in memory that count how often they are read.
struct Held : TensorSource {
  std::string describe() const override { return "held"; }
  std::map<std::string, TensorInfo> list() const override {
    std::map<std::string, TensorInfo> all;
    for (const auto& [name, x] : tensors) all[name] = {.dtype = x.dtype(), .shape = x.shape(), .unreadable = {}};
    return all;
  }
  bool has(const std::string& name) const override { return tensors.contains(name); }
  Tensor read(const std::string& name, const Shape&, Backend&) override {
    ++reads[name];
    return tensors.at(name);
  }

  std::map<std::string, Tensor> tensors;
  std::map<std::string, int> reads;
};

class Stacked : public testing::Test {
 protected:
  Stacked() {
    const auto counted = [&](const Shape& shape) {
      std::vector<float> values(static_cast<size_t>(shape.numel()));
      for (size_t i = 0; i < values.size(); ++i) values[i] = float(i);
      return Tensor::from(*device, shape, values);
    };
    held->tensors = {{"blk.3.gate_exps.weight", counted({2, 2, 3})},
                     {"blk.3.both.weight", counted({2, 4, 1})},
                     {"blk.3.mixed", counted({2, 2, 4})},
                     {"blk.3.mixed_bias", counted({2, 4})},
                     {"other", counted({3})}};
  }
  std::vector<float> read(TensorSource& source, const std::string& name) { return source.read(name, {}, *device).to_vector(); }

  std::unique_ptr<Backend> device = test::make_test_backend("reference");
  std::shared_ptr<Held> held = std::make_shared<Held>();
};

TEST_F(Stacked, slices_have_the_names_of_the_network) {
  const auto source = unstacked(held, rules);
  EXPECT_EQ(source->list().size(), 1u + 2 * 6);
  EXPECT_EQ(source->list().at("layers.3.experts.1.gate.weight").shape, (Shape{2, 3}));
  EXPECT_EQ(source->list().at("layers.3.experts.1.even.weight").shape, (Shape{2, 2}));
  EXPECT_EQ(source->list().at("layers.3.experts.1.odd.bias").shape, (Shape{2}));
  EXPECT_FALSE(source->has("blk.3.gate_exps.weight"));
  EXPECT_EQ(read(*source, "other"), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(read(*source, "layers.3.experts.1.gate.weight"), (std::vector<float>{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(read(*source, "layers.3.experts.0.a.weight"), (std::vector<float>{0, 1}));
  EXPECT_EQ(read(*source, "layers.3.experts.1.b.weight"), (std::vector<float>{6, 7}));
  // [in 2, out 4] of expert 1 is 8 … 15: row o of the transposed is (8 + o, 12 + o).
  EXPECT_EQ(read(*source, "layers.3.experts.1.even.weight"), (std::vector<float>{8, 12, 10, 14}));
  EXPECT_EQ(read(*source, "layers.3.experts.1.odd.weight"), (std::vector<float>{9, 13, 11, 15}));
  EXPECT_EQ(read(*source, "layers.3.experts.1.odd.bias"), (std::vector<float>{5, 7}));
}

TEST_F(Stacked, a_stack_that_is_no_file_is_read_once_for_all_its_parts) {
  const auto source = unstacked(held, rules);
  for (const char* name : {"layers.3.experts.0.even.weight", "layers.3.experts.0.gate.weight", "layers.3.experts.1.odd.weight",
                           "layers.3.experts.1.even.weight", "layers.3.experts.0.odd.weight", "layers.3.experts.1.gate.weight"})
    read(*source, name);
  EXPECT_EQ(held->reads["blk.3.mixed"], 1);
  EXPECT_EQ(held->reads["blk.3.gate_exps.weight"], 1);
  read(*source, "layers.3.experts.0.even.weight");
  EXPECT_EQ(held->reads["blk.3.mixed"], 2);
}

TEST_F(Stacked, the_stack_of_a_slice_is_found) {
  const auto slice = stack_of("layers.11.experts.5.gate.weight", rules);
  ASSERT_TRUE(slice);
  EXPECT_EQ(slice->stack, "blk.11.gate_exps.weight");
  EXPECT_EQ(slice->index, 5);
  EXPECT_FALSE(stack_of("layers.11.gate.weight", rules));
}

TEST_F(Stacked, a_name_that_exists_already_is_named) {
  held->tensors["layers.3.experts.1.gate.weight"] = held->tensors["other"];
  EXPECT_EQ(test::message_of<WeightError>([&] { unstacked(held, rules); }, "FOLDER"),
            "held: 'layers.3.experts.1.gate.weight' exists twice, alone and in a stack");
}

}  // namespace
}  // namespace hearth
