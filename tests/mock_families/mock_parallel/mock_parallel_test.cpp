// The mock language family, compared with an independent computation and run from the command line.
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "core/files/file.h"
#include "core/files/json.h"
#include "core/threads.h"
#include "models/language_loading.h"
#include "models/language_registry.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "support/golden.h"
#include "support/tolerance.h"
#include "weights/seeded_file.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

const Json& golden() {
  static const Json all = load_json(folder_of(__FILE__) / "golden/tiny.json");
  return all;
}

const models::LanguageFamily& mock() {
  for (const auto& [name, family] : models::language_families())
    if (name == "mock_parallel") return family;
  throw std::logic_error("the table lacks mock_parallel");
}

// A folder as the family's users would have it: the demo model's tokenizer, weights by name.
void write_checkpoint(const fs::path& folder) {
  fs::create_directories(folder);
  const fs::path demo = fs::path(HEARTH_SOURCE_DIR) / "assets/demo-language-model";
  for (const char* file : {"tokenizer.json", "tokenizer_config.json"}) fs::copy_file(demo / file, folder / file);
  const std::string config = golden()["config"].dump();
  write_file(folder / "config.json", config);
  ThreadPool threads(1);
  write_seeded_file(folder / "model.safetensors", models::network_shapes(mock(), Config::parse(config, "config.json")), DType::f32,
                    threads);
}

// The logits after every token, fed `step` tokens at a time.
std::vector<float> logits_of(models::LanguageModel& model, const Ids& ids, size_t step) {
  std::vector<float> all;
  const auto text = model.start(std::ssize(ids), DType::f32);
  for (size_t begin = 0; begin < ids.size(); begin += step)
    model.feed(*text, std::span(ids).subspan(begin, std::min(step, ids.size() - begin)), 0,
               [&](int64_t, std::span<const float> values) { all.insert(all.end(), values.begin(), values.end()); });
  return all;
}

BACKEND_TEST(MockParallel, logits_are_those_of_numpy_however_they_are_fed) {
  const TemporaryFolder folder;
  write_checkpoint(folder.path() / "m");
  const LanguageCheckpoint checkpoint = models::open_language_checkpoint(folder / "m");
  const auto [model, report] = models::load_language_model(mock(), checkpoint, device);
  const Ids ids = golden()["ids"];
  const std::vector<float> whole = logits_of(*model, ids, ids.size());
  std::vector<float> kept;
  const auto V = size_t(model->sizes().vocabulary);
  for (size_t t = 0; t < ids.size(); t += 3) kept.insert(kept.end(), whole.begin() + long(t * V), whole.begin() + long((t + 1) * V));
  EXPECT_CLOSE(kept, golden()["logits"].get<std::vector<float>>(), 3e-6);  // observed 1.9e-7 reference, 3.0e-7 cpu
  for (const size_t step : {1, 2, 4, 7}) EXPECT_TRUE(logits_of(*model, ids, step) == whole) << "pieces of " << step;
}

class MockParallelTest : public CommandTest {
 protected:
  MockParallelTest() { write_checkpoint(folder / "mock"); }

  std::string told(const std::vector<std::string>& arguments) const {
    const Ended ended = run(arguments);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.out;
  }
  Ids greedy(const std::string& model) const {
    std::string ids;
    for (const int32_t id : golden()["ids"]) ids += (ids.empty() ? "" : ",") + std::to_string(id);
    const Json answer = Json::parse(
        told({"complete", "-m", model, "--prompt-token-ids", ids, "--max-tokens", "12", "--temperature", "0", "--ignore-eos", "--json"}));
    return answer["tokens"].get<Ids>();
  }
  double perplexity(const std::string& model) const {
    write_file(folder / "text", "The lighthouse stood on the rock.");
    return Json::parse(told({"perplexity", "-m", model, "-f", "text", "--json"}))["perplexity"];
  }
};

TEST_F(MockParallelTest, runs_from_a_folder_and_from_the_gguf_file_that_is_made_of_it) {
  const Ids expected = golden()["greedy"];
  EXPECT_EQ(greedy("mock"), expected);
  EXPECT_EQ(told({"quantize", "-m", "mock", "-o", "mock.gguf", "--type", "f32"}).rfind("mock.gguf: mockparallel, ", 0), 0u);
  EXPECT_EQ(greedy("mock.gguf"), expected);
  EXPECT_NEAR(perplexity("mock"), golden()["perplexity"], 1e-3);
  EXPECT_EQ(perplexity("mock.gguf"), perplexity("mock"));
  EXPECT_EQ(told({"tokenize", "-m", "mock", "-p", "The lighthouse"}), told({"tokenize", "-m", "mock.gguf", "-p", "The lighthouse"}));
  // Written again, and in blocks, which rows of 32 values fill.
  told({"quantize", "-m", "mock.gguf", "-o", "blocks.gguf", "--type", "q8_0"});
  EXPECT_NEAR(perplexity("blocks.gguf") / perplexity("mock"), 1, 0.05);
}

TEST_F(MockParallelTest, list_inspect_and_bench_know_it) {
  EXPECT_NE(told({"list", "models"}).find("mock_parallel"), std::string::npos);
  EXPECT_NE(told({"inspect", "mock"}).find("MockParallelForCausalLM"), std::string::npos);
  EXPECT_NE(told({"bench", "--help"}).find("mock-tiny"), std::string::npos);
  const Json measured = Json::parse(told({"bench", "--model", "mock-tiny", "--weight-type", "q8_0", "--repetitions", "1", "--save-weights",
                                          "kept.gguf", "--threads", "1", "--json"}));
  EXPECT_EQ(measured["model"]["family"], "mock_parallel");
  EXPECT_NE(told({"inspect", "kept.gguf"}).find("mockparallel"), std::string::npos);
}

TEST_F(MockParallelTest, a_size_that_config_json_lacks_is_named) {
  Json config = golden()["config"];
  config.erase("n_embd"), config.erase("n_layer");
  write_file(folder / "mock/config.json", config.dump());
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"complete", "-m", "mock", "-p", "The"}, {"quantize", "-m", "mock", "-o", "mock.gguf"}}) {
    const Ended ended = run(arguments);
    EXPECT_EQ(not_one_line(ended, 1), "");
    EXPECT_NE(
        ended.err.find("config.json: lacks 'n_embd' (its default is 768, the tensors have 32), 'n_layer' (its default is 12, the tensors "
                       "have 3)"),
        std::string::npos)
        << ended.err;
  }
}

}  // namespace
}  // namespace hearth::test
