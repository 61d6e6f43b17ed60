// Deterministic damage to single files, configurations, DDUF archives and 8-bit weights: whatever they say, the answer is a checkpoint or
// one of our errors. HEARTH_FUZZ_ROUNDS multiplies the length.
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/json.h"
#include "support/backend_test.h"
#include "support/damage.h"
#include "support/files.h"
#include "support/torch_writer.h"
#include "weights/checkpoint.h"
#include "weights/layout/key_lists_test.h"
#include "weights/layout/single_file.h"
#include "weights/layout/widened.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int accepted = 0, refused = 0;

  template <class F> void attempt(F f) {
    try {
      f();
      ++accepted;
    } catch (const Error& e) {
      ++refused;
      EXPECT_EQ(std::string_view(e.what()).find('\n'), std::string_view::npos) << e.what();
    } catch (const std::exception& e) { ADD_FAILURE() << "not one of our errors: " << e.what(); }
  }
};

// Names and shapes of a published file, some of them other ones.
TEST(layout_fuzz, names_and_shapes) {
  test::Damage damage(21);
  std::vector<TensorList> seeds;
  for (const char* list : {"sd15-single-file", "sd21-single-file"}) {
    TensorList& seed = seeds.emplace_back();
    for (const auto& [name, info] : test::key_list(list))  // a third of each: what is missing is the rule
      if (name.find(".transformer_blocks.0.ff") == name.npos && name.find("resblocks.1") == name.npos) seed.emplace(name, info);
  }
  const fs::path assets = fs::path(HEARTH_SOURCE_DIR) / "assets";
  Outcome outcome;
  int unknown = 0;
  for (int i = 0; i < 60 * test::fuzz_rounds(); ++i) {
    TensorList tensors = seeds[damage.below(seeds.size())];
    for (size_t n = damage.below(6); n > 0; --n) {
      auto node = tensors.extract(std::next(tensors.begin(), ptrdiff_t(damage.below(tensors.size()))));
      Shape& shape = node.mapped().shape;
      switch (damage.below(4)) {
        case 0: damage.apply(node.key(), damage.below(node.key().size())); break;
        case 1: shape = Shape(); break;
        case 2: shape.push_back(int64_t(damage.below(5))); break;
        case 3:
          if (shape.rank() > 0) shape[int(damage.below(size_t(shape.rank())))] = int64_t(damage.below(4000));
      }
      if (damage.below(8) > 0) tensors.insert(std::move(node));
    }
    outcome.attempt([&] {
      const auto source = std::make_shared<test::ListedSource>(tensors);
      for (const Section& section : find_sections(tensors, "list")) {
        const TensorList official = open_section(source, section, {.class_embedding = damage.below(2) == 0})->list();
        if (section.component == "unet") unknown += configs_with(assets, geometry_of(official)).empty();
      }
    });
  }
  EXPECT_GT(outcome.accepted, 40);
  EXPECT_GT(unknown, 0);
}

TEST(layout_fuzz, configurations) {
  test::Damage damage(22);
  const fs::path configs = fs::path(HEARTH_SOURCE_DIR) / "assets/configs";
  std::vector<std::string> seeds;
  for (const char* name : {"sd15", "sdxl", "ssd-1b", "sdxl-refiner"}) seeds.push_back(read_file(configs / name / "unet/config.json"));
  Outcome outcome;
  for (int i = 0; i < 5000 * test::fuzz_rounds(); ++i) {
    std::string text = seeds[damage.below(seeds.size())];
    damage.apply(text, damage.below(text.size()));
    outcome.attempt([&] { geometry_of(parse_json(text, "f")).describe(); });
  }
  EXPECT_GT(outcome.accepted, 500);
  EXPECT_GT(outcome.refused, 1000);
}

std::string safetensors_bytes(const test::TemporaryFolder& folder, const std::map<std::string, Tensor>& tensors) {
  write_safetensors(folder / "t.safetensors", tensors);
  return read_file(folder / "t.safetensors");
}

TEST(layout_fuzz, dduf) {
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
  Outcome outcome;
  for (int i = 0; i < 600 * test::fuzz_rounds(); ++i) {
    std::string bytes = whole;
    for (size_t n = damage.below(3); n > 0; --n) damage.apply(bytes, damage.below(bytes.size()));
    write_file_unflushed(folder / "f.dduf", std::vector<std::string_view>{bytes});
    outcome.attempt([&] {
      const Checkpoint checkpoint = Checkpoint::open(folder / "f.dduf");
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

TEST(layout_fuzz, scaled_weights) {
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
  Outcome outcome;
  for (int i = 0; i < 3000 * test::fuzz_rounds(); ++i) {
    std::string bytes = whole;
    damage.apply(bytes, damage.below(bytes.size()));
    write_file_unflushed(folder / "f.safetensors", std::vector<std::string_view>{bytes});
    outcome.attempt([&] {
      const auto source = widened(SafetensorsFile::open(folder / "f.safetensors"));
      for (const auto& [name, info] : source->list())
        if (info.unreadable.empty()) { EXPECT_EQ(source->read(name, info.shape, *device).to_vector().size(), size_t(info.shape.numel())); }
    });
  }
  EXPECT_GT(outcome.accepted, 100);
  EXPECT_GT(outcome.refused, 500);
}

}  // namespace
}  // namespace hearth
