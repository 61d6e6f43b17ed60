// Importance matrices: what is measured, and what it does for the demo language model.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "backends/backends.h"
#include "core/files/file.h"
#include "core/observe.h"
#include "core/threads.h"
#include "hearth/quantize.h"
#include "language_copy.h"
#include "models/language_loading.h"
#include "models/language_registry.h"
#include "weights/dequantized.h"
#include "weights/gguf/gguf.h"
#include "weights/gguf/imatrix.h"
#include "weights/seeded_file.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string stories(size_t first, size_t count) {
  static const Json all = Json::parse(std::ifstream(HEARTH_SOURCE_DIR "/tests/e2e/language_golden/unseen_stories.json"));
  std::string text;
  for (size_t i = first; i < first + count && i < all.size(); ++i) text += all[i].get<std::string>();
  return text;
}

// Sums of squares of what each matrix multiplies, by the network's names, added up value by value.
class Recorder final : public Observer {
 public:
  void on_op(const OpEvent& event) override {
    if (event.op != "linear") return;
    const std::vector<float> x = event.x.to_vector();
    const size_t K = size_t(event.x.size(-1));
    auto& [sums, rows] = seen[std::string(event.weight)];
    sums.resize(K);
    for (size_t i = 0; i < x.size(); ++i) sums[i % K] += double(x[i]) * double(x[i]);
    rows += double(x.size() / K);
  }
  std::map<std::string, std::pair<std::vector<double>, double>> seen;
};

void expect_sums(const std::vector<double>& file, size_t from, const std::vector<double>& seen) {
  for (size_t k = 0; k < seen.size(); ++k) ASSERT_EQ(file[from + k], double(float(seen[k])));  // the file has f32
}

TEST(Imatrix, holds_the_sums_of_squares_of_each_column) {
  const TemporaryFolder folder;
  LanguageModel model = LanguageModel::open(demo_language_model(), {.precision = Precision::f32});
  Recorder recorder;
  ImatrixReport report;
  {
    const ObserverScope scope(recorder);
    report = model.write_imatrix({.text = stories(0, 8), .dataset = "stories", .output = folder / "i.gguf", .context = 100, .chunks = 3});
  }
  EXPECT_EQ(report.chunks, 3);
  EXPECT_EQ(report.tokens, 300);
  EXPECT_EQ(report.entries, 14);
  EXPECT_TRUE(report.notes.empty());
  const Imatrix made = read_imatrix(folder / "i.gguf");
  EXPECT_EQ(made.datasets, std::vector<std::string>{"stories"});
  EXPECT_EQ(made.chunk_size, 100);
  ASSERT_EQ(made.entries.size(), 14u);  // seven matrices of two layers, without the one that computes the logits
  const std::pair<const char*, const char*> names[] = {
      {"attn_q", "self_attn.q_proj"}, {"attn_k", "self_attn.k_proj"}, {"attn_v", "self_attn.v_proj"}, {"attn_output", "self_attn.o_proj"},
      {"ffn_gate", "mlp.gate_proj"},  {"ffn_up", "mlp.up_proj"},      {"ffn_down", "mlp.down_proj"}};
  for (int layer = 0; layer < 2; ++layer)
    for (const auto& [gguf, network] : names) {
      const ImatrixEntry& entry = made.entries.at(fmt::format("blk.{}.{}.weight", layer, gguf));
      const auto& [sums, rows] = recorder.seen.at(fmt::format("model.layers.{}.{}.weight", layer, network));
      EXPECT_EQ(entry.counts, std::vector<double>{300});
      EXPECT_EQ(rows, 300);
      expect_sums(entry.sums, 0, sums);
    }

  model.write_imatrix({.text = stories(0, 8), .output = folder / "o.gguf", .context = 100, .chunks = 1, .output_matrix = true});
  EXPECT_EQ(read_imatrix(folder / "o.gguf").entries.at("token_embd.weight").counts, std::vector<double>{100});
}

// In three runs, the last of which continues a file: the same sums as in one.
TEST(Imatrix, is_the_same_in_several_runs) {
  const TemporaryFolder folder;
  LanguageModel model = LanguageModel::open(demo_language_model());
  ImatrixRequest request{.text = stories(0, 6), .dataset = "s", .output = folder / "all.gguf", .context = 64, .chunks = 4};
  model.write_imatrix(request);
  request.output = folder / "first.gguf", request.chunks = 1;
  model.write_imatrix(request);
  request.output = folder / "rest.gguf", request.chunks = 3, request.first_chunk = 1, request.merge = {folder / "first.gguf"};
  EXPECT_EQ(model.write_imatrix(request).chunks, 4);
  const Imatrix all = read_imatrix(folder / "all.gguf"), rest = read_imatrix(folder / "rest.gguf");
  EXPECT_EQ(rest.datasets, all.datasets);
  for (const auto& [name, entry] : all.entries) {
    EXPECT_EQ(rest.entries.at(name).counts, entry.counts);
    for (size_t k = 0; k < entry.sums.size(); ++k) EXPECT_NEAR(rest.entries.at(name).sums[k], entry.sums[k], 1e-6 * entry.sums[k]);
  }
  const ImatrixReport merged =
      merge_imatrices({.output = folder / "m.dat", .format = "dat", .merge = {folder / "all.gguf", folder / "all.gguf"}});
  EXPECT_EQ(merged.chunks, 8);
  EXPECT_EQ(read_imatrix(folder / "m.dat", 64).entries.at("blk.0.attn_q.weight").counts, std::vector<double>{512});
}

// Each token is counted for the experts that it is given to; the same for a folder and for the GGUF file that is made of it.
TEST(Imatrix, counts_the_tokens_of_each_expert) {
  const TemporaryFolder folder;
  const fs::path model = folder / "m";
  fs::create_directories(model);
  for (const char* file : {"tokenizer.json", "tokenizer_config.json"}) fs::copy_file(demo_language_model() / file, model / file);
  write_file(model / "config.json", Json{{"model_type", "qwen3_moe"},
                                         {"architectures", {"Qwen3MoeForCausalLM"}},
                                         {"vocab_size", 512},
                                         {"hidden_size", 64},
                                         {"intermediate_size", 96},
                                         {"num_hidden_layers", 2},
                                         {"num_attention_heads", 4},
                                         {"num_key_value_heads", 2},
                                         {"head_dim", 32},
                                         {"num_experts", 6},
                                         {"num_experts_per_tok", 2},
                                         {"moe_intermediate_size", 32},
                                         {"max_position_embeddings", 256},
                                         {"norm_topk_prob", true}}
                                        .dump());
  ThreadPool threads(2);
  for (const auto& [name, family] : models::language_families())
    if (name == "qwen3_moe")
      write_seeded_file(model / "model.safetensors", models::network_shapes(family, Config::load(model / "config.json")), DType::f32,
                        threads);
  Recorder recorder;
  {
    const ObserverScope scope(recorder);
    LanguageModel::open(model, {.precision = Precision::f32})
        .write_imatrix({.text = stories(0, 6), .output = folder / "i.gguf", .context = 64, .chunks = 2});
  }
  const Imatrix made = read_imatrix(folder / "i.gguf");
  for (int layer = 0; layer < 2; ++layer)
    for (const char* projection : {"gate", "up", "down"}) {
      const ImatrixEntry& entry = made.entries.at(fmt::format("blk.{}.ffn_{}_exps.weight", layer, projection));
      ASSERT_EQ(entry.counts.size(), 6u);
      EXPECT_EQ(std::accumulate(entry.counts.begin(), entry.counts.end(), 0.0), 2 * 128);
      for (int e = 0; e < 6; ++e) {
        const auto found = recorder.seen.find(fmt::format("model.layers.{}.mlp.experts.{}.{}_proj.weight", layer, e, projection));
        EXPECT_EQ(entry.counts[size_t(e)], found == recorder.seen.end() ? 0 : found->second.second);
        if (found != recorder.seen.end()) expect_sums(entry.sums, size_t(e * entry.columns()), found->second.first);
      }
    }
  EXPECT_TRUE(made.entries.contains("blk.1.ffn_gate_inp.weight"));  // the router

  quantize({.model = model, .output = folder / "m.gguf", .type = "f32"});
  LanguageModel::open(folder / "m.gguf", {.precision = Precision::f32})
      .write_imatrix({.text = stories(0, 6), .output = folder / "j.gguf", .context = 64, .chunks = 2});
  const Imatrix again = read_imatrix(folder / "j.gguf");
  ASSERT_EQ(again.entries.size(), made.entries.size());
  for (const auto& [tensor, entry] : made.entries) {
    EXPECT_EQ(again.entries.at(tensor).counts, entry.counts) << tensor;
    for (size_t k = 0; k < entry.sums.size(); ++k)
      EXPECT_NEAR(again.entries.at(tensor).sums[k], entry.sums[k], 1e-5 * entry.sums[k] + 1e-6) << tensor;
  }
}

// Σ importance · (w − quantized w)² over the matrices of the blocks: what quantization adds to the results of their products.
double added_error(const fs::path& path, const fs::path& exact, const Imatrix& importance) {
  const auto device = make_backend({.name = "cpu", .threads = 1});
  const auto file = GgufFile::open(path), original = GgufFile::open(exact);
  double error = 0;
  for (const auto& [name, info] : file->list()) {
    const auto found = importance.entries.find(name);
    if (!name.starts_with("blk.") || found == importance.entries.end()) continue;
    const std::vector<float> x = dequantized(file->read(name, info.shape, *device), Tensor(), *device).to_vector(),
                             w = original->read(name, info.shape, *device).to_vector();
    const size_t K = size_t(info.shape[-1]);
    for (size_t i = 0; i < x.size(); ++i)
      error += found->second.sums[i % K] / found->second.counts[0] * double(x[i] - w[i]) * double(x[i] - w[i]);
  }
  return error;
}

// Measured on 30 stories; the errors are those that 30 others would see.
TEST(Imatrix, makes_products_more_accurate) {
  const TemporaryFolder folder;
  const auto measure = [&](size_t first, const char* file) {
    LanguageModel::open(demo_language_model())
        .write_imatrix({.text = stories(first, 30), .output = folder / file, .context = 128, .output_matrix = true});
    return read_imatrix(folder / file);
  };
  measure(30, "i.gguf");
  const Imatrix seen = measure(0, "seen.gguf");
  quantize({.model = demo_language_model(), .output = folder / "exact.gguf", .type = "f32"});
  QuantizeRequest request{.model = demo_language_model(), .pure = true};
  // Observed: 0.848, 0.904, 0.869, 0.878, 0.900, 0.843, 0.700, 0.833, 0.692, 0.896, 0.898.
  for (const auto& [type, factor] : {std::pair("q2_k", 0.86), std::pair("q3_k", 0.91), std::pair("q4_k", 0.88), std::pair("q5_k", 0.89),
                                     std::pair("q6_k", 0.91), std::pair("q4_0", 0.85), std::pair("q4_1", 0.71), std::pair("q5_0", 0.84),
                                     std::pair("q5_1", 0.70), std::pair("iq4_nl", 0.91), std::pair("iq4_xs", 0.91)}) {
    request.type = type;
    request.output = folder / "plain.gguf", request.imatrix.clear();
    quantize(request);
    request.output = folder / "weighted.gguf", request.imatrix = folder / "i.gguf";
    EXPECT_TRUE(quantize(request).notes.empty());
    EXPECT_NEAR(double(fs::file_size(folder / "plain.gguf")), double(fs::file_size(folder / "weighted.gguf")), 300);  // the added keys
    EXPECT_LT(added_error(folder / "weighted.gguf", folder / "exact.gguf", seen),
              factor * added_error(folder / "plain.gguf", folder / "exact.gguf", seen))
        << type;
  }

  request.type = "q2_k";
  // Without the output matrix, which is q6_k here, nothing is missing; without a matrix of a block it is.
  Imatrix other = read_imatrix(folder / "i.gguf");
  other.entries.erase("token_embd.weight");
  request.imatrix = folder / "other.gguf", request.pure = false;
  write_imatrix(folder / "other.gguf", other, ImatrixFormat::gguf);
  EXPECT_TRUE(quantize(request).notes.empty());
  other.entries.erase("blk.1.ffn_up.weight");
  other.entries["blk.0.attn_v.weight"].counts = {0};
  write_imatrix(folder / "other.gguf", other, ImatrixFormat::gguf);
  const std::string file = (folder / "other.gguf").string();
  EXPECT_EQ(quantize(request).notes,
            (std::vector<std::string>{
                file + " lacks these matrices of the model's blocks, which are quantized without importance: blk.1.ffn_up.weight",
                "no token of " + file + " reached these matrices, which are quantized without importance: blk.0.attn_v.weight"}));

  other = read_imatrix(folder / "i.gguf");
  other.entries["blk.0.attn_q.weight"] = {.sums = {1, 2}, .counts = {1}};
  write_imatrix(folder / "other.gguf", other, ImatrixFormat::gguf);
  request.imatrix = folder / "other.gguf";
  EXPECT_NE(message_of<WeightError>([&] { quantize(request); }).find("'blk.0.attn_q.weight' has 2 sums"), std::string::npos);
  other.entries = {{"blk.9.attn_q.weight", {.sums = {1, 2}, .counts = {1}}}};
  write_imatrix(folder / "other.gguf", other, ImatrixFormat::gguf);
  EXPECT_NE(message_of<WeightError>([&] { quantize(request); }).find("it is of another model"), std::string::npos);
}

TEST(Imatrix, requests_that_make_no_sense_are_refused) {
  const TemporaryFolder folder;
  LanguageModel model = LanguageModel::open(demo_language_model());
  const auto refused = [&](const ImatrixRequest& request) { return message_of<UsageError>([&] { model.write_imatrix(request); }); };
  EXPECT_EQ(refused({.text = "a", .output = folder / "i"}), "calibrate: the text has 2 tokens, expected at least the 512 of a chunk");
  EXPECT_EQ(refused({.text = stories(0, 2), .output = folder / "i", .context = 32, .chunks = 2, .first_chunk = 900}).substr(0, 24),
            "calibrate: the text has ");
  EXPECT_EQ(refused({.text = "a", .output = folder / "i", .context = 1}), "context 1: expected at least 2");
  EXPECT_EQ(refused({.text = "a", .output = folder / "i", .format = "csv"}), "calibrate: unknown format 'csv', expected gguf or dat");
  EXPECT_EQ(message_of<UsageError>([&] { merge_imatrices({.output = folder / "i"}); }), "calibrate: there are no files to merge");
}

}  // namespace
}  // namespace hearth::test
