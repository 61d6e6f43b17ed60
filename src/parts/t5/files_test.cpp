#include "parts/t5/files.h"

#include <nlohmann/json.hpp>
#include <set>

#include "core/quantized/blocks.h"
#include "parts/golden_case_test.h"
#include "parts/t5/t5_encoder.h"
#include "support/files.h"
#include "weights/component_types.h"
#include "weights/gguf/gguf_writer.h"
#include "weights/layout/given_component.h"
#include "weights/layout/key_lists_test.h"
#include "weights/safetensors/safetensors.h"
#include "weights/seeded.h"

namespace hearth::parts {
namespace {

constexpr Slot third{"text_encoder_3", "third text encoder", ComponentRole::text_encoder};
const ImageFiles family{
    .slots = {&third},
    .places = {{"text_encoders.t5xxl.transformer.", &t5_files, &third}, {"", &t5_files, &third}},
    .signatures =
        [] {
          return t5_xxl_signatures("T5 v1.1 XXL encoder", {"", "text_encoders.t5xxl.transformer."});
        },
};
const std::vector<KnownFamily> families{{&family, {}}};

nlohmann::json golden(const std::string& name) {
  return nlohmann::json::parse(Structure::read(test::folder_of(__FILE__) / "golden" / (name + ".json")));
}

TensorList xxl_tensors() {
  const nlohmann::json tensors = golden("xxl").at("tensors");
  TensorList all;
  for (const auto& [name, sizes] : tensors.items()) {
    TensorInfo info{.dtype = DType::f16};
    for (const auto& size : sizes) info.shape.push_back(size.get<int64_t>());
    all[name] = info;
  }
  return all;
}

TensorList renamed(const TensorList& all, const NameMap& map, const std::string& prefix = {}) {
  TensorList result;
  for (const auto& [name, info] : all) result[prefix + to_original(name, map).value().name] = info;
  return result;
}

TEST(T5Files, ggml_s_names_are_those_of_its_converter) {
  const nlohmann::json names = golden("gguf_names").at("names");
  ASSERT_EQ(names.at("xxl").size(), 219u);
  for (const auto& [model, table] : names.items()) {
    const NameMap& map = t5_gguf_names(model == "xxl");
    std::set<std::string> distinct;
    for (const auto& [official, stored] : table.items()) {
      EXPECT_EQ(to_original(official, map).value().name, stored.get<std::string>());
      const std::vector<Renamed> back = to_official(stored.get<std::string>(), map);
      ASSERT_EQ(back.size(), 1u) << stored;
      EXPECT_EQ(back[0].name, official);
      distinct.insert(stored.get<std::string>());
    }
    EXPECT_EQ(distinct.size(), table.size());
  }
}

TEST(T5Files, every_layout_of_the_published_file_is_the_same_network) {
  const TensorList official = xxl_tensors();
  for (const std::string prefix : {"", "text_encoders.t5xxl.transformer."})
    for (const Spelling& spelling : t5_files.spellings) {
      const TensorList stored = renamed(official, spelling.writing(official), prefix);
      const std::vector<Section> sections = find_sections(stored, families, "file");
      ASSERT_EQ(sections.size(), 1u) << spelling.name;
      EXPECT_EQ(sections[0].spelling, &spelling);
      EXPECT_EQ(sections[0].prefix, prefix);
      const TensorList read = open_section(std::make_shared<test::ListedSource>(stored), sections[0], {})->list();
      ASSERT_EQ(read.size(), official.size());
      for (const auto& [name, info] : official) EXPECT_EQ(read.at(name).shape, info.shape) << name;

      const std::vector<Recognized> found = recognize(stored, signatures_of(families));
      ASSERT_EQ(found.size(), 1u);
      EXPECT_EQ(found[0].what, "T5 v1.1 XXL encoder");
      EXPECT_EQ(found[0].layout, spelling.name);
      EXPECT_EQ(found[0].prefix, prefix);
    }
}

// Encoders of other sizes are named, too, but not as this one.
TEST(T5Files, other_encoders_are_not_recognized_as_xxl) {
  for (const Spelling& spelling : t5_files.spellings) {
    TensorList shallow = xxl_tensors();
    std::erase_if(shallow, [](const auto& t) { return t.first.starts_with("encoder.block.23."); });
    const std::vector<Recognized> found = recognize(renamed(shallow, spelling.writing(shallow)), signatures_of(families));
    ASSERT_EQ(found.size(), 1u) << spelling.name;
    EXPECT_EQ(found[0].what, "T5 encoder");
  }
}

TEST(T5Files, the_fallback_configuration_is_that_of_xxl) {
  const Structure s(__FILE__, "xxl");
  EXPECT_TRUE(T5Config::from(Config::parse(std::string(t5_files.fallback_config), "xxl")) == T5Config::from(s.config()));
}

// A tiny encoder in files of all layouts.
struct T5Layouts : testing::Test {
  std::unique_ptr<Backend> device = test::make_test_backend("cpu_avx2");
  test::TemporaryFolder folder;
  T5Config config{.vocabulary = 40,
                  .width = 32,
                  .layers = 2,
                  .heads = 3,
                  .head = 32,
                  .mlp_width = 64,
                  .buckets = 8,
                  .farthest = 12,
                  .gated = true,
                  .activation = Activation::gelu_tanh};
  std::map<std::string, Tensor> official = tensors_of(config);

  std::map<std::string, Tensor> tensors_of(const T5Config& c) const {
    struct Kept final : TensorSource {
      std::string describe() const override { return "seeded"; }
      std::map<std::string, TensorInfo> list() const override { return {}; }
      bool has(const std::string&) const override { return true; }
      Tensor read(const std::string& name, const Shape& shape, Backend& backend) override {
        return kept[name] = Tensor::from(backend, shape, seeded_values(name, shape));
      }
      std::map<std::string, Tensor> kept;
    };
    const auto source = std::make_shared<Kept>();
    Weights weights(source, *device);
    const T5EncoderModel t5(Scope(weights), c);
    return source->kept;
  }
  std::vector<float> run(const std::shared_ptr<TensorSource>& source, const std::vector<std::string>& ignored,
                         const WeightTypes& types = {}) const {
    Weights weights(source, *device, {.types = types, .ignore = ignored});
    const T5EncoderModel t5(Scope(weights), config);
    weights.finish();
    return t5({{5, 6, 7, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}}).to_vector();
  }
  std::vector<float> run(const std::map<std::string, Tensor>& tensors) const {
    write_safetensors(folder / "file.safetensors", tensors);
    const GivenComponent given = open_given(folder / "file.safetensors", "text_encoder_3", families);
    const auto surplus = given.spelling->surplus;
    return run(given.tensors, surplus ? surplus("T5EncoderModel", Config::parse("{}", "config")) : given.network->ignored);
  }
};

TEST_F(T5Layouts, all_layouts_give_the_same_result) {
  if (!device) GTEST_SKIP();
  const std::vector<float> y = run(official);
  auto tensors = official;
  for (const std::string more :
       {"encoder.embed_tokens.weight", "decoder.block.0.layer.0.layer_norm.weight", "lm_head.weight", "spiece_model"})
    tensors[more] = Tensor::zeros(*device, {3});
  EXPECT_EQ(run(tensors), y);
  tensors = official;
  auto embedding = tensors.extract("shared.weight");
  embedding.key() = "encoder.embed_tokens.weight";
  tensors.insert(std::move(embedding));
  EXPECT_EQ(run(tensors), y);
  for (const std::string prefix : {"", "text_encoders.t5xxl.transformer."}) {
    std::map<std::string, Tensor> own, ggml;
    for (const auto& [name, x] : official) own[prefix + name] = x, ggml[prefix + to_original(name, t5_gguf_names(true))->name] = x;
    EXPECT_EQ(run(own), y);
    EXPECT_EQ(run(ggml), y);
    ggml[prefix + "dec.blk.0.attn_q.weight"] = ggml[prefix + "dec.output_norm.weight"] = ggml[prefix + "output.weight"] =
        Tensor::zeros(*device, {3});
    EXPECT_EQ(run(ggml), y);
  }
}

// As llama.cpp's tools write it: matrices in blocks, the table of the bias in f32.
TEST_F(T5Layouts, a_gguf_file_equals_its_values) {
  if (!device) GTEST_SKIP();
  for (const DType type : {DType::f16, DType::bf16, DType::q8_0, DType::q5_1, DType::q4_0}) {
    std::map<std::string, Tensor> decoded;
    std::vector<GgufTensor> tensors;
    std::vector<Tensor> stored;
    for (const auto& [name, x] : official) {
      const bool kept = x.rank() == 1 || name.find("relative_attention_bias") != name.npos;
      Tensor y = x;
      if (!kept) {
        y = Tensor::empty(*device, x.shape(), type);
        if (is_blocked(type)) encode_blocks(type, x.data<float>(), x.numel(), y.raw());
        else device->copy(x, y);
      }
      decoded[name] = Tensor::from(*device, x.shape(), y.to_vector());
      tensors.push_back({to_original(name, t5_gguf_names(true))->name, y.dtype(), y.shape()});
      stored.push_back(y);
    }
    GgufValues values;
    values.text("general.architecture", "t5encoder");
    write_gguf(folder / "file.gguf", values, tensors, [&](size_t i, const WriteBytes& write) {
      write({stored[i].raw(), stored[i].bytes()});
    });
    SCOPED_TRACE(name_of(type));
    const GivenComponent given = open_given(folder / "file.gguf", "text_encoder_3", families);
    const WeightTypes types = component_types(*given.tensors, *device, WeightTypes{});
    EXPECT_EQ(types.in_place, is_blocked(type));
    EXPECT_CLOSE(run(given.tensors, {}, types), run(decoded), 3e-6);  // observed 7.1e-7
  }
}

TEST_F(T5Layouts, an_encoder_of_another_size_is_one_line) {
  if (!device) GTEST_SKIP();
  auto wide = config;
  wide.width = 64;
  official = tensors_of(wide);
  try {
    run(official);
    FAIL();
  } catch (const WeightError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("'shared.weight' has shape [40, 64], expected [40, 32]"), text.npos) << text;
    EXPECT_EQ(text.find('\n'), text.npos);
  }
}

}  // namespace
}  // namespace hearth::parts
