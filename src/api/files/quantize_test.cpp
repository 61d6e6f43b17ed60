#include "hearth/quantize.h"

#include <cmath>
#include <cstring>

#include "core/files/file.h"
#include "core/threads.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "weights/gguf/gguf.h"
#include "weights/safetensors/safetensors.h"
#include "weights/seeded_file.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using test::message_of;

constexpr const char* config = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 12, "hidden_size": 256,
 "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 64,
 "max_position_embeddings": 4096, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "attention_bias": true, "bos_token_id": 9,
 "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                  "original_max_position_embeddings": 64}})";

constexpr const char* tokenizer =
    R"({"added_tokens": [{"id": 9, "content": "<bos>", "special": true}, {"id": 8, "content": "<tool>", "special": false}],
 "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex": "PATTERN"}},
                   {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]},
 "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<bos>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                    "special_tokens": {"<bos>": {"id": "<bos>", "ids": [9], "tokens": ["<bos>"]}}},
 "model": {"type": "BPE", "ignore_merges": true, "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4}, "merges": [["a", "b"], "ab c"]}})";

class QuantizeTest : public testing::Test {
 protected:
  QuantizeTest() {
    fs::create_directories(folder / "m");
    write_file(folder / "m" / "config.json", config);
    std::string text = tokenizer;
    text.replace(
        text.find("PATTERN"), 7,
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)");
    write_file(folder / "m" / "tokenizer.json", text);
    write_file(folder / "m" / "tokenizer_config.json",
               R"({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": {"content": "abc"}, "chat_template": "{{ messages }}"})");
    std::map<std::string, Shape> tensors{
        {"model.embed_tokens.weight", {12, 256}}, {"model.norm.weight", {256}}, {"lm_head.weight", {12, 256}}};
    for (int i = 0; i < 2; ++i) {
      const std::string layer = fmt::format("model.layers.{}.", i);
      for (const char* norm : {"input_layernorm", "post_attention_layernorm"}) tensors[layer + norm + ".weight"] = {256};
      for (const auto& [name, rows] : {std::pair("q", 384), {"k", 128}, {"v", 128}, {"o", 256}}) {
        tensors[fmt::format("{}self_attn.{}_proj.weight", layer, name)] = {rows, *name == 'o' ? 384 : 256};
        tensors[fmt::format("{}self_attn.{}_proj.bias", layer, name)] = {rows};
      }
      for (const char* name : {"gate", "up"}) tensors[fmt::format("{}mlp.{}_proj.weight", layer, name)] = {512, 256};
      tensors[layer + "mlp.down_proj.weight"] = {256, 512};
    }
    ThreadPool threads(1);
    write_seeded_file(folder / "m" / "model.safetensors", tensors, DType::bf16, threads);
  }

  QuantizeReport run(const std::string& type, bool pure = false) {
    return quantize({.model = folder / "m", .output = folder / "out.gguf", .type = type, .pure = pure, .threads = 2});
  }
  std::vector<float> published(const std::string& name) {
    return SafetensorsFile::open(folder / "m" / "model.safetensors")->read(name, {}, *device).to_vector();
  }
  std::string refusal(const std::string& type = "q8_0") {
    return message_of<Error>([&] { run(type); }, folder.path());
  }
  void replace_in(const char* file, std::string_view from, std::string_view to) {
    std::string text = read_file(folder / "m" / file);
    text.replace(text.find(from), from.size(), to);
    write_file(folder / "m" / file, text);
  }

  test::TemporaryFolder folder;
  std::unique_ptr<Backend> device = test::make_test_backend("reference");
};

// Rows of q and k: [head, 2, D/2] → [head, D/2, 2], as the reference converter writes them (llama.cpp, checked with transformers' reader).
std::vector<float> permuted(const std::vector<float>& x, size_t heads) {
  const size_t head = x.size() / heads;  // values of a head
  const size_t D = 64, row = head / D;
  std::vector<float> y;
  for (size_t h = 0; h < heads; ++h)
    for (size_t i = 0; i < D / 2; ++i)
      for (size_t half = 0; half < 2; ++half)
        for (size_t k = 0; k < row; ++k) y.push_back(x[h * head + (half * D / 2 + i) * row + k]);
  return y;
}

TEST_F(QuantizeTest, a_folder_as_f32_keeps_its_values_under_other_names) {
  const QuantizeReport report = run("f32");
  EXPECT_EQ(report.architecture, "llama");
  EXPECT_TRUE(report.notes.empty());
  const auto file = GgufFile::open(folder / "out.gguf");
  EXPECT_EQ(report.tensors, int64_t(file->list().size()));
  EXPECT_EQ(report.bytes, int64_t(file->file_bytes()));
  const auto values = [&](const std::string& name) { return file->read(name, {}, *device).to_vector(); };
  EXPECT_EQ(values("token_embd.weight"), published("model.embed_tokens.weight"));
  EXPECT_EQ(values("output.weight"), published("lm_head.weight"));
  EXPECT_EQ(values("output_norm.weight"), published("model.norm.weight"));
  EXPECT_EQ(values("blk.1.attn_norm.weight"), published("model.layers.1.input_layernorm.weight"));
  EXPECT_EQ(values("blk.1.ffn_norm.weight"), published("model.layers.1.post_attention_layernorm.weight"));
  EXPECT_EQ(values("blk.0.attn_v.weight"), published("model.layers.0.self_attn.v_proj.weight"));
  EXPECT_EQ(values("blk.0.attn_output.bias"), published("model.layers.0.self_attn.o_proj.bias"));
  EXPECT_EQ(values("blk.1.ffn_down.weight"), published("model.layers.1.mlp.down_proj.weight"));
  EXPECT_EQ(values("blk.1.attn_q.weight"), permuted(published("model.layers.1.self_attn.q_proj.weight"), 6));
  EXPECT_EQ(values("blk.1.attn_k.weight"), permuted(published("model.layers.1.self_attn.k_proj.weight"), 2));
  EXPECT_EQ(values("blk.0.attn_q.bias"), permuted(published("model.layers.0.self_attn.q_proj.bias"), 6));
  EXPECT_EQ(file->list().at("blk.1.attn_q.weight").shape, (Shape{384, 256}));
  const std::vector<float> factors = values("rope_freqs.weight");
  ASSERT_EQ(factors.size(), 32u);
  EXPECT_EQ(factors.front(), 1);
  EXPECT_NEAR(factors.back(), 8, 1e-5);
}

TEST_F(QuantizeTest, the_metadata_describes_sizes_and_tokenizer) {
  run("f32");
  const auto file = GgufFile::open(folder / "out.gguf");
  const GgufMetadata& m = file->metadata();
  EXPECT_EQ(m.text("general.architecture"), "llama");
  EXPECT_EQ(m.integer("general.file_type"), 0);
  for (const auto& [key, value] : std::map<std::string, int64_t>{{"vocab_size", 12},
                                                                 {"context_length", 4096},
                                                                 {"embedding_length", 256},
                                                                 {"block_count", 2},
                                                                 {"feed_forward_length", 512},
                                                                 {"attention.head_count", 6},
                                                                 {"attention.head_count_kv", 2},
                                                                 {"attention.key_length", 64},
                                                                 {"rope.dimension_count", 64}})
    EXPECT_EQ(m.integer("llama." + key), value) << key;
  EXPECT_EQ(m.number("llama.rope.freq_base"), 500000);
  EXPECT_EQ(float(m.number("llama.attention.layer_norm_rms_epsilon")), 1e-5f);
  EXPECT_FALSE(m.has("llama.rope.scaling.type"));  // implied by the factors
  EXPECT_EQ(m.text("tokenizer.ggml.model"), "gpt2");
  EXPECT_EQ(m.text("tokenizer.ggml.pre"), "llama-bpe");
  EXPECT_EQ(m.texts("tokenizer.ggml.tokens"), (std::vector<std::string_view>{"a", "b", "c", "ab", "abc", "[PAD5]", "[PAD6]", "[PAD7]",
                                                                             "<tool>", "<bos>", "[PAD10]", "[PAD11]"}));
  EXPECT_EQ(m.integers("tokenizer.ggml.token_type"), (std::vector<int64_t>{1, 1, 1, 1, 1, 5, 5, 5, 4, 3, 5, 5}));
  EXPECT_EQ(m.texts("tokenizer.ggml.merges"), (std::vector<std::string_view>{"a b", "ab c"}));
  EXPECT_EQ(m.integer("tokenizer.ggml.bos_token_id"), 9);
  EXPECT_EQ(m.integer("tokenizer.ggml.eos_token_id"), 4);
  EXPECT_FALSE(m.has("tokenizer.ggml.padding_token_id"));
  EXPECT_TRUE(m.boolean("tokenizer.ggml.add_bos_token"));
  EXPECT_FALSE(m.boolean("tokenizer.ggml.add_eos_token"));
  EXPECT_EQ(m.text("tokenizer.chat_template"), "{{ messages }}");
}

TEST_F(QuantizeTest, matrices_get_the_type_and_exceptions_are_noted) {
  const QuantizeReport report = run("q4_k");
  EXPECT_EQ(report.types, (std::map<std::string, int64_t>{{"f32", 14}, {"q4_k", 13}, {"q5_0", 2}, {"q6_k", 1}}));
  EXPECT_EQ(report.notes,
            std::vector<std::string>{"2 tensors whose rows are not whole blocks are written as q5_0: blk.0.attn_output.weight [256, 384], "
                                     "blk.1.attn_output.weight [256, 384]"});
  const auto file = GgufFile::open(folder / "out.gguf");
  const auto listed = file->list();
  EXPECT_EQ(listed.at("output.weight").dtype, DType::q6_k);
  EXPECT_EQ(listed.at("token_embd.weight").dtype, DType::q4_k);
  EXPECT_EQ(listed.at("blk.0.attn_q.bias").dtype, DType::f32);
  EXPECT_EQ(file->metadata().integer("general.file_type"), 14);
  const std::vector<float> x = permuted(published("model.layers.1.self_attn.q_proj.weight"), 6),
                           y = file->read("blk.1.attn_q.weight", {}, *device).to_vector();
  double signal = 0, noise = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    signal += double(x[i]) * double(x[i]);
    noise += double(x[i] - y[i]) * double(x[i] - y[i]);
  }
  EXPECT_GT(signal / noise, 300);  // observed: 342.6, uniform values
  EXPECT_EQ(run("q4_0", true).types, (std::map<std::string, int64_t>{{"f32", 14}, {"q4_0", 16}}));
}

TEST_F(QuantizeTest, a_gguf_file_is_written_in_another_type) {
  run("f32");
  fs::rename(folder / "out.gguf", folder / "f32.gguf");
  const auto again = [&](const char* from, const char* to, const char* type) {
    return quantize({.model = folder / from, .output = folder / to, .type = type, .pure = true, .threads = 1});
  };
  EXPECT_TRUE(again("f32.gguf", "q8.gguf", "q8_0").notes.empty());
  run("q8_0", true);
  // Only the order of the keys differs.
  const auto a = GgufFile::open(folder / "out.gguf"), b = GgufFile::open(folder / "q8.gguf");
  EXPECT_EQ(a->file_bytes(), b->file_bytes());
  for (const auto& [key, value] : a->metadata().values()) EXPECT_EQ(b->metadata().find(key)->bytes, value.bytes) << key;
  for (const auto& [name, info] : a->list()) {
    const Tensor x = a->read(name, {}, *device), y = b->read(name, {}, *device);
    ASSERT_EQ(x.dtype(), y.dtype());
    EXPECT_EQ(std::memcmp(x.raw(), y.raw(), x.bytes()), 0) << name;
  }
  EXPECT_EQ(again("q8.gguf", "q4.gguf", "q4_0").notes.at(0).substr(0, 62),
            "16 tensors are already quantized and lose precision if their t");
}

TEST_F(QuantizeTest, unsupported_models_are_refused_and_write_no_file) {
  EXPECT_EQ(refusal("q7").substr(0, 48), "quantize: unknown type 'q7', expected one of f32");
  replace_in("tokenizer.json", "{1,3}", "{1,2}");
  EXPECT_EQ(refusal(), "FOLDER/m/tokenizer.json: GGUF has no name for the split patterns of this pre-tokenizer with ignore_merges");
  replace_in("tokenizer.json", "{1,2}", "{1,3}");
  replace_in("tokenizer.json", "\"id\": 9", "\"id\": 12");
  EXPECT_EQ(refusal(), "FOLDER/m/tokenizer.json: token '<bos>' has the id 12, but the embedding has 12 rows");
  replace_in("tokenizer.json", "\"id\": 12", "\"id\": 9");
  replace_in("config.json", "\"llama3\"", "\"dynamic\"");
  EXPECT_NE(refusal(), "");
  replace_in("config.json", "\"dynamic\"", "\"llama3\"");
  replace_in("config.json", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1");
  EXPECT_NE(refusal().find("unread: 'model.layers.1."), std::string::npos);
  replace_in("config.json", "\"num_hidden_layers\": 1", "\"num_hidden_layers\": 2");
  replace_in("config.json", "\"model_type\": \"llama\"", "\"model_type\": \"gemma\"");
  EXPECT_EQ(refusal().rfind("FOLDER/m: models of type 'gemma' cannot be written as GGUF; supported are ", 0), 0u);
  replace_in("config.json", "\"model_type\": \"gemma\"", "\"model_type\": \"llama\"");
  fs::remove(folder / "m" / "tokenizer.json");
  EXPECT_EQ(run("q8_0").notes, std::vector<std::string>{"the folder has no tokenizer.json: the GGUF file supports token ids only"});
  fs::remove(folder / "out.gguf");

  std::string bytes = read_file(folder / "m" / "model.safetensors");
  std::memset(bytes.data() + bytes.size() - 1000, 0xff, 2);  // NaN
  write_file(folder / "m" / "model.safetensors", bytes);
  EXPECT_NE(refusal().find("has 1 NaN or infinite values of"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "out.gguf"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace hearth
