// Adapters of families whose original files store several layers as one matrix: the same pair under the names of each layout gives the same
// image, and the image of weights into which it is merged.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/files/json.h"
#include "e2e/editing_cases_test.h"
#include "hearth/convert.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "support/tolerance.h"
#include "weights/seeded.h"

namespace hearth::test {
namespace {

// An adapter of rank 2: of a matrix of the original file [rows, in], and of the layers that it holds, or of itself.
struct Matrix {
  std::string original;
  std::vector<std::string> official;
  int64_t rows, in;
};

struct LoraLayouts : testing::Test {
  TemporaryFolder folder;
  std::unique_ptr<Backend> host = make_test_backend("reference");

  Tensor made(const std::string& name, const Shape& shape) {
    std::vector<float> values = seeded_values(name, shape);
    return Tensor::from(*host, shape, values);
  }
  // kind: "original", "kohya" or "official"
  Lora lora(const std::vector<Matrix>& matrices, const std::string& kind) {
    NamedTensors tensors;
    for (const Matrix& m : matrices) {
      const Tensor down = made(m.original + ".down", {2, m.in}), up = made(m.original + ".up", {m.rows, 2});
      if (kind == "original") {
        tensors["diffusion_model." + m.original + ".lora_A.weight"] = down;
        tensors["diffusion_model." + m.original + ".lora_B.weight"] = up;
      } else if (kind == "kohya") {
        std::string flat = "lora_unet_" + m.original;
        std::ranges::replace(flat, '.', '_');
        tensors[flat + ".lora_down.weight"] = down, tensors[flat + ".lora_up.weight"] = up;
        tensors[flat + ".alpha"] = Tensor::from(*host, {}, std::vector<float>{2});
      } else {
        const int64_t part = m.rows / std::ssize(m.official);
        for (int64_t i = 0; i < std::ssize(m.official); ++i) {
          tensors["transformer." + m.official[size_t(i)] + ".lora_A.weight"] = down;
          tensors["transformer." + m.official[size_t(i)] + ".lora_B.weight"] =
              Tensor::from(*host, {part, 2}, up.slice(0, i * part, (i + 1) * part).to_vector());
        }
      }
    }
    const std::filesystem::path file = folder / (kind + ".safetensors");
    write_safetensors(file, tensors);
    return {.file = file, .scale = 0.5};
  }

  void expect_same_in_all_layouts(const std::string& stem, const char* name, const std::vector<Matrix>& matrices) {
    EditingCases all(stem);
    const nlohmann::json& c = all.cases.at(name);
    const std::filesystem::path checkpoint = all.folder_of(c);
    Model model = Model::open(checkpoint, {.precision = Precision::f32});
    const auto latents = [&](std::vector<Lora> loras) {
      Request r = all.request_of(c);
      r.loras = std::move(loras);
      return model.generate(r).latents.values;
    };
    const auto plain = latents({}), official = latents({lora(matrices, "official")});
    EXPECT_GE(relative_error(official, plain), 1e-3);
    for (const char* kind : {"original", "kohya"}) EXPECT_LE(relative_error(latents({lora(matrices, kind)}), official), 2e-6) << kind;
    convert({.model = checkpoint, .output = folder / "merged", .loras = {lora(matrices, "official")}});
    Model merged = Model::open(folder / "merged", {.precision = Precision::f32});
    EXPECT_LE(relative_error(merged.generate(all.request_of(c)).latents.values, official), 1e-5);
  }
};

TEST_F(LoraLayouts, of_z_image) {
  expect_same_in_all_layouts(
      "z_image", "negative",
      {{"layers.1.attention.qkv", {"layers.1.attention.to_q", "layers.1.attention.to_k", "layers.1.attention.to_v"}, 72, 24},
       {"layers.0.attention.out", {"layers.0.attention.to_out.0"}, 24, 24},
       {"context_refiner.0.feed_forward.w2", {"context_refiner.0.feed_forward.w2"}, 24, 64},
       {"noise_refiner.0.adaLN_modulation.0", {"noise_refiner.0.adaLN_modulation.0"}, 96, 24}});
}

// Every layout has diffusers' names.
TEST_F(LoraLayouts, of_qwen_image) {
  expect_same_in_all_layouts("qwen_image", "negative",
                             {{"transformer_blocks.0.attn.to_q", {"transformer_blocks.0.attn.to_q"}, 24, 24},
                              {"transformer_blocks.1.attn.add_v_proj", {"transformer_blocks.1.attn.add_v_proj"}, 24, 24},
                              {"transformer_blocks.1.img_mod.1", {"transformer_blocks.1.img_mod.1"}, 144, 24},
                              {"transformer_blocks.0.txt_mlp.net.0.proj", {"transformer_blocks.0.txt_mlp.net.0.proj"}, 96, 24}});
}

TEST_F(LoraLayouts, of_flux2) {
  expect_same_in_all_layouts("flux2", "klein_little",
                             {{"double_blocks.0.img_attn.qkv",
                               {"transformer_blocks.0.attn.to_q", "transformer_blocks.0.attn.to_k", "transformer_blocks.0.attn.to_v"},
                               96,
                               32},
                              {"double_blocks.0.txt_mlp.0", {"transformer_blocks.0.ff_context.linear_in"}, 192, 32},
                              {"single_blocks.1.linear1", {"single_transformer_blocks.1.attn.to_qkv_mlp_proj"}, 288, 32},
                              {"single_blocks.0.linear2", {"single_transformer_blocks.0.attn.to_out"}, 32, 128},
                              {"single_stream_modulation.lin", {"single_stream_modulation.linear"}, 96, 32}});
}

}  // namespace
}  // namespace hearth::test
