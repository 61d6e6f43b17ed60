// Adapters of language models, which a server offers as models of their own.
#include <cmath>
#include <fstream>

#include "api/assets.h"
#include "server/live_server_test.h"
#include "support/backend_test.h"
#include "support/complaint.h"
#include "support/files.h"
#include "weights/safetensors/safetensors.h"

namespace hearth::server::test {
namespace {

namespace fs = std::filesystem;

// An adapter of PEFT for the queries of the demo model; `width`: of the model that it is for.
fs::path adapter(const hearth::test::TemporaryFolder& folder, const std::string& name, float size, int64_t width = 256) {
  const auto host = hearth::test::make_test_backend("reference");
  const auto wave = [&](Shape shape, float step) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = size * std::sin(step * float(i + 1));
    return Tensor::from(*host, shape, values);
  };
  fs::create_directories(folder / name);
  const std::string module = "base_model.model.model.layers.0.self_attn.q_proj.";
  write_safetensors(folder / name / "adapter_model.safetensors",
                    {{module + "lora_A.weight", wave({2, width}, 0.7f)}, {module + "lora_B.weight", wave({width, 2}, 1.3f)}});
  std::ofstream(folder / name / "adapter_config.json") << R"({"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["q_proj"]})";
  return folder / name;
}

ServeOptions with_adapters(std::vector<std::pair<std::string, Lora>> loras, int64_t limit = 0) {
  ServeOptions options;
  options.models.models = {{"base", api::demo_language_model_folder()}, {"other", api::demo_language_model_folder()}};
  options.models.loras = std::move(loras);
  options.models.memory_limit = limit;
  options.models.language.engine.cache_bytes = 3'000'000;
  return options;
}

Json choice(const LiveServer& server, const std::string& model) {
  const Response response =
      server.post("/v1/completions", {{"model", model}, {"prompt", "The fox"}, {"max_tokens", 12}, {"temperature", 0}, {"logprobs", 3}});
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.json()["model"], model);
  return response.json()["choices"][0];
}

bool loaded(const LiveServer& server, const std::string& id) { return server.get("/v1/models/" + id).json()["loaded"]; }

TEST(LanguageAdapters, answer_as_the_model_opened_with_them) {
  const hearth::test::TemporaryFolder folder;
  const Lora strong{.file = adapter(folder, "strong", 0.3f)}, half{.file = strong.file, .scale = 0.5};
  const LiveServer server(with_adapters({{"tuned", strong}, {"half", half}}));
  const Json base = choice(server, "base"), tuned = choice(server, "tuned");
  EXPECT_NE(tuned["logprobs"], base["logprobs"]);
  EXPECT_NE(choice(server, "half")["logprobs"], tuned["logprobs"]);
  LanguageOptions opened;
  opened.loras = {strong};
  CompletionRequest request{.prompt = "The fox", .max_tokens = 12};
  request.sampling.temperature = 0;
  EXPECT_EQ(tuned["text"], LanguageModel::open_demo(opened).complete(request).text);
  // Neither changes the other.
  EXPECT_EQ(choice(server, "base"), base);
  EXPECT_EQ(choice(server, "tuned"), tuned);
  EXPECT_EQ(choice(server, "other")["logprobs"], base["logprobs"]);
  EXPECT_EQ(server.get("/v1/models/tuned").json()["parent"], "base");
  EXPECT_FALSE(server.get("/v1/models/base").json().contains("parent"));
}

TEST(LanguageAdapters, come_and_go_with_their_model) {
  const hearth::test::TemporaryFolder folder;
  // Room for one of the models and an adapter.
  const LiveServer server(with_adapters({{"tuned", {.file = adapter(folder, "tuned", 0.3f)}}}, 10'000'000));
  const Json first = choice(server, "tuned");
  EXPECT_TRUE(loaded(server, "tuned") && loaded(server, "base"));
  choice(server, "other");
  EXPECT_FALSE(loaded(server, "tuned") || loaded(server, "base"));
  EXPECT_EQ(choice(server, "tuned"), first);
  EXPECT_EQ(server.post("/models/unload", {{"model", "base"}}).status, 200);
  EXPECT_FALSE(loaded(server, "tuned") || loaded(server, "base"));
  EXPECT_EQ(choice(server, "tuned"), first);
  EXPECT_EQ(server.post("/models/unload", {{"model", "tuned"}}).status, 200);
  EXPECT_FALSE(loaded(server, "tuned"));
  EXPECT_TRUE(loaded(server, "base"));
}

TEST(LanguageAdapters, that_answer_keep_their_model) {
  const hearth::test::TemporaryFolder folder;
  const LiveServer server(with_adapters({{"tuned", {.file = adapter(folder, "tuned", 0.3f)}}}, 10'000'000));
  Visitor visitor(server, "/v1/completions",
                  {{"model", "tuned"}, {"prompt", "The"}, {"max_tokens", 1000}, {"n", 2}, {"ignore_eos", true}, {"stream", true}});
  ASSERT_TRUE(visitor.sees("data:"));
  EXPECT_EQ(server.post("/models/unload", {{"model", "base"}}).status, 409);
  EXPECT_EQ(server.post("/v1/completions", {{"model", "other"}, {"prompt", "The"}, {"max_tokens", 1}}).status, 503);
  EXPECT_TRUE(visitor.sees("[DONE]"));
}

TEST(LanguageAdapters, that_fit_no_model_are_refused_at_the_start) {
  const hearth::test::TemporaryFolder folder;
  const auto complaint = [&](const std::string& id, const Lora& lora, std::vector<std::pair<std::string, fs::path>> models = {}) {
    ServeOptions options = with_adapters({{id, lora}});
    if (!models.empty()) options.models.models = std::move(models);
    return hearth::test::complaint_of([&] { LiveServer server(options); });
  };
  const std::string wide = complaint("wide", {.file = adapter(folder, "wide", 0.3f, 64)});
  EXPECT_TRUE(wide.starts_with("WeightError: ")) << wide;
  EXPECT_NE(wide.find("q_proj"), std::string::npos) << wide;
  const Lora sound{.file = adapter(folder, "sound", 0.3f)};
  EXPECT_EQ(complaint("base", sound), "UsageError: two models have the id 'base'; give one another with --lora ID=PATH");
  EXPECT_EQ(complaint("tuned", sound, {{"image", api::demo_model_folder()}}),
            "UsageError: the adapter 'tuned' needs a language model, expected one with -m");
  const LiveServer server(with_adapters({}));
  const Response refused = server.post("/v1/completions", {{"prompt", "The"}, {"lora", {{{"id", 0}, {"scale", 0.5}}}}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.json()["error"]["param"], "lora");
}

}  // namespace
}  // namespace hearth::server::test
