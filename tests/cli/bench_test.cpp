// hearth bench with the demo model. Times are reported but not compared with limits.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/process.h"
#include "core/files/file.h"
#include "core/files/json.h"
#include "hearth/hearth.h"

namespace hearth::test {
namespace {

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

class BenchTest : public CommandTest {
 protected:
  Json measure(const Arguments& more) const {
    Arguments arguments = {"bench", "--repetitions", "1", "--json"};
    if (more.empty() || more[0] != "ops") arguments.insert(arguments.end(), {"--model", "demo"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended r = run(arguments);
    EXPECT_EQ(r.code, 0) << r.err;
    return r.code == 0 ? Json::parse(r.out) : Json();
  }
};

TEST_F(BenchTest, json_has_the_documented_form) {
  const Json json = measure({"-W", "64", "-H", "64", "--threads", "2"});
  EXPECT_TRUE(json["machine"]["isa"].is_string());
  EXPECT_EQ(json["machine"]["threads"], 2);
  EXPECT_GT(json["machine"]["matrix_gflops"].get<double>(), 0.0);
  EXPECT_GT(json["machine"]["read_gbs"].get<double>(), 0.0);
  EXPECT_GT(json["peak_memory_bytes"].get<int64_t>(), 1'000'000);
  for (const char* part : {"load", "text", "unet_step", "vae_decode"}) EXPECT_GT(json["parts"][part]["seconds"].get<double>(), 0.0) << part;
  for (const char* part : {"unet_step", "vae_decode"}) {
    EXPECT_GT(json["parts"][part]["gflop"].get<double>(), 0.0) << part;
    EXPECT_GT(json["parts"][part]["fraction"].get<double>(), 0.0) << part;
  }
}

TEST_F(BenchTest, uses_the_requested_size_and_threads) {
  const auto gflop = [](const Json& json) { return json["parts"]["vae_decode"]["gflop"].get<double>(); };
  const Json small = measure({"-W", "64", "-H", "64"}), wide = measure({"-W", "128", "-H", "64", "--threads", "1"});
  EXPECT_GT(gflop(wide), 1.9 * gflop(small));
  EXPECT_EQ(wide["machine"]["threads"], 1);
}

TEST_F(BenchTest, holds_weights_in_the_requested_precision) {
  const auto bytes = [&](const char* precision) {
    return measure({"-W", "8", "-H", "8", "--precision", precision})["buffers_peak_bytes"].get<double>();
  };
  EXPECT_GT(bytes("f32"), 1.3 * bytes("bf16"));
}

TEST_F(BenchTest, defaults_to_the_native_size) {
  const Json json = measure({});
  EXPECT_EQ(json["model"]["width"], 128);
  EXPECT_EQ(json["model"]["height"], 128);
}

TEST_F(BenchTest, measures_one_component) {
  const Json vae = measure({"vae", "-W", "64", "-H", "64"}), clip = measure({"clip"}), step = measure({"step", "-W", "64", "-H", "64"});
  EXPECT_EQ(vae["parts"].size(), 2u) << vae.dump();
  EXPECT_GT(vae["parts"]["vae_decode"]["fraction"].get<double>(), 0.0);
  EXPECT_EQ(clip["parts"].size(), 2u) << clip.dump();
  EXPECT_GT(clip["parts"]["text"]["gflop"].get<double>(), 0.0);
  EXPECT_EQ(step["parts"].size(), 2u) << step.dump();
  EXPECT_GT(step["parts"]["unet_step"]["gflop"].get<double>(), 0.0);
}

// The blocks contain all products of their component, each once.
TEST_F(BenchTest, blocks_add_up_to_their_components) {
  const Json whole = measure({"sd15", "-W", "64", "-H", "64"}), blocks = measure({"blocks", "-W", "64", "-H", "64"});
  std::map<std::string, double> gflop;
  std::set<std::string> names;
  for (const Json& row : blocks["blocks"]) {
    gflop[row["part"]] += row["gflop"].get<double>();
    EXPECT_TRUE(names.insert(row["block"]).second) << row.dump();
    EXPECT_GE(row["seconds"].get<double>(), 0.0);
  }
  for (const char* part : {"text", "unet_step", "vae_decode"})
    EXPECT_NEAR(gflop[part], whole["parts"][part]["gflop"].get<double>(), 1e-9) << part;
  for (const char* name : {"text_model.encoder.layers.0", "time_embedding", "mid_block", "conv_out", "decoder.mid_block"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST_F(BenchTest, measures_threads_and_kernel_paths) {
  const Json threads = measure({"threads", "-W", "64", "-H", "64", "--threads", "3"})["threads"];
  ASSERT_EQ(threads.size(), 3u);
  EXPECT_EQ(threads[0]["efficiency"], 1.0);
  EXPECT_EQ(threads[1]["threads"], 2);
  EXPECT_EQ(threads[2]["threads"], 3);
  for (const Json& row : threads)
    EXPECT_DOUBLE_EQ(row["efficiency"].get<double>() * row["threads"].get<double>(), row["speedup"].get<double>());
  const Json paths = measure({"paths", "-W", "64", "-H", "64"})["paths"];
  ASSERT_EQ(paths.size(), 4u);
  EXPECT_EQ(paths[3]["path"], "amx");
  EXPECT_TRUE(std::ranges::any_of(paths, [](const Json& row) { return row["available"].get<bool>(); }));
  for (const Json& row : paths) EXPECT_EQ(row.contains("seconds"), row["available"].get<bool>()) << row.dump();
}

TEST_F(BenchTest, measures_the_overhead_of_samplers) {
  const Json made = measure({"samplers", "-W", "64", "-H", "64"});
  const double step = made["unet_step"];
  EXPECT_GT(step, 0.0);
  EXPECT_EQ(made["samplers"].size(), list_samplers().size());
  for (const Json& row : made["samplers"]) {
    EXPECT_GT(row["seconds"].get<double>(), 0.0) << row.dump();
    EXPECT_DOUBLE_EQ(row["share"].get<double>() * step, row["seconds"].get<double>()) << row.dump();
  }
}

// Counts of the published network: 5 transformers of 320 channels, each with a self-attention, and so on.
TEST_F(BenchTest, measures_the_ops_of_the_networks) {
  const Json ops = measure({"ops", "--model", "sd15", "--filter", "attention 2x8 heads 256x"});
  ASSERT_EQ(ops["ops"].size(), 2u) << ops.dump(1);
  for (const Json& op : ops["ops"]) EXPECT_EQ(op["calls"], (Json{{"sd15 step", 5}})) << op.dump();
  EXPECT_EQ(ops["sums"].size(), 1u);
  EXPECT_NEAR(ops["sums"]["sd15 step"]["gflop"].get<double>(), 5 * 4e-9 * 2 * 8 * 256 * 160 * (256 + 77), 1e-6);
  const Json layer = measure({"ops", "--model", "sd15", "--filter", "concat [2, 16, 16", "--threads", "1"});
  ASSERT_GE(layer["ops"].size(), 1u) << layer.dump(1);
  EXPECT_GT(layer["ops"][0]["gbs"].get<double>(), 0.0);
  const Json xl = measure({"ops", "--model", "sdxl", "--filter", "attention 2x20 heads 1024x77"});
  EXPECT_EQ(xl["ops"][0]["calls"], (Json{{"sdxl step", 60}})) << xl.dump(1);  // (2 + 3 + 1) transformers of 10 blocks
  EXPECT_EQ(measure({"ops", "--model", "sd15", "--filter", "linear 128x1280->1280", "--ops-weight-type", "bf16"})["factors"], "f32");
  // Residual blocks normalize the inputs of their convolutions: both of (2 + 2) blocks and the second of 3 at the lowest level.
  const Json norms = measure({"ops", "--model", "sd15", "--filter", "norm+conv 3x3 1280->1280 at 8 batch"})["ops"];
  ASSERT_EQ(norms.size(), 1u) << norms.dump(1);
  EXPECT_EQ(norms[0]["calls"], (Json{{"sd15 step", 11}}));
  EXPECT_EQ(norms[0]["kind"], "group_norm+conv2d");
  EXPECT_GT(norms[0]["gflops"].get<double>(), 0.0);
  EXPECT_EQ(not_one_line(run({"bench", "ops", "--model", "sd15", "--filter", "nothing has this name"}), 2), "");
  EXPECT_EQ(not_one_line(run({"bench", "vae", "--filter", "conv"}), 2), "");
  EXPECT_EQ(not_one_line(run({"bench", "blocks", "--ops-weight-type", "f32"}), 2), "");
  EXPECT_EQ(not_one_line(run({"bench", "paths", "--kernel-path", "avx2"}), 2), "");
  for (const Arguments& flag :
       {Arguments{"--model", "demo"}, {"--model", "llama-1b"}, {"-W", "64"}, {"-H", "1024"}, {"--variant", "fp16"}}) {
    Arguments arguments = {"bench", "ops", "--filter", "attention 2x8 heads 256x"};
    arguments.insert(arguments.end(), flag.begin(), flag.end());
    EXPECT_EQ(not_one_line(run(arguments), 2), "") << flag[0];
  }
  EXPECT_EQ(not_one_line(run({"bench", "clip", "-m", "demo", "-W", "64"}), 2), "");
  EXPECT_EQ(not_one_line(run({"bench", "op"}), 2), "");
}

// Of transformers, of autoencoders that are not Stable Diffusion's, and of a model of two networks; of all models together, those whose
// name has the filter's text.
TEST_F(BenchTest, measures_the_ops_of_every_kind_of_network) {
  const Json sana = measure({"ops", "--filter", "linear attention 2x36"})["ops"];
  ASSERT_GE(sana.size(), 1u);
  EXPECT_EQ(sana[0]["calls"]["sana-600m step"], 28) << sana[0].dump();
  const Json cascade = measure({"ops", "--model", "stable-cascade-lite", "--filter", "transposed batch 1"})["ops"];
  ASSERT_GE(cascade.size(), 1u);
  EXPECT_EQ(cascade[0]["calls"], (Json{{"stable-cascade-lite decode", 1}})) << cascade[0].dump();
}

// One folder with both networks, as StableCascadeCombinedPipeline saves it. The numbers of operations are those that torch counts, where
// the decoder's mapper of pixels, which are all zeros, runs on one instead of 64 (44,352 operations less).
TEST_F(BenchTest, measures_both_networks_of_a_model_that_has_two) {
  const std::filesystem::path golden = std::filesystem::path(HEARTH_SOURCE_DIR) / "tests/e2e/golden", both = folder / "both";
  std::filesystem::copy(golden / "stable_cascade", both, std::filesystem::copy_options::recursive);
  for (const char* part : {"prior", "text_encoder", "tokenizer", "scheduler"})
    std::filesystem::copy(golden / "stable_cascade_prior" / part, both / (std::string("prior_") + part),
                          std::filesystem::copy_options::recursive);
  Json index = load_json(both / "model_index.json");
  for (const char* part : {"text_encoder", "tokenizer", "scheduler"}) index[std::string("prior_") + part] = index[part];
  index["_class_name"] = "StableCascadeCombinedPipeline", index["prior_prior"] = index["decoder"];
  index.erase("latent_dim_scale");
  std::filesystem::permissions(both / "model_index.json", std::filesystem::perms::owner_write, std::filesystem::perm_options::add);
  write_file(both / "model_index.json", index.dump());
  const auto measured = [&](Arguments arguments) {
    arguments.insert(arguments.begin(), "bench");
    arguments.insert(arguments.end(), {"--model", both, "--repetitions", "1", "--json", "-W", "128", "-H", "128"});
    const Ended r = run(arguments);
    EXPECT_EQ(r.code, 0) << r.err;
    return r.code == 0 ? Json::parse(r.out) : Json();
  };
  const Json parts = measured({})["parts"], step = measured({"step"})["parts"], blocks = measured({"blocks"})["blocks"];
  EXPECT_EQ(parts.size(), 5u) << parts.dump();
  EXPECT_EQ(step.size(), 3u) << step.dump();
  // Two prompts of the prior, one of the decoder, which has no guidance by default.
  for (const auto& [part, gflop] : {std::pair{"prior_prior_step", 0.00293856}, {"decoder_step", 0.005310368 - 0.000044352}}) {
    EXPECT_NEAR(parts[part]["gflop"].get<double>(), gflop, 1e-9) << part;
    EXPECT_NEAR(step[part]["gflop"].get<double>(), gflop, 1e-9) << part;
    double sum = 0;
    for (const Json& row : blocks)
      if (row["part"] == part) sum += row["gflop"].get<double>();
    EXPECT_GT(sum, 0.6 * gflop) << part;  // passages between levels are in no block
    EXPECT_LT(sum, gflop + 1e-9) << part;
  }
  EXPECT_EQ(measured({"threads", "--threads", "1"})["threads"].size(), 1u);
  EXPECT_EQ(not_one_line(run({"bench", "--model", both, "-W", "136", "-H", "128"}), 2), "");
}

TEST_F(BenchTest, prints_text_and_one_line_errors) {
  const Ended r = run({"bench", "--model", "demo", "--repetitions", "1", "-W", "64", "-H", "64"});
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char* part : {"load", "text", "unet_step", "vae_decode", "peak memory"})
    EXPECT_NE(r.out.find(part), std::string::npos) << r.out;
  EXPECT_NE(r.err.find("measure "), std::string::npos) << r.err;
  const Ended slow = run({"bench", "--model", "demo", "--device", "reference"});
  EXPECT_EQ(slow.code, 1);
  EXPECT_NE(slow.err.find("the backend is 'reference', expected 'cpu'"), std::string::npos) << slow.err;
  EXPECT_EQ(run({"bench", "--model", "demo", "--repetitions", "1", "-W", "8", "-H", "8", "--json"}).out.back(), '\n');
  EXPECT_EQ(not_one_line(run({"bench", "--model", "demo", "--save-weights", "folder"}), 2), "");
  EXPECT_EQ(not_one_line(run({"bench", "vae", "--save-weights", "folder"}), 2), "");
  EXPECT_EQ(not_one_line(run({"bench", "sdxl", "--model", "demo"}), 2), "");
  EXPECT_EQ(not_one_line(run({"bench", "vae", "--model", "demo", "-W", "0"}), 2), "");
  EXPECT_EQ(not_one_line(run({"bench", "--model", "nowhere"}), 1), "");
  EXPECT_EQ(not_one_line(run({"bench", "--repetitions", "0"}), 2), "");
  EXPECT_EQ(not_one_line(run({"bench", "--variant", "fp16", "--model", "demo", "--repeat", "1"}), 2), "");
  EXPECT_EQ(run({"bench", "--model", "demo", "--variant", "fp16"}).code, 1);
}

}  // namespace
}  // namespace hearth::test
