#include "adapters/module_names.h"

#include <gtest/gtest.h>

namespace hearth::adapters {
namespace {

TensorList tensors(std::initializer_list<const char*> names) {
  TensorList all;
  for (const char* name : names) all[name] = {.dtype = DType::f32, .shape = {4, 4}};
  return all;
}

constexpr NameRule rules[] = {{"blocks.#.qkv.weight", "layers.#.to_q.weight", form::rows(0, 1, 2)},
                              {"blocks.#.qkv.weight", "layers.#.to_k.weight", form::rows(1, 2, 2)},
                              {"blocks.#.proj.*", "layers.#.to_out.0.*"}};
NameMap names_of_original(const TensorList&) { return {{"", "", rules}}; }

const NetworkFiles files{.classes = {"Network"}, .spellings = {{.name = "original", .writing = names_of_original}, {.name = "official"}}};

struct Names : testing::Test {
  std::vector<AdaptedNetwork> networks{
      {.component = "unet",
       .role = ComponentRole::denoiser,
       .tensors = tensors({"layers.0.to_q.weight", "layers.0.to_k.weight", "layers.0.to_out.0.weight", "layers.0.to_out.0.bias", "table"}),
       .files = &files,
       .prefixes = {"network."},
       .surplus = {"layers.7.*"}},
      {.component = "text_encoder", .role = ComponentRole::text_encoder, .tensors = tensors({"text_model.q_proj.weight", "final.weight"})},
      {.component = "text_encoder_2",
       .role = ComponentRole::text_encoder,
       .tensors = tensors({"text_model.q_proj.weight", "block.wo.weight"})},
  };
  ModuleNames names{networks};

  // "unet:layers.0.to_q", several separated by spaces.
  std::string found(std::string_view module) {
    std::string text;
    for (const ChangedWeight& w : names.find(module))
      text += (text.empty() ? "" : " ") + networks[w.network].component + ":" + w.module +
              (w.form.kind == Form::Kind::rows ? fmt::format("[{}:{}/{}]", w.form.first, w.form.end, w.form.parts) : "");
    return text;
  }
};

TEST_F(Names, of_every_layout_mean_the_same_weight) {
  for (const char* module :
       {"lora_unet_layers_0_to_q", "unet.layers.0.to_q", "transformer.layers.0.to_q", "base_model.model.layers.0.to_q", "layers.0.to_q",
        "unet.base_model.model.layers.0.to_q", "diffusion_model.layers.0.to_q", "lycoris_layers_0_to_q", "network.layers.0.to_q",
        "lora_transformer_layers_0_to_q", "model.diffusion_model.layers.0.to_q", "lora_prior_unet_layers_0_to_q", "prior.layers.0.to_q"})
    EXPECT_EQ(found(module), "unet:layers.0.to_q") << module;
  for (const char* module : {"unet.layers.0.to_out.0", "unet.layers.0.to_out", "lora_unet_layers_0_to_out_0", "lora_unet_blocks_0_proj"})
    EXPECT_EQ(found(module), "unet:layers.0.to_out.0") << module;
}

TEST_F(Names, of_fused_modules_mean_rows_of_several) {
  for (const char* module : {"lora_unet_blocks_0_qkv", "diffusion_model.blocks.0.qkv", "blocks.0.qkv", "network.blocks.0.qkv"})
    EXPECT_EQ(found(module), "unet:layers.0.to_k[1:2/2] unet:layers.0.to_q[0:1/2]") << module;
  EXPECT_EQ(names.find("layers.0.to_q").at(0).original, "blocks.0.qkv");
}

TEST_F(Names, of_text_encoders_are_theirs_by_number) {
  EXPECT_EQ(found("lora_te_text_model_q_proj"), "text_encoder:text_model.q_proj");
  EXPECT_EQ(found("lora_te1_text_model_q_proj"), "text_encoder:text_model.q_proj");
  EXPECT_EQ(found("lora_prior_te_text_model_q_proj"), "text_encoder:text_model.q_proj");
  EXPECT_EQ(found("lora_te2_text_model_q_proj"), "text_encoder_2:text_model.q_proj");
  EXPECT_EQ(found("text_encoder_2.text_model.q_proj"), "text_encoder_2:text_model.q_proj");
  EXPECT_EQ(found("lora_te3_block_wo"), "text_encoder_2:block.wo");  // trainers number them differently
}

TEST_F(Names, that_no_network_has_are_not_found) {
  for (const char* module : {"lora_unet_layers_1_to_q", "lora_te_layers_0_to_q", "unet.table", "lora_te1_block_wo", "", "lora_unet_"})
    EXPECT_EQ(found(module), "") << module;
  EXPECT_TRUE(names.is_surplus("lora_unet_layers_7_to_q"));
  EXPECT_FALSE(names.is_surplus("lora_unet_layers_1_to_q"));
}

}  // namespace
}  // namespace hearth::adapters
