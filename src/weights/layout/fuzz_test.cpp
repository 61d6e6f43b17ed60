// Deterministic damage to DDUF archives and 8-bit weights: for any bytes the result is a checkpoint or one of our errors.
// HEARTH_FUZZ_ROUNDS multiplies the number of rounds.
#include "core/files/file.h"
#include "support/backend_test.h"
#include "support/damage.h"
#include "support/files.h"
#include "support/torch_writer.h"
#include "weights/checkpoint.h"
#include "weights/dequantized.h"
#include "weights/layout/float8.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

std::string safetensors_bytes(const test::TemporaryFolder& folder, const std::map<std::string, Tensor>& tensors) {
  write_safetensors(folder / "t.safetensors", tensors);
  return read_file(folder / "t.safetensors");
}

TEST(LayoutFuzz, dduf) {
  const auto device = test::make_test_backend("reference");
  const test::TemporaryFolder folder;
  const std::string a = safetensors_bytes(folder, {{"a", Tensor::zeros(*device, {2, 3})}}),
                    b = safetensors_bytes(folder, {{"b", Tensor::zeros(*device, {4})}});
  const std::string whole =
      test::zipped({{"model_index.json",
                     R"({"_class_name": "P", "unet": ["diffusers", "UNet2DConditionModel"], "vae": ["diffusers", "AutoencoderKL"]})"},
                    {"unet/config.json", R"({"in_channels": 4})"},
                    {"unet/model-00001-of-00002.safetensors", a},
                    {"unet/model-00002-of-00002.safetensors", b},
                    {"unet/model.safetensors.index.json",
                     R"({"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}})"},
                    {"vae/config.json", "{}"},
                    {"vae/diffusion_pytorch_model.safetensors", a}});
  test::Damage damage(23);
  test::Outcome outcome;
  for (int i = 0; i < 600 * test::fuzz_rounds(); ++i) {
    std::string bytes = whole;
    for (size_t n = damage.below(3); n > 0; --n) damage.apply(bytes, damage.below(bytes.size()));
    write_file_unflushed(folder / "f.dduf", std::vector<std::string_view>{bytes});
    outcome.attempt([&] {
      const Checkpoint checkpoint = Checkpoint::open(folder / "f.dduf", {});
      for (const Component& c : checkpoint.components()) {
        checkpoint.config(c.name).integer("in_channels", 1);
        const auto source = checkpoint.tensors(c.name);
        for (const auto& [name, info] : source->list()) {
          if (!info.unreadable.empty()) continue;
          volatile std::byte sum{};
          const Tensor x = source->read(name, info.shape, *device);
          for (size_t k = 0; k < x.bytes(); ++k) sum = sum ^ x.raw()[k];
        }
      }
    });
  }
  EXPECT_GT(outcome.accepted, 100);
  EXPECT_GT(outcome.refused, 100);
}

TEST(LayoutFuzz, scaled_weights) {
  const auto device = test::make_test_backend("reference");
  const test::TemporaryFolder folder;
  Tensor f8 = Tensor::empty(*device, {2, 3}, DType::f8_e4m3), json = Tensor::empty(*device, {27}, DType::u8);
  std::fill_n(f8.data<uint8_t>(), 6, uint8_t(0x38));
  std::copy_n(R"({"format": "float8_e4m3fn"})", 27, json.data<uint8_t>());
  const std::string whole = safetensors_bytes(folder, {{"a.weight", f8},
                                                       {"a.weight_scale", Tensor::zeros(*device, {2, 1})},
                                                       {"a.comfy_quant", json},
                                                       {"b.weight", f8},
                                                       {"b.scale_weight", Tensor::zeros(*device, {1})},
                                                       {"scaled_fp8", f8}});
  test::Damage damage(24);
  test::Outcome outcome;
  for (int i = 0; i < 3000 * test::fuzz_rounds(); ++i) {
    std::string bytes = whole;
    damage.apply(bytes, damage.below(bytes.size()));
    write_file_unflushed(folder / "f.safetensors", std::vector<std::string_view>{bytes});
    outcome.attempt([&] {
      const auto source = dequantized(with_float8_scales(SafetensorsFile::open(folder / "f.safetensors")));
      for (const auto& [name, info] : source->list())
        if (info.unreadable.empty()) { EXPECT_EQ(source->read(name, info.shape, *device).to_vector().size(), size_t(info.shape.numel())); }
    });
  }
  EXPECT_GT(outcome.accepted, 100);
  EXPECT_GT(outcome.refused, 500);
}

}  // namespace
}  // namespace hearth
