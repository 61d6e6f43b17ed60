#include "parts/clip/clip_text.h"

#include <set>

#include "parts/golden_case_test.h"

namespace hearth::parts {
namespace {

struct ClipCase : GoldenCase {
  ClipCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  ClipTextOutput run(const Config& json, const LoadOptions& options = {}, ClipPadding padding = ClipPadding::attended) const {
    Weights w = weights(options);
    const ClipTextModel clip(Scope(w), ClipTextConfig::from(json));
    w.finish();
    return clip(fact("ids"), {}, padding);
  }

  void expect_outputs(const ClipTextOutput& y, const std::string& prefix, double limit) const {
    EXPECT_CLOSE(y.last_hidden_state, golden.values(prefix + "last_hidden_state"), limit);
    EXPECT_CLOSE(ops::concat(y.hidden_states, 0), golden.values(prefix + "hidden_states"), limit);
    if (golden.has(prefix + "pooled")) EXPECT_CLOSE(y.pooled, golden.values(prefix + "pooled"), limit);
    ASSERT_EQ(bool(y.text_embeds), golden.has(prefix + "text_embeds"));
    if (y.text_embeds) EXPECT_CLOSE(y.text_embeds, golden.values(prefix + "text_embeds"), limit);
  }
};

void check_clip(Backend& device, const char* name, double limit, ClipPadding padding = ClipPadding::attended) {
  const ClipCase c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  c.expect_outputs(c.run(c.config(), {}, padding), "", limit);
  c.expect_taps(recorder, limit);
}

BACKEND_TEST(Clip, matches_reference_clip_l) { check_clip(device, "clip_l", 1e-6); }  // observed 1.0e-7 reference, 2.5e-7 cpu
BACKEND_TEST(Clip, matches_reference_with_projection_and_legacy_pooling) {
  check_clip(device, "projected", 1e-6);
}  // observed 9.2e-8 reference, 2.5e-7 cpu
BACKEND_TEST(Clip, matches_reference_on_single_tokens_without_end) {
  check_clip(device, "short", 5e-7);
}  // observed 3.3e-8 reference, 1.1e-7 cpu
BACKEND_TEST(Clip, eps_of_each_norm) { check_clip(device, "faint", 4e-7); }  // observed 6.7e-8 reference, 7.6e-8 cpu

BACKEND_TEST(Clip, matches_reference_with_hidden_padding) {
  check_clip(device, "hidden", 1e-6, ClipPadding::hidden);
}  // observed 9.0e-8 reference, 2.9e-7 cpu

// Changing each key alone gives the result of the reference.
BACKEND_TEST(Clip, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 2e-6;  // observed 1.4e-7 reference, 6.5e-7 cpu
  const ClipCase c("perturbed", device);
  c.expect_outputs(c.run(c.config()), "base.", limit);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    c.expect_outputs(c.run(c.config_with(change["key"], change["value"])), fmt::format("{}.", i++), limit);
  }
}

TEST(ClipConfig, published_config_asks_for_exactly_the_published_tensors) {
  const Structure s(__FILE__, "sd15");
  const ClipTextConfig c = ClipTextConfig::from(s.config());
  EXPECT_EQ(s.json.at("tensors").size(), 196u);
  EXPECT_EQ(c.end_token, 2);
  s.expect_same([&](const Scope& w) { return ClipTextModel(w, c); },
                [](const ClipTextModel& clip, Backend&) {
                  EXPECT_EQ(clip({std::vector<int32_t>(77, 49407)}).last_hidden_state.shape(), (Shape{1, 77, 768}));
                });
}

// For every key that transformers writes, its effect is proven above, it is rejected here by name, or it belongs to generating
// text, training and storage.
TEST(ClipConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const ClipCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> refused{
      {"model_type", "bert"},        {"architectures", {"BertModel"}}, {"hidden_act", "mish"},
      {"is_decoder", true},          {"is_encoder_decoder", true},     {"add_cross_attention", true},
      {"tie_encoder_decoder", true}, {"pruned_heads", {{"0", {1}}}},   {"cross_attention_hidden_size", 8},
      {"rope_theta", 10000},         {"eos_token_id", nullptr},
  };
  for (const auto& entry : refused) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<UnsupportedError>([&] { ClipTextConfig::from(c.config_with(entry.first, entry.second)); },
                                   {entry.first == "architectures" ? "BertModel" : entry.first, "config.json"});
  }
  EXPECT_EQ(ClipTextConfig::from(c.config(), "CLIPTextModel").projection, 0);
  EXPECT_EQ(ClipTextConfig::from(c.config(), "CLIPTextModelWithProjection").projection, 6);
  EXPECT_THROW(ClipTextConfig::from(c.config(), "T5EncoderModel"), UnsupportedError);
}

TEST(ClipConfig, contradictions_are_named) {
  const auto device = test::make_test_backend("reference");
  const ClipCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> wrong{
      {"num_attention_heads", 5}, {"hidden_size", 0}, {"vocab_size", "many"}, {"num_hidden_layers", 0}, {"layer_norm_eps", "1e-5"}};
  for (const auto& entry : wrong) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<WeightError>([&] { ClipTextConfig::from(c.config_with(entry.first, entry.second)); }, {entry.first});
  }
}

// Row t depends only on tokens 0 … t.
BACKEND_TEST(Clip, later_tokens_do_not_reach_earlier_rows) {
  const ClipCase c("clip_l", device);
  Weights w = c.weights();
  const ClipTextModel clip(Scope(w), ClipTextConfig::from(c.config()));
  const Tensor a = clip({{48, 3, 17, 22, 49}}).last_hidden_state, b = clip({{48, 3, 17, 9, 49}}).last_hidden_state;
  EXPECT_EQ(a.slice(1, 0, 3).to_vector(), b.slice(1, 0, 3).to_vector());
  EXPECT_NE(a.slice(1, 3, 4).to_vector(), b.slice(1, 3, 4).to_vector());
}

BACKEND_TEST(Clip, hidden_states_lead_to_the_last_one) {
  const ClipCase c("clip_l", device);
  Weights w = c.weights();
  const ClipTextModel clip(Scope(w), ClipTextConfig::from(c.config()));
  const ClipTextOutput y = clip({{48, 3, 49}});
  ASSERT_EQ(y.hidden_states.size(), clip.layers.size() + 1);
  EXPECT_EQ(clip.final_layer_norm(y.hidden_states.back()).to_vector(), y.last_hidden_state.to_vector());
}

BACKEND_TEST(Clip, inputs_that_do_not_fit_are_refused) {
  const ClipCase c("clip_l", device);
  Weights w = c.weights();
  const ClipTextModel clip(Scope(w), ClipTextConfig::from(c.config()));
  EXPECT_THROW(clip({}), ShapeError);
  EXPECT_THROW(clip({{}}), ShapeError);
  EXPECT_THROW(clip({std::vector<int32_t>(12, 1)}), ShapeError);
  EXPECT_THROW(clip({{1, 2}, {1}}), ShapeError);
  EXPECT_THROW(clip({{1, 50}}), UsageError);
  EXPECT_THROW(clip({{-1}}), UsageError);
}

TEST(ClipConfig, defaults_are_the_reference_s) {
  expect_reference_defaults<ClipTextConfig>(__FILE__, "CLIPTextModel");
  expect_reference_defaults<ClipTextConfig>(__FILE__, "CLIPTextModelWithProjection");
}

// Weights rounded to 16 bits, arithmetic in f32: only the rounding of the weights shows.
BACKEND_TEST(Clip, weights_in_16_bits_change_little) {
  const ClipCase c("clip_l", device);
  const std::vector<float> f32 = c.run(c.config()).last_hidden_state.to_vector();
  const Tensor f16 = c.run(c.config(), {.types = {.hold = DType::f16}}).last_hidden_state,
               bf16 = c.run(c.config(), {.types = {.hold = DType::bf16}}).last_hidden_state;
  EXPECT_CLOSE(f16, f32, 2e-3);     // observed 5.5e-4
  EXPECT_CLOSE(bf16, f32, 1.2e-2);  // observed 4.1e-3
  EXPECT_NE(f16.to_vector(), f32);
  EXPECT_NE(bf16.to_vector(), f32);
}

}  // namespace
}  // namespace hearth::parts
