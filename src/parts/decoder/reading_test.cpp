// Keys of published config.json files that do not describe the network, or only confirm its usual structure.
#include "parts/decoder/reading.h"

#include "parts/golden_case_test.h"

namespace hearth::parts {
namespace {

using Read = DecoderConfig (*)(const Config&);

DecoderConfig common(const Config& c) {
  const DecoderKeys keys = DecoderKeys::read(c, {});
  DecoderConfig d = keys.decoder();
  d.layers.assign(size_t(keys.layers), pre_norm(keys.rms_norm(), keys.attention(), keys.mlp()));
  keys.finish(c);
  return d;
}
DecoderConfig alike(const Config& c) {
  const DecoderKeys keys = DecoderKeys::read(c, {});
  AttentionConfig attention = keys.attention();
  attention.window = c.integer("sliding_window", 0);
  DecoderConfig d = keys.decoder();
  d.layers.assign(size_t(keys.layers), pre_norm(keys.rms_norm(), attention, keys.mlp()));
  require_layers_alike(c, attention.window);
  keys.finish(c);
  return d;
}

DecoderConfig read(Read reader, const std::string& keys) {
  return reader(Config::parse(R"({"num_hidden_layers": 2)" + (keys.empty() ? "" : ", " + keys) + "}", "config.json"));
}

TEST(DecoderConfig, what_published_files_say_besides_changes_nothing) {
  for (const char* keys :
       {R"("use_mrope": false)", R"("is_llama_config": true, "rope_interleaved": false)", R"("max_sequence_length": 2048)",
        R"("transformers.js_config": {"kv_cache_dtype": {"fp16": "float16"}})", R"("bf16": true, "fp16": false)",
        R"("activation": "swiglu", "hidden_activation": "silu", "resid_pdrop": 0.1)", R"("embedding_multiplier": 1.0, "is_causal": true)",
        R"("rotary_base": 10000, "rotary_dim": 128, "dim_model_base": 4096)", R"("mlp_only_layers": [])", R"("hidden_dropout_prob": 0.1)",
        R"("_anything": {"of": "its author"})"})
    EXPECT_EQ(read(common, keys), read(common, "")) << keys;
}

TEST(DecoderConfig, scaled_positions_may_say_how_they_came_about) {
  const std::string before = R"("rope_scaling": {"type": "yarn", "factor": 16.0, "original_max_position_embeddings": 4096)";
  EXPECT_EQ(read(common, before + R"(, "finetuned": true})"), read(common, before + "}"));
  EXPECT_EQ(read(common, before + R"(, "attn_factor": 0.878, "low_freq_factor": 1.0})"), read(common, before + "}"));
  EXPECT_EQ(read(common, R"("rope_scaling": {"type": "linear", "factor": 4.0, "original_max_position_embeddings": 4096, "mscale": 2.0})"),
            read(common, R"("rope_scaling": {"type": "linear", "factor": 4.0})"));
  EXPECT_EQ(read(common, R"("rope_scaling": {"rope_type": "default", "attention_factor": 0.5})"), read(common, ""));
  const auto sections = [](const DecoderConfig& d) { return d.rotaries.at(0).sections; };
  for (const char* type :
       {R"("type": "mrope")", R"("type": "default", "rope_type": "default")", R"("type": "mrope", "rope_type": "default")"}) {
    const DecoderConfig d = read(common, fmt::format(R"("rope_scaling": {{{}, "mrope_section": [16, 24, 24]}})", type));
    EXPECT_EQ(sections(d), (std::vector<int64_t>{16, 24, 24}));
    EXPECT_EQ(d.rotaries[0].kind, RotaryConfig::Kind::plain);
  }
  expect_error<WeightError>([&] { read(common, R"("rope_scaling": {"type": "mrope", "mrope_section": [16, 24]})"); },
                            {"mrope_section", "64"});
  expect_error<UnsupportedError>([&] { read(common, R"("rope_scaling": {"type": "mrope"})"); }, {"mrope"});
  expect_error<UnsupportedError>([&] { read(common, before + R"(, "rope_theta": 5e5}, "rope_theta": 1e6)"); }, {"rope_theta", "1000000"});
  expect_error<UnsupportedError>([&] { read(common, before + R"(, "extrapolation_factor": 0.5})"); }, {"extrapolation_factor"});
}

TEST(DecoderConfig, other_builds_are_refused_by_name) {
  for (const auto& [keys, name] : std::map<std::string, std::string>{{R"("use_mrope": true)", "use_mrope"},
                                                                     {R"("rope_interleaved": true)", "rope_interleaved"},
                                                                     {R"("bias": true)", "bias"},
                                                                     {R"("mlp_only_layers": [1])", "mlp_only_layers"},
                                                                     {R"("quantization": {"bits": 4})", "quantization"},
                                                                     {R"("logit_scale": 0.5)", "logit_scale"},
                                                                     {R"("is_causal": false)", "is_causal"},
                                                                     {R"("rotary_base": 500)", "rotary_base"},
                                                                     {R"("rotary_dim": 64)", "rotary_dim"},
                                                                     {R"("hidden_activation": "gelu")", "hidden_activation"},
                                                                     {R"("attention_chunk_size": 8)", "attention_chunk_size"}})
    expect_error<UnsupportedError>([&] { read(common, keys); }, {name, "config.json"});
}

TEST(DecoderConfig, layers_that_are_alike_may_say_so) {
  const std::string full = R"("layer_types": ["full_attention", "full_attention"])",
                    sliding = R"("layer_types": ["sliding_attention", "sliding_attention"])", window = R"("sliding_window": 8)";
  EXPECT_EQ(read(alike, full + R"(, "use_sliding_window": false, "max_window_layers": 1)"), read(alike, ""));
  EXPECT_EQ(read(alike, sliding + "," + window + R"(, "use_sliding_window": true)"), read(alike, window));
  expect_error<UnsupportedError>([&] { read(alike, sliding); }, {"sliding_attention", "full_attention"});
  expect_error<UnsupportedError>([&] { read(alike, full + "," + window); }, {"full_attention", "sliding_attention"});
  expect_error<UnsupportedError>([&] { read(alike, R"("use_sliding_window": true)"); }, {"use_sliding_window", "true"});
}

}  // namespace
}  // namespace hearth::parts
