// A network whose weights partly differ from those of the model's own.
#include "weights/changes.h"

#include <gtest/gtest.h>

#include "support/backend_test.h"
#include "weights/blocks.h"
#include "weights/scope.h"

namespace hearth {
namespace {

class Tensors final : public TensorSource {
 public:
  std::map<std::string, Tensor> all;
  std::string describe() const override { return "tensors"; }
  std::map<std::string, TensorInfo> list() const override {
    std::map<std::string, TensorInfo> listed;
    for (const auto& [name, x] : all) listed[name] = {.dtype = x.dtype(), .shape = x.shape(), .unreadable = {}};
    return listed;
  }
  bool has(const std::string& name) const override { return all.contains(name); }
  Tensor read(const std::string& name, const Shape&, Backend&) override { return all.at(name); }
};

struct Block {
  explicit Block(const Scope& w) : a(w.linear("a.weight", 2, 2)), b(w.linear("b.weight", 2, 2)), bias(w.tensor("b.bias", {2})) {}
  Weight a, b;
  Tensor bias;
};
struct Network {
  explicit Network(const Scope& w) : blocks(w / "blocks", 3, [](const Scope& block) { return Block(block); }) {}
  Blocks<Block> blocks;
};

std::shared_ptr<Tensors> three_blocks(Backend& device) {
  auto source = std::make_shared<Tensors>();
  for (int i = 0; i < 3; ++i) {
    const std::string block = "blocks." + std::to_string(i) + ".";
    source->all[block + "a.weight"] = Tensor::from(device, {2, 2}, std::vector<float>{1, 2, 3, 4}, DType::f16);
    source->all[block + "b.weight"] = Tensor::from(device, {2, 2}, std::vector<float>{5, 6, 7, 8}, DType::f16);
    source->all[block + "b.bias"] = Tensor::from(device, {2}, std::vector<float>{1, 2}, DType::f16);
  }
  return source;
}

// A pair of low rank for a.weight of block 1, other values for b.bias of block 2.
std::shared_ptr<const WeightChanges> changes() {
  WeightChanges c{.key = "one"};
  c.branches["blocks.1.a.weight"] = {
      .down = {1, 2}, .up = {2, 1}, .read = [](Backend& host) {
        return std::pair{Tensor::from(host, {1, 2}, std::vector<float>{1, 1}), Tensor::from(host, {2, 1}, std::vector<float>{2, 3})};
      }};
  c.replaced["blocks.2.b.bias"] = [](const Tensor& own) {
    std::vector<float> values = own.to_vector();
    for (float& v : values) v *= 10;
    return Tensor::from(own.backend(), own.shape(), values);
  };
  return std::make_shared<const WeightChanges>(std::move(c));
}

HOST_TEST(WeightChanges, share_everything_that_does_not_change) {
  const auto source = three_blocks(device);
  const auto loaded = std::make_shared<LoadedWeights>();
  Weights own_weights(source, device, {.keep = loaded});
  const Network own{Scope(own_weights)};
  own_weights.finish();
  Weights weights(changed(source, changes()), device, {.changes = changes(), .shared = loaded});
  const Network other{Scope(weights)};
  weights.finish();
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(other.blocks[i]->a.prepared, own.blocks[i]->a.prepared);
    EXPECT_EQ(other.blocks[i]->b.prepared, own.blocks[i]->b.prepared);
    EXPECT_EQ(other.blocks[i]->a.branch != nullptr, i == 1);
    EXPECT_EQ(own.blocks[i]->a.branch, nullptr);
  }
  EXPECT_EQ(other.blocks[2]->bias.to_vector(), (std::vector<float>{10, 20}));
  EXPECT_EQ(own.blocks[2]->bias.to_vector(), (std::vector<float>{1, 2}));
  EXPECT_LT(weights.report().bytes_held, own_weights.report().bytes_held / 2);
}

HOST_TEST(WeightChanges, reach_blocks_that_are_loaded_in_a_loop) {
  const auto source = three_blocks(device);
  Weights weights(changed(source, changes()), device, {.resident = 0, .changes = changes()});
  const Network network{Scope(weights)};
  weights.finish();
  for (int round = 0; round < 2; ++round) {
    size_t i = 0;
    for (const Block& block : network.blocks) {
      EXPECT_EQ(block.a.branch != nullptr, i == 1);
      EXPECT_EQ(block.bias.to_vector(), i == 2 ? (std::vector<float>{10, 20}) : (std::vector<float>{1, 2}));
      ++i;
    }
  }
}

HOST_TEST(WeightChanges, of_what_is_no_weight_are_refused) {
  const auto source = three_blocks(device);
  WeightChanges wrong{.key = "two"};
  wrong.branches["blocks.0.b.bias"] = changes()->branches.at("blocks.1.a.weight");
  Weights weights(source, device, {.changes = std::make_shared<const WeightChanges>(wrong)});
  EXPECT_THROW(Network{Scope(weights)}, UnsupportedError);
}

}  // namespace
}  // namespace hearth
