// GGUF files of the decoder families, read as their config.json.
#include "models/decoder_family.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/threads.h"
#include "models/language_loading.h"
#include "models/language_registry.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "weights/gguf/gguf_language.h"
#include "weights/gguf/gguf_writer.h"
#include "weights/seeded_file.h"

namespace hearth::models {
namespace {

namespace fs = std::filesystem;

const LanguageFamily& family_named(std::string_view wanted) {
  static const auto all = language_families();
  return std::ranges::find(all, wanted, [](const auto& found) { return found.name; })->family;
}

// A file with the keys of a tiny Llama, some of them changed, and some of its tensors.
class GgufLanguage : public ::testing::Test {
 protected:
  GgufLanguage() {
    std::string name = (fs::temp_directory_path() / "hearth-gguf-XXXXXX").string();
    folder = mkdtemp(name.data());
  }
  ~GgufLanguage() override { fs::remove_all(folder); }

  using Change = std::function<void(GgufValues&)>;
  Config read(const std::string& architecture, const Change& add = {}, const std::vector<GgufTensor>& more = {}, bool heads = true) const {
    GgufValues v;
    v.text("general.architecture", architecture);
    const std::string a = architecture + ".";
    v.integer(a + "context_length", 128), v.integer(a + "embedding_length", 24), v.integer(a + "feed_forward_length", 40);
    v.integer(a + "block_count", 2);
    if (heads) v.integer(a + "attention.head_count", 6), v.integer(a + "attention.head_count_kv", 2);
    v.f32(a + "attention.layer_norm_rms_epsilon", 0.001f);
    if (add) add(v);
    std::vector<GgufTensor> tensors = {{"token_embd.weight", DType::f32, {10, 24}}};
    tensors.insert(tensors.end(), more.begin(), more.end());
    write_gguf(folder / "m.gguf", v, tensors, [&](size_t i, const WriteBytes& write) {
      const std::vector<float> ones(size_t(tensors[i].shape.numel()), 2.0f);
      write(std::as_bytes(std::span(ones)));
    });
    return open_language_checkpoint(folder / "m.gguf").config();
  }
  template <class E> std::string refusal(const std::string& architecture, const Change& add = {}, bool heads = true) const {
    try {
      read(architecture, add, {}, heads);
    } catch (const E& error) { return error.what(); }
    return "accepted";
  }

  fs::path folder;
};

TEST_F(GgufLanguage, llama) {
  const Config c = read("llama", [](GgufValues& v) { v.f32("llama.rope.freq_base", 500), v.integer("tokenizer.ggml.eos_token_id", 7); });
  EXPECT_EQ(c.text("model_type"), "llama");
  EXPECT_EQ(c.integer("vocab_size"), 10);
  EXPECT_EQ(c.integer("hidden_size"), 24);
  EXPECT_EQ(c.integer("intermediate_size"), 40);
  EXPECT_EQ(c.integer("num_hidden_layers"), 2);
  EXPECT_EQ(c.integer("num_attention_heads"), 6);
  EXPECT_EQ(c.integer("num_key_value_heads"), 2);
  EXPECT_EQ(c.integer("head_dim"), 4);
  EXPECT_EQ(c.integer("max_position_embeddings"), 128);
  EXPECT_EQ(float(c.number("rms_norm_eps")), 0.001f);
  EXPECT_EQ(c.number("rope_theta"), 500);
  EXPECT_EQ(c.text("rope_pairs"), "neighbors");
  EXPECT_EQ(c.integer("eos_token_id"), 7);
  EXPECT_TRUE(c.boolean("tie_word_embeddings"));
  EXPECT_FALSE(c.boolean("attention_bias"));
  EXPECT_FALSE(c.has("rope_scaling"));
  EXPECT_FALSE(c.has("rope_divisors"));
}

TEST_F(GgufLanguage, what_the_tensors_tell) {
  const Config c = read("llama", {},
                        {{"output.weight", DType::f32, {10, 24}},
                         {"blk.0.attn_q.bias", DType::f32, {24}},
                         {"blk.0.ffn_gate.bias", DType::f32, {40}},
                         {"rope_freqs.weight", DType::f32, {2}}});
  EXPECT_FALSE(c.boolean("tie_word_embeddings"));
  EXPECT_TRUE(c.boolean("attention_bias"));
  EXPECT_TRUE(c.boolean("mlp_bias"));
  EXPECT_EQ(c.numbers("rope_divisors"), (std::vector<double>{2, 2}));
}

TEST_F(GgufLanguage, mistral_is_a_llama_with_a_window) {
  const Config c = read("llama", [](GgufValues& v) {
    v.integer("llama.attention.sliding_window", 9), v.integer("llama.attention.key_length", 8),
        v.integer("llama.attention.value_length", 8), v.integer("llama.rope.dimension_count", 8);
  });
  EXPECT_EQ(c.text("model_type"), "mistral");
  EXPECT_EQ(c.integer("sliding_window"), 9);
  EXPECT_EQ(c.integer("head_dim"), 8);
}

TEST_F(GgufLanguage, qwen_has_halves_and_its_scaling) {
  const Config c = read("qwen2", [](GgufValues& v) {
    v.text("qwen2.rope.scaling.type", "yarn"), v.f32("qwen2.rope.scaling.factor", 4),
        v.integer("qwen2.rope.scaling.original_context_length", 32);
  });
  EXPECT_EQ(c.text("model_type"), "qwen2");
  EXPECT_FALSE(c.has("rope_pairs"));
  const Config scaling = c.object("rope_scaling");
  EXPECT_EQ(scaling.text("rope_type"), "yarn");
  EXPECT_EQ(scaling.number("factor"), 4);
  EXPECT_EQ(scaling.integer("original_max_position_embeddings"), 32);
  EXPECT_FALSE(scaling.has("attention_factor"));
  EXPECT_EQ(read("qwen3").text("model_type"), "qwen3");
}

// llama.cpp's name for the part of Qwen 2.5 VL that reads texts. Its converter writes four sections.
TEST_F(GgufLanguage, another_architecture_of_a_family_has_its_model_type) {
  const std::vector<int32_t> sections{1, 0, 1, 0};
  const Config c = read("qwen2vl", [&](GgufValues& v) { v.i32s("qwen2vl.rope.dimension_sections", sections); });
  EXPECT_EQ(c.text("model_type"), "qwen2_5_vl_text");
  EXPECT_EQ(c.object("rope_scaling").integers("mrope_section"), (std::vector<int64_t>{1, 0, 1}));
  const parts::DecoderConfig decoder = family_named("qwen2").decoder(c);
  EXPECT_EQ(decoder.rotaries.at(0).sections, (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(decoder.rotaries.at(0).kind, parts::RotaryConfig::Kind::plain);
  const auto scaled = read("qwen2vl", [&](GgufValues& v) {
    v.i32s("qwen2vl.rope.dimension_sections", std::span(sections).first(3)), v.text("qwen2vl.rope.scaling.type", "linear"),
        v.f32("qwen2vl.rope.scaling.factor", 2);
  });
  EXPECT_EQ(scaled.object("rope_scaling").text("rope_type"), "linear");
  EXPECT_EQ(scaled.object("rope_scaling").integers("mrope_section").size(), 3u);
  EXPECT_FALSE(read("qwen2vl").has("rope_scaling"));
  const std::string where = (folder / "m.gguf").string();
  const auto refused = [&](const std::vector<int32_t>& list) {
    return [&v = list](GgufValues& values) { values.i32s("qwen2vl.rope.dimension_sections", v); };
  };
  EXPECT_EQ(refusal<UnsupportedError>("qwen2vl", refused({1, 0, 0, 1})),
            where + ": 'qwen2vl.rope.dimension_sections' has a fourth axis of 1 frequencies, which is not supported");
  EXPECT_EQ(refusal<WeightError>("qwen2vl", refused({1, 1})), where + ": 'qwen2vl.rope.dimension_sections' has 2 entries, expected 3 or 4");
}

// Rotation as in llama.cpp: its factor multiplies the usual one, 0.1 ln 4 + 1.
TEST_F(GgufLanguage, an_attention_factor_multiplies_the_usual_one) {
  const Config c = read("llama", [](GgufValues& v) {
    v.text("llama.rope.scaling.type", "yarn"), v.f32("llama.rope.scaling.factor", 4), v.f32("llama.rope.scaling.attn_factor", 0.5f);
  });
  EXPECT_NEAR(c.object("rope_scaling").number("attention_factor"), 0.5693147, 1e-7);
}

TEST_F(GgufLanguage, keys_that_say_nothing_are_let_pass) {
  const Config c = read("llama", [](GgufValues& v) {
    v.integer("llama.expert_count", 0), v.f32("llama.attn_logit_softcapping", 0), v.f32("llama.rope.scaling.attn_factor", 1),
        v.integer("llama.vocab_size", 10), v.text("llama.tensor_data_layout", "Meta AI original pth"),
        v.f32("gemma2.attn_logit_softcapping", 50), v.f32("llama.rope.scaling.yarn_ext_factor", 1), v.f32("llama.logit_scale", 1);
  });
  EXPECT_EQ(c.text("model_type"), "llama");
}

TEST_F(GgufLanguage, what_is_not_built_is_refused_by_name) {
  const std::string where = (folder / "m.gguf").string();
  EXPECT_EQ(refusal<UnsupportedError>("candle").rfind(where + ": the architecture 'candle' is not supported, only ", 0), 0u);
  EXPECT_EQ(refusal<UnsupportedError>("qwen2", [](GgufValues& v) { v.integer("qwen2.expert_count", 8); }),
            where + ": 'qwen2.expert_count' = 8 is not supported");
  EXPECT_EQ(refusal<UnsupportedError>("llama", [](GgufValues& v) { v.text("llama.rope.scaling.type", "longrope"); }),
            where + ": rope scaling \"longrope\" is not supported, expected linear or yarn");
  EXPECT_EQ(refusal<UnsupportedError>("llama", [](GgufValues& v) { v.integer("llama.rope.dimension_count", 2); }),
            where + ": head sizes of 4 for keys, 4 for values and 2 for rotation are not supported, expected equal sizes");
  EXPECT_EQ(refusal<UnsupportedError>("qwen2", [](GgufValues& v) { v.f32("qwen2.attn_logit_softcapping", 50.5f); }),
            where + ": 'qwen2.attn_logit_softcapping' = 50.5 is not supported");
  EXPECT_EQ(refusal<UnsupportedError>("llama", [](GgufValues& v) { v.f32("llama.rope.scaling.yarn_ext_factor", 0.5f); }),
            where + ": 'llama.rope.scaling.yarn_ext_factor' = 0.5 is not supported");
  EXPECT_EQ(refusal<UnsupportedError>("llama", [](GgufValues& v) { v.text("llama.new", "words"); }),
            where + ": 'llama.new' = text is not supported");
  EXPECT_EQ(refusal<UnsupportedError>("llama", [](GgufValues& v) { v.f32("llama.rope.scaling.attn_factor", 1.5f); }),
            where + ": 'llama.rope.scaling.attn_factor' = 1.5 is not supported without yarn");
  EXPECT_EQ(refusal<WeightError>("llama", {}, false), where + ": 0 heads with 24 values in total, expected at least 1 of each");
}

TEST_F(GgufLanguage, a_file_is_shown_as_a_folder) {
  read("llama", {}, {{"blk.1.attn_q.weight", DType::f32, {24, 24}}});
  EXPECT_TRUE(LanguageCheckpoint::is_one(folder / "m.gguf"));
  const LanguageCheckpoint c = open_language_checkpoint(folder / "m.gguf");
  EXPECT_EQ(c.class_name(), "LlamaForCausalLM");
  EXPECT_EQ(c.files(), std::vector<std::string>{"m.gguf"});
  EXPECT_TRUE(c.tensors()->has("model.layers.1.self_attn.q_proj.weight"));
  EXPECT_TRUE(c.tensors()->has("model.embed_tokens.weight"));
}

// A configuration that is written and read again is the same as parsed, except for the order of rows.
TEST_F(GgufLanguage, what_is_written_is_read) {
  const std::string sizes = R"("vocab_size": 10, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2,
    "num_attention_heads": 6, "num_key_value_heads": 2, "max_position_embeddings": 128, "rms_norm_eps": 0.00048828125, "rope_theta": 500,
    "tie_word_embeddings": true)";
  const std::map<std::string_view, std::string> own = {
      {"llama", R"("rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                   "original_max_position_embeddings": 64})"},
      {"mistral", R"("sliding_window": 9, "head_dim": 8)"},
      {"qwen2", R"("rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32})"},
      {"qwen3", R"("head_dim": 16, "rope_scaling": {"rope_type": "linear", "factor": 2.5})"},
      {"mixtral", R"("num_local_experts": 6, "num_experts_per_tok": 3)"},
      {"gemma2", R"("head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 9, "final_logit_softcapping": null)"},
      {"gemma3",
       R"("head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 9, "rope_scaling": {"rope_type": "linear", "factor": 8.0})"},
      {"granite", R"("attention_multiplier": 0.25, "embedding_multiplier": 12.0, "residual_multiplier": 0.5, "logits_scaling": 8.0)"}};
  int checked = 0;
  const auto check = [&](const LanguageFamily& family, std::string_view type, const std::string& keys) {
    SCOPED_TRACE(type);
    const GgufArchitecture architecture = gguf_architecture_for(family, type);
    const Config said = family.spell_out(Config::parse("{" + sizes + ", " + keys + "}", "config.json"));
    std::vector<GgufTensor> tensors = {{"token_embd.weight", DType::f32, {10, 24}}};
    std::vector<float> divisors;
    for (const auto& [tensor, list] : gguf_divisors(said, architecture)) {
      tensors.push_back({tensor, DType::f32, {std::ssize(list)}});
      divisors = list;
    }
    GgufValues values;
    values.text("general.architecture", architecture.name);
    write_gguf_config(said, architecture, values);
    write_gguf(folder / "m.gguf", values, tensors, [&](size_t i, const WriteBytes& write) {
      const std::vector<float> zeros(size_t(tensors[i].shape.numel()));
      write(std::as_bytes(std::span(i == 0 ? zeros : divisors)));
    });
    const LanguageCheckpoint file = open_language_checkpoint(folder / "m.gguf");
    EXPECT_EQ(file.model_type(), type);
    const Config read = family.spell_out(file.config());
    for (const std::string& key : said.keys()) EXPECT_EQ(read.dump(key), said.dump(key)) << key;
    for (const std::string& key : read.keys()) EXPECT_TRUE(said.has(key) || !read.has(key)) << key;
    ++checked;
  };
  for (const auto& [name, family] : language_families())
    if (own.contains(name)) check(family, family.model_types[0], own.at(name));
  check(family_named("qwen2"), "qwen2_5_vl_text",
        R"("model_type": "qwen2_5_vl_text", "rope_scaling": {"type": "mrope", "mrope_section": [1, 0, 1]})");
  EXPECT_EQ(checked, 9);
}

// A folder with a Llama of 2 layers whose config.json lacks some keys.
class LackingSizes : public ::testing::Test {
 protected:
  std::string problem(const std::vector<std::string>& lacking, int64_t heads = 4, int64_t groups = 2) const {
    nlohmann::json config = {{"model_type", "llama"},         {"vocab_size", 10},           {"hidden_size", 32},
                             {"intermediate_size", 40},       {"num_hidden_layers", 2},     {"num_attention_heads", heads},
                             {"num_key_value_heads", groups}, {"tie_word_embeddings", true}};
    const LanguageFamily& llama = family_named("llama");
    ThreadPool threads(1);
    write_seeded_file(folder / "model.safetensors", network_shapes(llama, Config::parse(config.dump(), "config.json")), DType::f32,
                      threads);
    for (const std::string& key : lacking) config.erase(key);
    write_file(folder / "config.json", config.dump());
    const auto device = test::make_test_backend("reference");
    return test::message_of<WeightError>([&] { load_language_model(llama, open_language_checkpoint(folder.path()), *device); },
                                         folder.path());
  }

  test::TemporaryFolder folder;
};

TEST_F(LackingSizes, are_named_with_their_defaults) {
  const std::string lacks = "FOLDER/config.json: lacks ";
  EXPECT_EQ(problem({"hidden_size"}), lacks + "'hidden_size' (its default is 4096, the tensors have 32)");
  EXPECT_EQ(problem({"intermediate_size", "vocab_size"}), lacks +
                                                              "'vocab_size' (its default is 32000, the tensors have 10), "
                                                              "'intermediate_size' (its default is 11008, the tensors have 40)");
  EXPECT_EQ(problem({"num_hidden_layers"}), lacks + "'num_hidden_layers' (its default is 32, the tensors have 2)");
  EXPECT_EQ(problem({"num_key_value_heads"}), lacks + "'num_key_value_heads' (its default is 4, the tensors have 2)");
}

TEST_F(LackingSizes, are_named_where_the_default_does_not_go_with_the_rest) {
  const auto read = [] { family_named("llama").spell_out(Config::parse(R"({"num_attention_heads": 6})", "config.json")); };
  EXPECT_EQ(test::message_of<WeightError>(read),
            "config.json: 'num_attention_heads' = 6 does not divide 'hidden_size' = 4096, which is the default: there is no such key");
}

TEST_F(LackingSizes, do_no_harm_where_the_tensors_have_the_default) {
  EXPECT_EQ(problem({"num_key_value_heads"}, 4, 4), "");  // as many as there are heads
  EXPECT_EQ(problem({}, 4, 2), "");
}

TEST(GgufNames, go_both_ways) {
  int found = 0;
  for (const Alias& alias : family_named("llama").gguf.names) {
    const auto official = rewrite("blk.11.attn_q_norm.weight", alias.stored, alias.official);
    if (!official) continue;
    ++found;
    EXPECT_EQ(*official, "model.layers.11.self_attn.q_norm.weight");
    EXPECT_EQ(rewrite(*official, alias.official, alias.stored), "blk.11.attn_q_norm.weight");
  }
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace hearth::models
