#include "parts/t5/t5_encoder.h"

#include <map>
#include <sstream>

#include "backends/reference/reference_backend.h"
#include "core/quantized/blocks.h"
#include "parts/golden_case_test.h"

namespace hearth::parts {
namespace {

// Some tensors multiplied by a factor of their own.
class SomeScaled final : public ScaledSource {
 public:
  SomeScaled(float factor, std::map<std::string, float> factors) : ScaledSource(factor), factors_(std::move(factors)) {}
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    const Tensor x = ScaledSource::read(name, wanted, backend);
    const auto it = factors_.find(name);
    if (it == factors_.end()) return x;
    std::vector<float> values = x.to_vector();
    for (float& v : values) v *= it->second;
    return Tensor::from(backend, wanted, values);
  }

 private:
  std::map<std::string, float> factors_;
};

struct T5Case : GoldenCase {
  T5Case(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  Tensor run(const Config& json, const LoadOptions& options = {}) const {
    Weights w(std::make_shared<SomeScaled>(fact("factor").get<float>(), fact("factors").get<std::map<std::string, float>>()), *device,
              options);
    const T5EncoderModel t5(Scope(w), T5Config::from(json));
    w.finish();
    return t5(fact("ids"), fact("lengths"));
  }
  Tensor run(const LoadOptions& options = {}) const { return run(config(), options); }
};

void check_t5(Backend& device, const char* name, double limit) {
  const T5Case c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  EXPECT_CLOSE(c.run(), c.golden.values("y"), limit);
  c.expect_taps(recorder, limit);
}

BACKEND_TEST(T5, matches_reference_v1_1) { check_t5(device, "v1_1", 2e-6); }                       // observed 1.4e-7 reference, 6.2e-7 cpu
BACKEND_TEST(T5, matches_reference_v1_0_with_lengths) { check_t5(device, "v1_0", 1e-6); }          // observed 1.2e-7 reference, 3.0e-7 cpu
BACKEND_TEST(T5, matches_reference_umt5_with_lengths) { check_t5(device, "umt5", 3e-6); }          // observed 4.0e-7 reference, 8.9e-7 cpu
BACKEND_TEST(T5, matches_reference_beyond_the_last_bucket) { check_t5(device, "far", 3e-6); }      // observed 1.5e-7 reference, 9.1e-7 cpu
BACKEND_TEST(T5, eps_of_each_norm) { check_t5(device, "faint", 4e-7); }                            // observed 6.3e-8 reference, 7.9e-8 cpu
BACKEND_TEST(T5, matches_reference_with_a_stream_beyond_f16) { check_t5(device, "large", 3e-6); }  // observed 2.5e-7 reference, 7.6e-7 cpu

// The stream stays right however weights are held; only their rounding shows.
BACKEND_TEST(T5, a_stream_beyond_f16_with_weights_in_16_bits) {
  const T5Case c("large", device);
  const std::vector<float> y = c.golden.values("y");
  EXPECT_CLOSE(c.run({.types = {.hold = DType::f16}}), y, 5e-3);                    // observed 1.6e-3
  EXPECT_CLOSE(c.run({.types = {.hold = DType::f16, .in_place = true}}), y, 5e-3);  // observed 1.6e-3
  EXPECT_CLOSE(c.run({.types = {.hold = DType::bf16}}), y, 5e-2);                   // observed 1.6e-2
  if (!device.multiplies_bf16()) return;
  EXPECT_CLOSE(c.run({.types = {.hold = DType::bf16, .factors = DType::bf16}}), y, 6e-2);                    // observed 2.0e-2
  EXPECT_CLOSE(c.run({.types = {.hold = DType::bf16, .factors = DType::bf16, .in_place = true}}), y, 6e-2);  // observed 2.0e-2
}

// The same on a device that stores results inside a block in 16 bits.
TEST(T5Devices, a_stream_beyond_f16_with_inner_results_in_16_bits) {
  for (const DType inner : {DType::f16, DType::bf16}) {
    SCOPED_TRACE(name_of(inner));
    const double limit = inner == DType::f16 ? 1e-2 : 6e-2;  // observed 3.1e-3, 1.7e-2
    const auto device = make_reference_backend(2, inner);
    const T5Case c("large", *device);
    const std::vector<float> y = c.golden.values("y");
    EXPECT_CLOSE(c.run(), y, limit);
    EXPECT_CLOSE(c.run({.types = {.hold = DType::f16}}), y, limit);
    EXPECT_CLOSE(c.run({.types = {.hold = DType::f16, .in_place = true}}), y, limit);
    EXPECT_CLOSE(c.run({.types = {.hold = DType::bf16, .factors = DType::bf16}}), y, 6e-2);  // observed 2.2e-2
  }
}

// Weights in blocks of Q8_0, or the values of these blocks in f32.
class InBlocks final : public TensorSource {
 public:
  explicit InBlocks(bool decoded) : decoded_(decoded) {}
  std::string describe() const override { return "seeded weights in blocks"; }
  std::map<std::string, TensorInfo> list() const override { return {}; }
  bool has(const std::string&) const override { return true; }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    const std::vector<float> values = seeded_values(name, wanted);
    if (wanted.rank() == 1) return Tensor::from(backend, wanted, values);
    const Tensor blocks = Tensor::empty(backend, wanted, DType::q8_0);
    encode_blocks(DType::q8_0, values.data(), wanted.numel(), blocks.raw());
    return decoded_ ? Tensor::from(backend, wanted, blocks.to_vector()) : blocks;
  }

 private:
  bool decoded_;
};

BACKEND_TEST(T5, blocks_in_place_equal_their_values) {
  for (const bool every_layer : {false, true}) {
    const T5Config config{.vocabulary = 50,
                          .width = 64,
                          .layers = 2,
                          .heads = 32,
                          .head = 3,
                          .mlp_width = 160,
                          .buckets = 8,
                          .farthest = 12,
                          .every_layer = every_layer,
                          .gated = true,
                          .activation = Activation::gelu_tanh};
    const auto run = [&](bool decoded, const WeightTypes& types) {
      Weights w(std::make_shared<InBlocks>(decoded), device, {.types = types});
      const T5EncoderModel t5(Scope(w), config);
      w.finish();
      return t5({std::vector<int32_t>(20, 7), {3, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}, {20, 3});
    };
    const std::vector<float> y = run(true, {}).to_vector();
    EXPECT_CLOSE(run(false, {.in_place = true}), y, 2e-6);                         // observed 3.9e-7
    EXPECT_CLOSE(run(false, {.factors = DType::i16, .in_place = true}), y, 2e-4);  // observed 4.6e-5
    if (!device.multiplies_bf16()) continue;
    EXPECT_CLOSE(run(false, {.factors = DType::bf16, .in_place = true}), y, 2e-2);  // observed 4.7e-3
  }
}

// Changing each key alone gives the result of the reference.
BACKEND_TEST(T5, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 4e-6;  // observed 7.0e-7 reference, 1.2e-6 cpu
  const T5Case c("perturbed", device);
  EXPECT_CLOSE(c.run(), c.golden.values("base"), limit);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    EXPECT_CLOSE(c.run(c.config_with(change["key"], change["value"])), c.golden.values(std::to_string(i++)), limit);
  }
}

TEST(T5Buckets, every_distance_has_the_bucket_of_the_reference) {
  const auto json = nlohmann::json::parse(Structure::read(test::folder_of(__FILE__) / "golden" / "buckets.json"));
  for (const auto& [name, table] : json.at("tables").items()) {
    int64_t buckets = 0, farthest = 0;
    std::istringstream(name) >> buckets >> farthest;
    ASSERT_EQ(table.size(), 1401u);
    for (int64_t i = 0; i < 1401; ++i)
      EXPECT_EQ(t5_bucket(i - 700, buckets, farthest), table[size_t(i)].get<int64_t>()) << name << " " << i - 700;
  }
}

TEST(T5Config, published_configs_ask_for_exactly_the_published_tensors) {
  for (const char* name : {"xxl", "umt5_xxl"}) {
    const Structure s(__FILE__, name);
    const T5Config c = T5Config::from(s.config());
    EXPECT_EQ(s.json.at("tensors").size(), c.every_layer ? 242u : 219u);
    s.expect_same([&](const Scope& w) { return T5EncoderModel(w, c); },
                  [](const T5EncoderModel& t5, Backend&) {
                    EXPECT_EQ(t5({std::vector<int32_t>(512, 1)}).shape(), (Shape{1, 512, 4096}));
                  });
  }
}

TEST(T5Config, defaults_are_the_reference_s) {
  for (const std::string name : {"t5", "mt5", "umt5"}) {
    const std::string defaults = Structure::read(test::folder_of(__FILE__) / "golden" / ("defaults_" + name + ".json"));
    EXPECT_TRUE(T5Config::from(Config::parse("{\"model_type\": \"" + name + "\"}", "empty")) ==
                T5Config::from(Config::parse(defaults, "defaults.json")))
        << name;
  }
}

TEST(T5Config, class_type_and_architecture_decide_where_biases_are) {
  const auto read = [](const std::string& json, const std::string& class_name = {}) {
    return T5Config::from(Config::parse(json, "config.json"), class_name).every_layer;
  };
  EXPECT_FALSE(read("{}"));
  EXPECT_FALSE(read("{}", "T5EncoderModel"));
  EXPECT_TRUE(read("{}", "UMT5EncoderModel"));
  EXPECT_TRUE(read(R"({"architectures": ["UMT5EncoderModel"]})"));
  EXPECT_TRUE(read(R"({"model_type": "umt5", "architectures": ["UMT5ForConditionalGeneration"]})", "UMT5EncoderModel"));
  EXPECT_FALSE(read(R"({"model_type": "mt5", "architectures": ["MT5ForConditionalGeneration"]})", "T5EncoderModel"));
  EXPECT_FALSE(read(R"({"model_type": "t5", "architectures": ["T5WithLMHeadModel"]})"));
  expect_error<UnsupportedError>([&] { read(R"({"model_type": "umt5"})", "T5EncoderModel"); }, {"T5EncoderModel", "umt5"});
  expect_error<UnsupportedError>([&] { read(R"({"model_type": "t5", "architectures": ["UMT5EncoderModel"]})"); }, {"UMT5EncoderModel"});
  expect_error<UnsupportedError>([&] { read("{}", "CLIPTextModel"); }, {"CLIPTextModel", "T5EncoderModel"});
}

// For every key that transformers writes, its effect is proven above, it is rejected here by name, or it belongs to the decoder, to
// generating text, training and storage.
TEST(T5Config, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const T5Case c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> refused{
      {"model_type", "bert"},
      {"architectures", {"BertModel"}},
      {"feed_forward_proj", "gated-mish"},
      {"feed_forward_proj", "tanh-x"},
      {"dense_act_fn", "mish"},
      {"is_decoder", true},
      {"add_cross_attention", true},
      {"tie_encoder_decoder", true},
      {"pruned_heads", {{"0", {1}}}},
      {"rope_theta", 10000},
      {"d_model", nullptr},
      {"quantization_config", {{"bits", 4}}},
  };
  for (const auto& entry : refused) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<UnsupportedError>([&] { T5Config::from(c.config_with(entry.first, entry.second)); },
                                   {entry.first == "architectures" ? "BertModel" : entry.first, "config.json"});
  }
  const std::vector<std::pair<std::string, nlohmann::json>> wrong{{"d_model", 0},
                                                                  {"num_layers", 0},
                                                                  {"vocab_size", "many"},
                                                                  {"relative_attention_num_buckets", 3},
                                                                  {"relative_attention_max_distance", 2},
                                                                  {"layer_norm_epsilon", "1e-6"}};
  for (const auto& entry : wrong) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<WeightError>([&] { T5Config::from(c.config_with(entry.first, entry.second)); }, {entry.first, "config.json"});
  }
}

// The result of a row depends neither on the other rows nor on what comes after its valid tokens.
BACKEND_TEST(T5, rows_are_independent) {
  const T5Case c("v1_0", device);
  Weights w = c.weights();
  const T5EncoderModel t5(Scope(w), T5Config::from(c.config()));
  const Tensor both = t5({{5, 6, 7, 1, 0}, {9, 1, 0, 0, 0}}, {4, 2}), other = t5({{9, 1, 33, 44, 2}}, {2});
  EXPECT_EQ(both.slice(0, 0, 1).to_vector(), t5({{5, 6, 7, 1, 0}}, {4}).to_vector());
  EXPECT_EQ(both.slice(0, 1, 2).slice(1, 0, 2).to_vector(), other.slice(1, 0, 2).to_vector());
  EXPECT_EQ(t5({{5, 6, 7, 1}}, {4}).to_vector(), t5({{5, 6, 7, 1}}).to_vector());
  EXPECT_NE(t5({{5, 6, 7, 1, 0}}, {4}).slice(1, 0, 4).to_vector(), t5({{5, 6, 7, 1, 0}}).slice(1, 0, 4).to_vector());
}

BACKEND_TEST(T5, inputs_that_do_not_fit_are_refused) {
  const T5Case c("v1_0", device);
  Weights w = c.weights();
  const T5EncoderModel t5(Scope(w), T5Config::from(c.config()));
  EXPECT_THROW(t5({}), ShapeError);
  EXPECT_THROW(t5({{}}), ShapeError);
  EXPECT_THROW(t5({{1, 2}, {1}}), ShapeError);
  EXPECT_THROW(t5({{1, 50}}), UsageError);
  EXPECT_THROW(t5({{-1}}), UsageError);
  EXPECT_THROW(t5({{1, 2}}, {1, 2}), ShapeError);
  EXPECT_THROW(t5({{1, 2}}, {0}), ShapeError);
  EXPECT_THROW(t5({{1, 2}}, {3}), ShapeError);
}

// Weights rounded to 16 bits, arithmetic in f32: only the rounding of the weights shows.
BACKEND_TEST(T5, weights_in_16_bits_change_little) {
  const T5Case c("v1_1", device);
  const std::vector<float> f32 = c.run().to_vector();
  const Tensor f16 = c.run({.types = {.hold = DType::f16}}), bf16 = c.run({.types = {.hold = DType::bf16}});
  EXPECT_CLOSE(f16, f32, 5e-3);     // observed 1.4e-3
  EXPECT_CLOSE(bf16, f32, 2.5e-2);  // observed 8.2e-3
  EXPECT_NE(f16.to_vector(), f32);
  EXPECT_NE(bf16.to_vector(), f32);
}

}  // namespace
}  // namespace hearth::parts
