// One table for both directions, with the rows of a fictitious family.
#include "weights/gguf/gguf_language.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "support/files.h"
#include "weights/gguf/gguf_writer.h"
#include "weights/language_checkpoint.h"

namespace hearth {
namespace {

using Json = nlohmann::json;
using Kind = GgufKey::Kind;
using test::message_of;

double two(const GgufKeys&) { return 2; }
std::string twice_the_depth(const Config& c) { return std::to_string(2 * c.integer("depth")); }
constexpr GgufHeads heads[] = {{"layers.#.query.*", "num_heads"}};

GgufArchitecture lantern() {
  return {
      .name = "lantern",
      .keys =
          {
              {.key = "block_count", .config = "depth"},
              {.key = "attention.head_count", .config = "num_heads", .otherwise = two},
              {.key = "attention.key_length", .config = "head"},
              {.key = "attention.value_length", .config = "head"},
              {.key = "attention.sliding_window", .config = "window", .optional = true},
              {.key = "norm_epsilon", .config = "eps", .kind = Kind::number},
              {.key = "use_parallel_residual", .config = "parallel", .kind = Kind::flag},
              {.key = "vocab_size", .config = "words", .kind = Kind::rows, .tensor = "token_embd.weight"},
              {.key = "attention.layer_norm_epsilon", .kind = Kind::nothing},
              {.config = "biased", .kind = Kind::present, .tensor = "blk.0.attn_q.bias"},
              {.config = "tied", .kind = Kind::lacking, .tensor = "output.weight"},
              {.config = "scaling", .kind = Kind::rope_scaling},
              {.config = "divisors", .kind = Kind::divisors, .tensor = "rope_freqs.weight"},
              {.config = "unsaid", .kind = Kind::implied, .implied = twice_the_depth},
          },
      .names = {{"token_embd.weight", "words.weight"}, {"blk.#.attn_q.*", "layers.#.query.*"}},
      .model_type = "lantern_text",
      .class_name = "LanternForCausalLM",
  };
}

class GgufLanguage : public ::testing::Test {
 protected:
  // The config of a file with these values and tensors.
  Config read(const GgufValues& values, const std::vector<GgufTensor>& more = {}, const GgufArchitecture& a = lantern()) const {
    std::vector<GgufTensor> tensors = {{"token_embd.weight", DType::f32, {10, 24}}};
    tensors.insert(tensors.end(), more.begin(), more.end());
    write_gguf(folder / "m.gguf", values, tensors, [&](size_t i, const WriteBytes& write) {
      const std::vector<float> twos(size_t(tensors[i].shape.numel()), 2.0f);
      write(std::as_bytes(std::span(twos)));
    });
    return gguf_config(*GgufFile::open(folder / "m.gguf"), a);
  }
  GgufValues written(const Json& config, const GgufArchitecture& a = lantern()) const {
    GgufValues values;
    values.text("general.architecture", a.name);
    write_gguf_config(Config::parse(config.dump(), "config.json"), a, values);
    return values;
  }
  std::string refusal(const std::string& key, int64_t value) const {
    GgufValues values = written(stated);
    values.integer("lantern." + key, value);
    return message_of<UnsupportedError>([&] { read(values); }, folder.path());
  }

  const Json stated = {{"depth", 3}, {"num_heads", 6}, {"head", 4}, {"eps", 0.5}, {"parallel", true}, {"words", 10}, {"unsaid", 6}};
  test::TemporaryFolder folder;
};

TEST_F(GgufLanguage, written_files_are_read_back) {
  Json all = stated;
  all["window"] = 7;
  all["biased"] = true;
  all["scaling"] = {{"rope_type", "linear"}, {"factor", 2.5}};
  const Config c = read(written(all), {{"blk.0.attn_q.bias", DType::f32, {24}}, {"rope_freqs.weight", DType::f32, {3}}});
  all["tied"] = true;
  all["divisors"] = {2, 2, 2};
  all["model_type"] = "lantern_text";
  all["architectures"] = {"LanternForCausalLM"};
  for (const auto& [key, value] : all.items()) EXPECT_EQ(Json::parse(c.dump(key)), value) << key;
  EXPECT_EQ(c.keys().size(), all.size());
}

TEST_F(GgufLanguage, optional_keys_may_be_absent) {
  GgufValues values;
  values.text("general.architecture", "lantern");
  values.integer("lantern.block_count", 1), values.integer("lantern.attention.key_length", 4), values.f32("lantern.norm_epsilon", 1);
  values.boolean("lantern.use_parallel_residual", false), values.f32("lantern.attention.layer_norm_epsilon", 1);
  const Config c = read(values, {{"output.weight", DType::f32, {10, 24}}});
  EXPECT_EQ(c.integer("num_heads"), 2);
  for (const char* key : {"window", "scaling", "divisors", "rope_pairs", "eos_token_id"}) EXPECT_FALSE(c.has(key)) << key;
  for (const char* key : {"tied", "biased", "parallel"}) EXPECT_FALSE(c.boolean(key)) << key;
}

TEST_F(GgufLanguage, two_keys_that_are_one_of_the_config_are_both_written) {
  read(written(stated));
  const auto file = GgufFile::open(folder / "m.gguf");
  EXPECT_EQ(file->metadata().integer("lantern.attention.key_length"), 4);
  EXPECT_EQ(file->metadata().integer("lantern.attention.value_length"), 4);
  EXPECT_EQ(file->metadata().integer("lantern.vocab_size"), 10);
  EXPECT_EQ(file->metadata().values().size(), 8u);
}

TEST_F(GgufLanguage, a_list_of_one_number_for_each_layer) {
  const auto with = [&](std::vector<int32_t> counts) {
    Json config = stated;
    config.erase("num_heads");
    GgufArchitecture a = lantern();
    GgufValues values;
    values.text("general.architecture", "lantern");
    values.i32s("lantern.attention.head_count", counts);
    a.keys[1].optional = true;
    write_gguf_config(Config::parse(config.dump(), "config.json"), a, values);
    return read(values).integer("num_heads");
  };
  EXPECT_EQ(with({5, 5, 5}), 5);
  EXPECT_EQ(message_of<UnsupportedError>(
                [&] {
                  with({5, 6});
                },
                folder.path()),
            "FOLDER/m.gguf: 'lantern.attention.head_count' differs between layers, which is not supported");
}

TEST_F(GgufLanguage, a_key_without_a_row_may_say_nothing_only) {
  EXPECT_EQ(refusal("expert_count", 8), "FOLDER/m.gguf: 'lantern.expert_count' = 8 is not supported");
  EXPECT_EQ(refusal("expert_count", 0), "");
  EXPECT_EQ(refusal("logit_scale", 1), "");
  EXPECT_EQ(refusal("pooling_type", 3), "");
  // A row for RoPE scaling covers all its keys; without the row they are refused.
  EXPECT_EQ(refusal("rope.scaling.finetuned", 1), "");
  GgufArchitecture plain = lantern();
  std::erase_if(plain.keys, [](const GgufKey& row) { return row.kind == Kind::rope_scaling; });
  GgufValues values = written(stated, plain);
  values.f32("lantern.rope.scaling.factor", 2);
  EXPECT_EQ(message_of<UnsupportedError>([&] { read(values, {}, plain); }, folder.path()),
            "FOLDER/m.gguf: 'lantern.rope.scaling.factor' = 2 is not supported");
}

TEST_F(GgufLanguage, keys_without_a_row_are_not_written) {
  const auto with = [&](const char* key, const Json& value) {
    Json config = stated;
    config[key] = value;
    return message_of<UnsupportedError>([&] { written(config); });
  };
  const std::string begin = "config.json: GGUF files of the architecture lantern cannot express ";
  EXPECT_EQ(with("activation", "gelu"), begin + "'activation' = \"gelu\"");
  EXPECT_EQ(with("activation", nullptr), "");
  EXPECT_EQ(with("unsaid", 5), begin + "'unsaid' = 5");  // without a key, it is twice the depth
  EXPECT_EQ(with("scaling", {{"rope_type", "dynamic"}, {"factor", 2}}), begin + "rope scaling of the type dynamic");
  Json yarn = {{"rope_type", "yarn"}, {"factor", 1},          {"original_max_position_embeddings", 32}, {"beta_fast", 32}, {"beta_slow", 1},
               {"truncate", true},    {"attention_factor", 1}};
  EXPECT_EQ(with("scaling", yarn), "");
  for (const char* key : {"beta_fast", "beta_slow", "attention_factor"}) {
    Json unusual = yarn;
    unusual[key] = 3;
    EXPECT_EQ(with("scaling", unusual), begin + "yarn with a beta_fast, beta_slow, truncate or attention factor other than the default");
  }
}

TEST_F(GgufLanguage, interleaved_heads_are_reported) {
  GgufArchitecture a = lantern();
  a.neighbors = heads;
  EXPECT_EQ(read(written(stated), {}, a).text("rope_pairs"), "neighbors");
}

TEST_F(GgufLanguage, norms_that_are_stored_plus_one_are_reported) {
  static constexpr std::string_view norms[] = {"layers.#.norm.weight"};
  GgufArchitecture a = lantern();
  a.plus_one = norms;
  EXPECT_EQ(read(written(stated), {}, a).number("norm_offset"), 0);
  EXPECT_FALSE(read(written(stated)).has("norm_offset"));
}

TEST_F(GgufLanguage, lists_of_layers) {
  GgufArchitecture a = lantern();
  a.keys[1] = {.key = "attention.head_count", .config = "heads_of_layers", .kind = Kind::per_layer};
  a.keys.push_back({.config = "biased_layers", .kind = Kind::layers, .tensor = "blk.#.attn_q.bias"});
  Json config = stated;
  config.erase("num_heads");
  config["heads_of_layers"] = {0, 4, 0};
  const GgufValues values = written(config, a);
  const Config back = read(values, {{"blk.2.attn_q.bias", DType::f32, {1}}, {"blk.0.attn_q.bias", DType::f32, {1}}}, a);
  EXPECT_EQ(back.integers("heads_of_layers"), (std::vector<int64_t>{0, 4, 0}));
  EXPECT_EQ(back.integers("biased_layers"), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(read(written(stated), {}, a).integers("heads_of_layers"), std::vector<int64_t>(3, stated["num_heads"].get<int64_t>()));
  config["heads_of_layers"] = {0, 4};
  EXPECT_EQ(message_of<WeightError>([&] { read(written(config, a), {}, a); }, folder.path()),
            "FOLDER/m.gguf: 'lantern.attention.head_count' has 2 entries, expected one for each of 3 layers");
}

TEST_F(GgufLanguage, tensors_in_another_form_have_their_official_shapes) {
  static constexpr GgufForm forms[] = {{"layers.#.rates", GgufForm::Kind::negative_exp},
                                       {"layers.#.rates", GgufForm::Kind::column},
                                       {"layers.#.taps", GgufForm::Kind::squeezed},
                                       {"layers.#.norm", GgufForm::Kind::groups, "num_heads"}};
  const auto stored = [&](const std::string& name, const Shape& shape, int64_t count = 3) {
    return gguf_shape(name, shape, forms, [&](std::string_view key) { return key == "num_heads" ? count : 0; });
  };
  EXPECT_EQ(stored("layers.1.rates", {5}), (Shape{5, 1}));
  EXPECT_EQ(stored("layers.1.taps", {5, 1, 4}), (Shape{5, 4}));
  EXPECT_EQ(stored("layers.1.norm", {6}), (Shape{3, 2}));
  EXPECT_EQ(stored("layers.1.other", {6}), (Shape{6}));
  EXPECT_THROW(stored("layers.1.norm", {6}, 4), WeightError);
  EXPECT_TRUE(is_negative_exp("layers.1.rates", forms));
  EXPECT_FALSE(is_negative_exp("layers.1.taps", forms));

  GgufArchitecture a = lantern();
  a.forms = forms;
  EXPECT_FALSE(read(written(stated), {}, a).boolean("decay_logarithms"));
  EXPECT_FALSE(read(written(stated)).has("decay_logarithms"));
  a.names = {{"blk.#.rates", "layers.#.rates"}, {"blk.#.taps", "layers.#.taps"}, {"blk.#.norm", "layers.#.norm"}};
  read(written(stated), {{"blk.0.rates", DType::f32, {5, 1}}, {"blk.0.taps", DType::f32, {5, 4}}, {"blk.0.norm", DType::f32, {3, 2}}}, a);
  const LanguageCheckpoint checkpoint = LanguageCheckpoint::open(folder / "m.gguf", {}, std::array{a});
  const auto tensors = checkpoint.tensors()->list();
  EXPECT_EQ(tensors.at("layers.0.rates").shape, (Shape{5}));
  EXPECT_EQ(tensors.at("layers.0.taps").shape, (Shape{5, 1, 4}));
  EXPECT_EQ(tensors.at("layers.0.norm").shape, (Shape{6}));
}

TEST_F(GgufLanguage, a_mark_selects_between_families_of_one_architecture) {
  GgufArchitecture other = lantern();
  other.marked_by = "attention.sliding_window";
  other.model_type = "windowed";
  const std::vector<GgufArchitecture> known = {other, lantern()};
  const auto type_of = [&](const GgufValues& values) {
    read(values);
    return gguf_architecture_of(GgufFile::open(folder / "m.gguf")->metadata(), known).model_type;
  };
  Json config = stated;
  for (const auto& [window, type] : {std::pair(9, "windowed"), {0, "lantern_text"}}) {
    config["window"] = window;
    EXPECT_EQ(type_of(written(config)), type);
  }
  EXPECT_EQ(type_of(written(stated)), "lantern_text");
  GgufValues values;
  values.text("general.architecture", "candle");
  write_gguf(folder / "m.gguf", values, {}, [](size_t, const WriteBytes&) {});
  EXPECT_EQ(message_of<UnsupportedError>([&] { LanguageCheckpoint::open(folder / "m.gguf", "", known); }, folder.path()),
            "FOLDER/m.gguf: the architecture 'candle' is not supported, only lantern");
}

}  // namespace
}  // namespace hearth
