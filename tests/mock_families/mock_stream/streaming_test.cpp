// Blocks that are loaded while the network runs: the same images within less memory.
#include <atomic>
#include <regex>
#include <thread>

#include "core/error.h"
#include "mock_stream/mock_stream_case_test.h"
#include "models/diffusion/latent_model.h"
#include "support/files.h"
#include "support/sanitizer.h"
#include "weights/safetensors/safetensors.h"

namespace hearth::test {
namespace {

using models::Residence;

constexpr MockSizes large{.text_width = 256, .text_layers = 8, .width = 256, .layers = 24};
constexpr int64_t block_bytes = 12 * 256 * 256 * 4;  // of the transformer

BACKEND_TEST(MockStreaming, has_the_bits_of_staying) {
  const TemporaryFolder folder;
  write_checkpoint(folder / "mock", {.layers = 5});
  const Checkpoint checkpoint = models::open_checkpoint(folder / "mock");
  const auto model = models::find_family(checkpoint).family.describe(checkpoint);
  models::diffusion::Networks networks({{.checkpoint = checkpoint, .components = model->components()}}, device, {.card_blocks = 0});
  const auto drawn = [&](const Residence& resident) {
    models::diffusion::Holding holding(networks, {.resident = resident});
    holding.load({}, {});
    models::diffusion::Conditioning given{
        .tensors = {{"text", Tensor::filled(device, {1, 3, 16}, 0.5f)}, {"pooled", Tensor::filled(device, {1, 32}, 0.25f)}},
        .lengths = {{"text", {3}}}};
    std::vector<float> all;
    for (const float timestep : {900.0f, 300.0f}) {
      const Tensor x = Tensor::filled(device, {1, 4, 6, 4}, timestep / 1000);
      const auto y = model->denoise(holding.of(0), x, timestep, {.given = given}).to_vector();
      all.insert(all.end(), y.begin(), y.end());
    }
    return all;
  };
  const std::vector<float> expected = drawn({});
  for (const double part : {0.0, 0.5, 0.9}) {
    EXPECT_EQ(drawn({{"transformer", part}}), expected) << part;
    const auto reports = networks.reports();
    const auto report = std::ranges::find(reports, "transformer", &models::ComponentReport::name);
    EXPECT_EQ(report->blocks, 5);
    EXPECT_EQ(report->blocks_in_memory, int64_t(part * 5));
    EXPECT_GT(report->block_loads, 0);
  }
  EXPECT_EQ(drawn({}), expected);
}

class MockStreamingRuns : public CommandTest {
 protected:
  MockStreamingRuns() { write_checkpoint(folder / "mock", large); }

  Ended draw(const Arguments& more = {}) const {
    Arguments arguments = {"generate", "-m",     "mock", "-p",        "a red house", "-n", "people", "--steps",
                           "3",        "--seed", "7",    "--threads", "2",           "-o", "a.png",  "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  Json report(const Ended& ended) const {
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.code == 0 ? Json::parse(ended.out).at("runs").at(0) : Json();
  }
  std::vector<uint8_t> image() const { return read_png(folder / "a.png").image.rgb; }
  static int64_t in_memory(const Json& made, const std::string& component) {
    for (const Json& c : made.at("components"))
      if (c.at("name") == component) return c.at("blocks").at("in_memory").get<int64_t>();
    return -1;
  }
};

TEST_F(MockStreamingRuns, a_limit_is_obeyed_with_as_many_blocks_as_fit) {
  HEARTH_SKIP_UNDER_ADDRESS_SANITIZER();
  const int64_t everything = report(draw({"--memory-limit", "8G"})).at("memory").at("predicted");
  const std::vector<uint8_t> expected = image();
  const Json lean = report(draw({"--memory-limit", std::to_string(everything - 2 * block_bytes)}));
  EXPECT_EQ(lean.at("memory").at("mode"), "each network is loaded only while it works");
  EXPECT_EQ(in_memory(lean, "transformer"), large.layers);
  const int64_t whole = lean.at("memory").at("predicted");
  int64_t last = large.layers;
  for (const int64_t blocks_less : {3, 9, 15}) {
    const int64_t limit = whole - blocks_less * block_bytes;
    const Ended ended = draw({"--memory-limit", std::to_string(limit)});
    const Json made = report(ended);
    const Json& memory = made.at("memory");
    EXPECT_EQ(image(), expected) << blocks_less;
    const int64_t staying = in_memory(made, "transformer");
    // With the lowest limit, the text encoder may be streamed, too.
    const std::string mode = memory.at("mode");
    EXPECT_TRUE(mode.starts_with("each network is loaded only while it works")) << mode;
    EXPECT_TRUE(mode.ends_with(fmt::format(", transformer streamed: {} of {} blocks stay in memory", staying, large.layers))) << mode;
    EXPECT_NE(ended.err.find(memory.at("mode").get<std::string>()), std::string::npos) << ended.err;
    EXPECT_LT(staying, last);
    // Two blocks, a tensor of a third, another thread's scratch, and what the estimate of the program varies by.
    EXPECT_GT(staying, large.layers - blocks_less - 6);
    EXPECT_LE(memory.at("predicted"), limit);
    EXPECT_LE(ended.peak_bytes, limit) << memory;
    EXPECT_EQ(memory.at("measured").at("peak"), memory.at("planned").at("peak"));
    last = staying;
  }
  const Ended refused = draw({"--memory-limit", "40M"});
  EXPECT_EQ(not_one_line(refused, 2), "");
  EXPECT_TRUE(
      std::regex_search(refused.err, std::regex("need at least 0\\.\\d+ GB \\(.*transformer streamed: 0 of 24 blocks stay in memory\\), "
                                                "expected at most the memory limit of 0\\.\\d+ GB")))
      << refused.err;
}

// The first run packs and writes the weights while it streams; the second maps them.
TEST_F(MockStreamingRuns, the_weight_cache_serves_both) {
  HEARTH_SKIP_UNDER_ADDRESS_SANITIZER();
  const int64_t whole = report(draw({"--memory-limit", "8G"})).at("memory").at("predicted");
  const std::vector<uint8_t> expected = image();
  const std::string limit = std::to_string(whole - 12 * block_bytes);
  const auto packed = [&] {
    std::map<std::string, fs::file_time_type> found;
    for (const auto& entry : fs::directory_iterator(folder / "cache"))
      if (entry.path().extension() == ".packed") found[entry.path().filename()] = fs::last_write_time(entry.path());
    return found;
  };
  std::map<std::string, fs::file_time_type> written;
  for (const Arguments& limited : {Arguments{"--memory-limit", limit}, {"--memory-limit", limit}, {}, {"--memory-limit", limit}}) {
    Arguments more = {"--weight-cache", "cache"};
    more.insert(more.end(), limited.begin(), limited.end());
    const Ended ended = draw(more);
    const Json made = report(ended);
    EXPECT_EQ(image(), expected);
    EXPECT_LE(ended.peak_bytes, made.at("memory").at("predicted").get<int64_t>());
    EXPECT_EQ(ended.err.find("weight cache"), std::string::npos) << ended.err;
    if (written.empty()) written = packed();
    EXPECT_EQ(packed(), written);
  }
  EXPECT_EQ(written.size(), 4u);
}

TEST_F(MockStreamingRuns, damage_in_a_block_ends_the_run_in_one_line) {
  HEARTH_SKIP_UNDER_ADDRESS_SANITIZER();
  const int64_t whole = report(draw({"--memory-limit", "8G"})).at("memory").at("predicted");
  const fs::path file = folder / "mock/transformer/diffusion_pytorch_model.safetensors";
  const auto header = SafetensorsFile::open(file)->header();
  std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
  uint64_t length = 0;
  out.read(reinterpret_cast<char*>(&length), 8);
  out.seekp(std::streamoff(8 + length + header.tensors.at("blocks.23.down.weight").begin));
  out.write("\x00\x00\xc0\x7f", 4);  // NaN
  out.close();
  const Ended ended = draw({"--memory-limit", std::to_string(whole - 12 * block_bytes)});
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.err.find("1 non-finite: 'blocks.23.down.weight' has 1 NaN or infinite values"), std::string::npos) << ended.err;
}

// Several runs of one model at once, whose plans may differ.
TEST_F(MockStreamingRuns, concurrent_runs_share_one_model) {
  HEARTH_SKIP_UNDER_ADDRESS_SANITIZER();
  const Checkpoint checkpoint = models::open_checkpoint(folder / "mock");
  const auto device = make_test_backend("cpu_avx2");
  if (!device) GTEST_SKIP() << "this processor lacks AVX2";
  const models::ImageTask task{.request = {.prompt = "a red house", .negative_prompt = "people", .steps = 3}, .seed = 7};
  const auto open = [&](int64_t limit) {
    return models::open_image_model(checkpoint, *device, {.warn = [](const std::string&) {}, .memory_limit = limit});
  };
  std::vector<float> expected;
  int64_t whole = 0;
  {
    const auto plain = open(int64_t(8) << 30);
    const auto job = plain->prepare(task);
    whole = job->plan().process;
    expected = job->run({}).latents.to_vector();
  }
  device->release_cached();
  const auto limited = open(whole - 14 * block_bytes);
  std::vector<std::unique_ptr<models::ImageJob>> jobs;
  for (int i = 0; i < 3; ++i) {
    jobs.push_back(limited->prepare(task));
    EXPECT_FALSE(jobs.back()->plan().resident.empty());  // planned with nothing else in memory
  }
  std::vector<std::thread> threads;
  for (const auto& job : jobs)
    threads.emplace_back([&] {
      for (int round = 0; round < 2; ++round) EXPECT_EQ(job->run({}).latents.to_vector(), expected);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hearth::test
