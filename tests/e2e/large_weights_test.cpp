// A weight that is far larger than usual gives the picture of f32 arithmetic in every precision.
#include <gtest/gtest.h>

#include "e2e/cases.h"
#include "e2e/checkpoint_copy.h"
#include "support/tolerance.h"

namespace hearth::test {
namespace {

std::vector<float> latents_of(const std::filesystem::path& path, const OpenOptions& options) {
  Model model = Model::open(path, options);
  return model.generate({.prompt = "a red house", .width = 16, .height = 32, .steps = 1, .guidance = 3, .seed = 3, .decode = false})
      .latents.values;
}

class LargeWeights : public testing::TestWithParam<const char*> {};

// A matrix of each kind, times 2^20.
TEST_P(LargeWeights, of_the_transformer) {
  int64_t checked = 0;
  for (const char* name : {"pos_embed.proj.weight",
                           "x_embedder.weight",
                           "time_text_embed.timestep_embedder.linear_2.weight",
                           "transformer_blocks.0.norm1.linear.weight",
                           "transformer_blocks.0.attn.to_q.weight",
                           "transformer_blocks.0.attn.to_out.0.weight",
                           "transformer_blocks.0.ff.net.2.weight",
                           "single_transformer_blocks.0.proj_out.weight",
                           "norm_out.linear.weight",
                           "transformer_blocks.0.ff.linear_out.weight",
                           "single_transformer_blocks.0.attn.to_qkv_mlp_proj.weight",
                           "single_transformer_blocks.0.attn.to_out.weight",
                           "double_stream_modulation_img.linear.weight",
                           "all_x_embedder.2-1.weight",
                           "t_embedder.mlp.2.weight",
                           "cap_embedder.1.weight",
                           "layers.0.adaLN_modulation.0.weight",
                           "layers.0.attention.to_q.weight",
                           "layers.0.attention.to_out.0.weight",
                           "layers.0.feed_forward.w2.weight",
                           "layers.0.feed_forward.w3.weight",
                           "img_in.weight",
                           "txt_in.weight",
                           "transformer_blocks.0.img_mod.1.weight",
                           "transformer_blocks.0.img_mlp.net.2.weight",
                           "transformer_blocks.0.txt_mlp.net.2.weight"}) {
    CheckpointCopy copy(GetParam());
    bool found = false;
    copy.edit_tensors("transformer", [&](NamedTensors& tensors) {
      if (found = tensors.contains(name); !found) return;
      Tensor& x = tensors.at(name);
      std::vector<float> values = x.to_vector();
      for (float& v : values) v *= 1 << 20;
      x = Tensor::from(x.backend(), x.shape(), values, x.dtype());
    });
    if (!found) continue;
    SCOPED_TRACE(name);
    ++checked;
    const std::vector<float> right = latents_of(copy.path(), {.device = "reference", .precision = Precision::f32});
    EXPECT_CLOSE(latents_of(copy.path(), {.precision = Precision::f32}), right, 1e-4);   // observed 5e-6
    EXPECT_CLOSE(latents_of(copy.path(), {.precision = Precision::f16}), right, 1e-1);   // observed 5e-6: the file has bf16
    EXPECT_CLOSE(latents_of(copy.path(), {.precision = Precision::bf16}), right, 1e-1);  // observed 1.6e-2
  }
  EXPECT_GE(checked, 7);
}

INSTANTIATE_TEST_SUITE_P(Families, LargeWeights, testing::Values("sd35", "flux_dev", "flux2_dev", "z_image", "qwen_image"),
                         [](const auto& family) { return std::string(family.param); });

}  // namespace
}  // namespace hearth::test
