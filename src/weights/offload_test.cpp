#include "weights/offload.h"

#include <gtest/gtest.h>

#include "backends/split/split_backend.h"
#include "core/memory.h"
#include "support/detached_backend.h"
#include "weights/blocks.h"

namespace hearth {
namespace {

TEST(OffloadBlocks, are_numbered_in_the_names_of_tensors) {
  for (const auto& [tensor, block] : std::initializer_list<std::pair<const char*, const char*>>{
           {"model.embed_tokens.weight", ""},
           {"model.layers.3.self_attn.q_proj.weight", "model.layers.3"},
           {"model.layers.12.mlp.experts.5.up_proj.weight", "model.layers.12"},
           {"transformer_blocks.7.attn.to_out.0.bias", "transformer_blocks.7"},
           {"t_embedder.mlp.0.weight", ""},
           {"encoder.block.2.layer.0.layer_norm.weight", "encoder.block.2"},
           {"down_blocks.1.attentions.0.transformer_blocks.4.attn1.to_q.weight", "down_blocks.1.attentions.0"},
           {"down_blocks.0.3.channelwise.0.weight", "down_blocks.0.3"},
           {"decoder.up_blocks.2.upsamplers.0.conv.weight", "decoder.up_blocks.2.upsamplers.0"},
           {"mid_block.resnets.1.conv1.weight", "mid_block.resnets.1"},
           {"conv_in.weight", ""},
           {"0.weight", ""},
           {"layers.1", ""},
           {"", ""}})
    EXPECT_EQ(block_of(tensor), block) << tensor;
}

TEST(OffloadBlocks, are_in_the_order_of_the_network) {
  const std::vector<std::string> tensors{"x.weight", "b.0.q.weight", "b.1.q.weight", "b.0.k.weight", "a.0.q.weight", "y.weight"};
  EXPECT_EQ(blocks_of(tensors), (std::vector<std::string>{"b.0", "b.1", "a.0"}));
}

TEST(Offload, the_first_blocks_are_on_the_card_and_the_rest_with_the_last) {
  const std::vector<std::string> blocks{"b.0", "b.1", "a.0"};
  const auto sides = [&](int64_t on_card) {
    const Offload offload(blocks, on_card);
    std::string all;
    for (const char* tensor : {"x.weight", "b.0.q.weight", "b.1.q.weight", "a.0.q.weight", "c.0.q.weight"})
      all += offload.side_of(tensor) == Side::card ? 'c' : 'h';
    return all;
  };
  EXPECT_EQ(sides(0), "hhhhh");
  EXPECT_EQ(sides(1), "hchhh");
  EXPECT_EQ(sides(2), "hcchh");
  EXPECT_EQ(sides(3), "ccccc");
  EXPECT_EQ(sides(99), "ccccc");
  EXPECT_EQ(Offload(blocks, 2).blocks_on_card(), 2);
  EXPECT_EQ(Offload(blocks, 99).blocks_on_card(), 3);
  EXPECT_EQ(Offload({}, 0).side_of("x.weight"), Side::host);
  EXPECT_EQ(Offload({}, 1).side_of("x.weight"), Side::card);
}

struct OffloadedBlock {
  explicit OffloadedBlock(const Scope& w) : weight((w / "linear").linear("weight", 64, 64)), bias((w / "linear").tensor("bias", {64})) {}
  Tensor operator()(const Tensor& x) const {
    Tensor y = Tensor::like(x);
    x.backend().linear(x, weight, bias, {}, {}, y);
    return y;
  }
  Weight weight;
  Tensor bias;
};

// Blocks on the card stay there, those of the host are loaded when a loop reaches them.
TEST(Offload, only_blocks_of_the_host_are_streamed) {
  const auto device = make_split_backend(test::make_detached_backend({.at_once = true}));
  const std::vector<std::string> blocks{"b.0", "b.1", "b.2", "b.3", "b.4"};
  std::vector<float> whole;
  for (const double resident : {1.0, 0.0, 0.4}) {
    Weights weights = Weights::seeded(*device, {.resident = resident, .offload = std::make_shared<const Offload>(blocks, 2)});
    const int64_t before = device->card().ledger().use().now;
    const Blocks<OffloadedBlock> all(Scope(weights) / "b", 5, [](const Scope& w) { return OffloadedBlock(w); });
    EXPECT_EQ(weights.report().blocks, 5);
    EXPECT_EQ(weights.report().blocks_in_memory, resident == 1 ? 5 : resident == 0 ? 2 : 3);
    EXPECT_GE(weights.report().bytes_on_card, 2 * 64 * 4);
    const int64_t loaded = device->card().ledger().use().now;
    EXPECT_GE(loaded, before + 2 * 64 * 4);
    Tensor x = Tensor::filled(*device, {1, 2, 64}, 1);
    std::vector<SplitTransfers> moved{device->transfers()};
    for (const OffloadedBlock& block : all) x = block(x), moved.push_back(device->transfers());
    for (const size_t i : {1, 2, 4, 5}) EXPECT_EQ(moved[i].down, moved[i - 1].down) << i;
    EXPECT_EQ(moved[3].down, moved[2].down + 1);
    EXPECT_EQ(moved[5].up, moved[0].up);
    if (whole.empty()) whole = x.to_vector();
    EXPECT_EQ(x.to_vector(), whole) << resident;
  }
}

}  // namespace
}  // namespace hearth
