#include "weights/offload.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hearth
