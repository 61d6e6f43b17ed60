#include "models/llama/config.h"

#include "models/decoder_case_test.h"

namespace hearth::models::llama {
namespace {

BACKEND_TEST(Llama, matches_reference_grouped) {
  expect_case(__FILE__, "grouped", device, read_config, 4e-6);
}  // observed 2.7e-7 reference, 5.4e-7 cpu
BACKEND_TEST(Llama, matches_reference_biased) {
  expect_case(__FILE__, "biased", device, read_config, 3e-6);
}  // observed 2.1e-7 reference, 3.8e-7 cpu
BACKEND_TEST(Llama, matches_reference_llama3) {
  expect_case(__FILE__, "llama3", device, read_config, 4e-6);
}  // observed 5.2e-7 reference, 6.2e-7 cpu
BACKEND_TEST(Llama, matches_reference_yarn) {
  expect_case(__FILE__, "yarn", device, read_config, 4e-6);
}  // observed 2.9e-7 reference, 5.5e-7 cpu
BACKEND_TEST(Llama, matches_reference_yarn_given) {
  expect_case(__FILE__, "yarn_given", device, read_config, 4e-6);
}  // observed 2.9e-7 reference, 5.8e-7 cpu
BACKEND_TEST(Llama, matches_reference_linear) {
  expect_case(__FILE__, "linear", device, read_config, 3e-6);
}  // observed 2.3e-7 reference, 4.3e-7 cpu
BACKEND_TEST(Llama, matches_reference_dynamic) {
  expect_case(__FILE__, "dynamic", device, read_config, 3e-6);
}  // observed 2.6e-7 reference, 4.6e-7 cpu
BACKEND_TEST(Llama, matches_reference_long) {
  expect_case(__FILE__, "long", device, read_config, 5e-6);
}  // observed 2.2e-7 reference, 7.4e-7 cpu
BACKEND_TEST(Llama, each_config_key_has_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 4e-6);
}  // observed 3.3e-7 reference, 5.8e-7 cpu
BACKEND_TEST(Llama, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "grouped", device, read_config); }

// Weights as in GGUF files: in each head's rows of q and k, element i of the first half is followed by element i of the second.
class NeighboringRows : public parts::ScaledSource {
 public:
  explicit NeighboringRows(int64_t head) : ScaledSource(1), head_(head) {}
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    const Tensor x = ScaledSource::read(name, wanted, backend);
    if (name.find("q_proj.weight") == name.npos && name.find("k_proj.weight") == name.npos) return x;
    const std::vector<float> from = x.to_vector();
    std::vector<float> to(from.size());
    const int64_t rows = wanted[0], columns = wanted[1], half = head_ / 2;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t d = r % head_, target = r - d + (d < half ? 2 * d : 2 * (d - half) + 1);
      std::copy_n(from.begin() + r * columns, columns, to.begin() + target * columns);
    }
    return Tensor::from(backend, wanted, to);
  }

 private:
  int64_t head_;
};

BACKEND_TEST(Llama, neighboring_rows_and_divisors_of_gguf_files_give_the_same) {
  const DecoderCase c(__FILE__, "llama3", device, read_config);
  // Divisors instead of the scaling that they come from, as the converter writes them.
  const parts::RotaryConfig scaled = read_config(c.config()).rotaries[0];
  parts::RotaryConfig plain = scaled;
  plain.kind = parts::RotaryConfig::Kind::plain;
  const std::vector<float> before = plain.frequencies({}), after = scaled.frequencies({});
  nlohmann::json json = c.config_json, divisors = nlohmann::json::array();
  for (size_t i = 0; i < before.size(); ++i) divisors.push_back(before[i] / after[i]);
  json["rope_scaling"] = nullptr;
  json["rope_divisors"] = divisors;
  json["rope_pairs"] = "neighbors";
  const parts::DecoderConfig config = read_config(Config::parse(json.dump(), "config.json"));
  Weights weights(std::make_shared<NeighboringRows>(c.config_json["head_dim"]), device, {.types = {.in_place = true}});
  const parts::Decoder net(Scope(weights), config);
  EXPECT_CLOSE(DecoderCase::logits(net, c.ids), c.golden.values("logits"), 4e-6);
}

// With this key generate() of transformers 4.57.1 has a sliding cache, but its forward has no window.
TEST(LlamaConfig, a_window_that_would_cut_the_cache_is_refused) {
  const auto read = [](const std::string& keys) {
    return read_config(Config::parse(R"({"num_hidden_layers": 2, "max_position_embeddings": 64, )" + keys + "}", "config.json"));
  };
  for (const char* keys : {R"("sliding_window": 8)", R"("sliding_window": 8, "use_sliding_window": false)"})
    parts::expect_error<UnsupportedError>([&] { read(keys); }, {"sliding_window", "8", "64"});
  const parts::DecoderConfig plain = read(R"("sliding_window": null)");
  for (const char* keys : {R"("sliding_window": 64, "use_sliding_window": false)",
                           R"("sliding_window": 8, "layer_types": ["full_attention", "full_attention"])"})
    EXPECT_EQ(read(keys), plain) << keys;
}

TEST(LlamaConfig, what_is_not_built_is_refused_by_name) {
  const auto read = [](const char* json) { return [json] { read_config(Config::parse(json, "config.json")); }; };
  parts::expect_error<UnsupportedError>(read(R"({"rope_scaling": {"rope_type": "spiral", "factor": 2.0}})"),
                                        {"rope_type", "spiral", "config.json"});
  parts::expect_error<UnsupportedError>(read(R"({"hidden_act": "xielu"})"), {"hidden_act", "xielu"});
  parts::expect_error<UnsupportedError>(read(R"({"partial_rotary_factor": 0.5})"), {"partial_rotary_factor"});
  parts::expect_error<UnsupportedError>(read(R"({"attn_logit_softcapping": 50.0})"), {"attn_logit_softcapping"});
  parts::expect_error<UnsupportedError>(read(R"({"rope_scaling": {"rope_type": "linear", "factor": 2.0, "twist": 1}})"), {"twist"});
  parts::expect_error<WeightError>(read(R"({"num_attention_heads": 6, "hidden_size": 24, "num_key_value_heads": 4})"),
                                   {"num_key_value_heads", "4", "6"});
  parts::expect_error<WeightError>(read(R"({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}})"), {"low_freq_factor"});
  parts::expect_error<WeightError>(read(R"({"rope_theta": -1.0})"), {"rope_theta", "-1"});
}

}  // namespace
}  // namespace hearth::models::llama
