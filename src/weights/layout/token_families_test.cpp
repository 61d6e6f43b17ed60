// Two fictitious families of token streams, defined only by tables. Their transformers have different prefixes and names, and they share an
// encoder that is the third of one family and the second of the other.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "weights/layout/written_layout.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::message_of;

constexpr Slot transformer{"transformer", "transformer", ComponentRole::denoiser}, vae{"vae", "VAE", ComponentRole::autoencoder},
    first{"text_encoder", "text encoder", ComponentRole::text_encoder},
    second{"text_encoder_2", "second text encoder", ComponentRole::text_encoder},
    third{"text_encoder_3", "third text encoder", ComponentRole::text_encoder};

constexpr std::array<NameRule, 4> joint_rules{{
    {"joint_blocks.#.qkv", "transformer_blocks.#.to_q", form::rows(0, 1, 3)},
    {"joint_blocks.#.qkv", "transformer_blocks.#.to_k", form::rows(1, 2, 3)},
    {"joint_blocks.#.qkv", "transformer_blocks.#.to_v", form::rows(2, 3, 3)},
    {"final_layer", "norm_out", form::swapped},
}};
NameMap joint_names() { return {{"", "", joint_rules}}; }

Geometry geometry_of_width(int64_t width) { return {.sizes = {{"width", {width}}}, .description = fmt::format("width {}", width)}; }
Geometry stated(const Json& config) { return geometry_of_width(config.value("width", 0)); }
Geometry shown(const TensorList& official) {
  const auto found = official.find("norm_out");
  return geometry_of_width(found == official.end() || found->second.shape.rank() == 0 ? 0 : found->second.shape[0]);
}

const NetworkFiles joint{
    .classes = {"JointTransformer"},
    .spellings = {{.name = "original",
                   .marks = {"joint_blocks.0.qkv", "final_layer"},
                   .reading = [](const TensorList&, const Json&) { return joint_names(); },
                   .writing = [](const TensorList&) { return joint_names(); }}},
    .geometry = shown,
    .stated_geometry = stated,
};
const NetworkFiles guided{
    .classes = {"GuidedTransformer"},
    .spellings = {{.name = "diffusers", .marks = {"guidance", "norm_out"}}},
    .geometry = shown,
    .stated_geometry = stated,
};
const NetworkFiles tower{.classes = {"Tower", "TowerWithProjection"}, .spellings = {{.name = "own", .marks = {"tower.embedding"}}}};
const NetworkFiles t5{.classes = {"T5"},
                      .spellings = {{.name = "own", .marks = {"shared", "final_norm"}}},
                      .ignored = {"extra"},
                      .fallback_config = R"({"of": "nobody"})"};

const ImageFiles three{
    .slots = {&transformer, &vae, &first, &second, &third},
    .places = {{"model.", &joint, &transformer},
               {"", &joint, &transformer},
               {"text.l.", &tower, &first},
               {"text.g.", &tower, &second},
               {"text.t5.", &t5, &third},
               {"", &t5, &third}},
    .leftovers = {"shift_table"},
    .vocabularies = {{.component = "tokenizer_3", .folder = "t5", .files = {"spiece.model"}, .instead = "tokenizer.json"}},
    .written = {{&transformer, &joint, "original", "model."}},
    .signatures = [] { return std::vector<Signature>(); },
};
const ImageFiles two{
    .slots = {&transformer, &vae, &first, &second},
    .places = {{"model.", &guided, &transformer}, {"text.l.", &tower, &first}, {"text.t5.", &t5, &second}, {"", &t5, &second}},
    .signatures = [] { return std::vector<Signature>(); },
};

class TokenFamiliesTest : public testing::Test {
 protected:
  std::unique_ptr<Backend> device = test::make_test_backend("reference");
  test::TemporaryFolder folder;
  std::vector<KnownFamily> families{{&three, folder / "three"}, {&two, folder / "two"}};

  Tensor tensor(const Shape& shape, float value = 1) {
    return Tensor::from(*device, shape, std::vector<float>(size_t(shape.numel()), value));
  }
  void configuration(const std::string& name, int64_t width, const Json& index) {
    const fs::path at = folder / name;
    fs::create_directories(at / "transformer");
    write_file(at / "model_index.json", index.dump());
    write_file(at / "transformer/config.json", Json{{"width", width}}.dump());
  }
  void SetUp() override {
    configuration("three/medium", 4,
                  {{"_class_name", "ThreePipeline"},
                   {"_name", "Three medium"},
                   {"scheduler", {"diffusers", "FlowScheduler"}},
                   {"transformer", {"diffusers", "JointTransformer"}},
                   {"text_encoder", {"transformers", "TowerWithProjection"}},
                   {"text_encoder_2", {"transformers", "TowerWithProjection"}},
                   {"text_encoder_3", {"transformers", "T5"}},
                   {"tokenizer_3", {"transformers", "T5Tokenizer"}}});
    configuration("two/dev", 6,
                  {{"_class_name", "TwoPipeline"},
                   {"_base", "medium"},
                   {"scheduler", {"diffusers", "FlowScheduler"}},
                   {"transformer", {"diffusers", "GuidedTransformer"}},
                   {"text_encoder", {"transformers", "Tower"}},
                   {"text_encoder_2", {"transformers", "T5"}}});
    fs::create_directories(folder / "three/medium/scheduler");
    fs::create_directories(folder / "three/medium/tokenizer_3");
    write_file(folder / "three/medium/scheduler/scheduler_config.json", R"({"shift": 3.0})");
    write_file(folder / "three/medium/tokenizer_3/tokenizer_config.json", "{}");
    fs::create_directories(folder / "assets/t5");
    write_file(folder / "assets/t5/spiece.model", "pieces");
  }
  std::map<std::string, Tensor> of_three() {
    return {{"model.joint_blocks.0.qkv", tensor({6, 2})},
            {"model.final_layer", tensor({4})},
            {"text.l.tower.embedding", tensor({2, 1})},
            {"text.g.tower.embedding", tensor({2, 3})},
            {"text.t5.shared", tensor({2, 2})},
            {"text.t5.final_norm", tensor({2})},
            {"shift_table", tensor({1})}};
  }
  Checkpoint open(const std::map<std::string, Tensor>& tensors, const Metadata& metadata = {}, CheckpointPlaces places = {}) {
    write_safetensors(folder / "file.safetensors", tensors, metadata);
    places.families = families, places.assets = folder / "assets";
    return Checkpoint::open(folder / "file.safetensors", places);
  }
};

TEST(Geometry, a_size_that_one_side_does_not_know_matches_any) {
  const Geometry whole{.sizes = {{"width", {4}}, {"positions", {9}}}, .description = ""},
      part{.sizes = {{"width", {4}}}, .description = ""};
  EXPECT_TRUE(whole == part && part == whole && whole == whole);
  EXPECT_FALSE(whole == (Geometry{.sizes = {{"width", {4}}, {"positions", {8}}}, .description = ""}));
  EXPECT_FALSE(part == (Geometry{.sizes = {{"width", {5}}, {"positions", {9}}}, .description = ""}));
}

TEST_F(TokenFamiliesTest, each_network_fills_the_slot_of_its_family) {
  const Checkpoint c = open(of_three());
  EXPECT_EQ(c.pipeline_class(), "ThreePipeline");
  EXPECT_EQ(c.published_name(), "Three medium");
  EXPECT_EQ(c.notes(), std::vector<std::string>());
  EXPECT_EQ(c.tensors("transformer")->list().at("transformer_blocks.0.to_k").shape, (Shape{2, 2}));
  EXPECT_EQ(c.tensors("text_encoder")->list().at("tower.embedding").shape, (Shape{2, 1}));
  EXPECT_EQ(c.tensors("text_encoder_2")->list().at("tower.embedding").shape, (Shape{2, 3}));
  EXPECT_TRUE(c.tensors("text_encoder_3")->has("shared"));
  EXPECT_EQ(c.ignored("text_encoder_3"), std::vector<std::string>{"extra"});
  EXPECT_EQ(c.text_file("tokenizer_3", "spiece.model"), "pieces");
  EXPECT_EQ(c.component("text_encoder").class_name, "TowerWithProjection");

  const Checkpoint other = open({{"model.guidance", tensor({1})},
                                 {"model.norm_out", tensor({6})},
                                 {"text.l.tower.embedding", tensor({2, 1})},
                                 {"text.t5.shared", tensor({2, 2})},
                                 {"text.t5.final_norm", tensor({2})},
                                 {"shift_table", tensor({1})}});
  EXPECT_EQ(other.pipeline_class(), "TwoPipeline");
  EXPECT_TRUE(other.tensors("text_encoder_2")->has("shared"));
  EXPECT_EQ(other.config("scheduler").number("shift"), 3);  // from its base, in the other family's folder
  EXPECT_EQ(other.notes(), std::vector<std::string>{"1 unknown tensors of the file are ignored: shift_table"});
}

TEST_F(TokenFamiliesTest, metadata_do_not_change_a_scheduler_without_prediction) {
  EXPECT_FALSE(open(of_three(), {{"modelspec.prediction_type", "v"}}).config("scheduler").has("prediction_type"));
}

TEST_F(TokenFamiliesTest, missing_components_are_named_by_slot) {
  auto tensors = of_three();
  tensors.erase("model.final_layer");
  const auto refusal = [&]<class E>(E*) { return message_of<E>([&] { open(tensors); }, folder.path()); };
  EXPECT_EQ(refusal(static_cast<WeightError*>(nullptr)),
            "FOLDER/file.safetensors: holds no transformer, only text encoder, second text encoder, third text encoder: give one with "
            "--transformer");
  tensors["model.final_layer"] = tensor({8});
  EXPECT_EQ(refusal(static_cast<UnsupportedError*>(nullptr)),
            "FOLDER/file.safetensors: its transformer (width 8) matches no built-in configuration; give one with --config DIR");
  tensors["model.final_layer"] = tensor({4});
  tensors.erase("text.t5.shared");
  EXPECT_EQ(message_of<WeightError>([&] { open(tensors).tensors("text_encoder_3"); }, folder.path()),
            "FOLDER/file.safetensors: holds no third text encoder, only transformer, text encoder, second text encoder: give one with "
            "--text-encoder-3");
}

TEST_F(TokenFamiliesTest, a_component_may_come_from_its_own_file) {
  write_safetensors(folder / "t5.safetensors", {{"shared", tensor({2, 2}, 7)}, {"final_norm", tensor({2})}});
  auto tensors = of_three();
  std::erase_if(tensors, [](const auto& named) { return named.first.starts_with("text.t5."); });
  const Checkpoint c = open(tensors, {}, {.components = {{"text_encoder_3", folder / "t5.safetensors"}}});
  EXPECT_EQ(c.tensors("text_encoder_3")->read("shared", {2, 2}, *device).to_vector()[0], 7);
  EXPECT_EQ(message_of<WeightError>([&] { open_given(folder / "t5.safetensors", "transformer", families); }, folder.path()),
            "FOLDER/t5.safetensors: holds no transformer, only third text encoder");
}

// Its own configuration, the checkpoint's, or that of the network.
TEST_F(TokenFamiliesTest, a_component_without_any_configuration_has_the_network_s) {
  const fs::path model = folder / "three/medium", own = folder / "own";
  write_safetensors(folder / "t5.safetensors", {{"shared", tensor({2, 2})}, {"final_norm", tensor({2})}});
  const auto config_of = [&](const fs::path& encoder) {
    return Checkpoint::open(model, {.families = families, .components = {{"text_encoder_3", encoder}}}).config("text_encoder_3").text("of");
  };
  EXPECT_EQ(config_of(folder / "t5.safetensors"), "nobody");
  fs::create_directories(model / "text_encoder_3");
  EXPECT_EQ(config_of(folder / "t5.safetensors"), "nobody");
  write_file(model / "text_encoder_3/config.json", R"({"of": "checkpoint"})");
  EXPECT_EQ(config_of(folder / "t5.safetensors"), "checkpoint");
  fs::create_directories(own);
  fs::copy_file(folder / "t5.safetensors", own / "model.safetensors");
  write_file(own / "config.json", R"({"of": "itself"})");
  EXPECT_EQ(config_of(own), "itself");
}

TEST_F(TokenFamiliesTest, two_networks_for_one_place_are_refused) {
  auto tensors = of_three();
  tensors["joint_blocks.0.qkv"] = tensors["final_layer"] = tensor({6, 1});
  EXPECT_EQ(message_of<UnsupportedError>([&] { open(tensors); }, folder.path()),
            "FOLDER/file.safetensors: holds two sets of tensors for the component 'transformer', with the prefixes 'model.' and ''");
}

TEST_F(TokenFamiliesTest, the_layout_that_is_written_is_that_of_the_classes) {
  const Checkpoint c = open(of_three());
  EXPECT_EQ(layout_of(c, families), &three);
  const WrittenPlace* place = place_in(three, c.component("transformer"));
  ASSERT_NE(place, nullptr);
  EXPECT_EQ(to_original("norm_out", names_in(*place, {}))->form, form::swapped);
  EXPECT_EQ(place_in(three, c.component("text_encoder_3")), nullptr);
  EXPECT_EQ(place_in(two, c.component("transformer")), nullptr);
}

}  // namespace
}  // namespace hearth
