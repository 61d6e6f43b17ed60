// Several models in one server, and tool calls of a model that knows none.
#include <filesystem>
#include <future>

#include "api/assets.h"
#include "core/error.h"
#include "server/live_server_test.h"
#include "support/complaint.h"
#include "support/detached_backend.h"

namespace hearth::server::test {
namespace {

ServeOptions two_language_models(int64_t limit) {
  ServeOptions options;
  options.models.models = {{"a", api::demo_language_model_folder()}, {"b", api::demo_language_model_folder()}};
  options.models.memory_limit = limit;
  options.models.language.engine.cache_bytes = 3'000'000;
  return options;
}

Json ask(const LiveServer& server, const std::string& model, int64_t tokens = 4) {
  return server.post("/v1/completions", {{"model", model}, {"prompt", "The"}, {"max_tokens", tokens}, {"ignore_eos", true}}).json();
}

bool loaded(const LiveServer& server, const std::string& id) { return server.get("/v1/models/" + id).json()["loaded"]; }

TEST(Models, the_one_not_used_for_longest_makes_room) {
  const LiveServer server(two_language_models(9'000'000));
  EXPECT_TRUE(loaded(server, "a"));
  EXPECT_FALSE(loaded(server, "b"));
  EXPECT_EQ(ask(server, "b")["model"], "b");
  EXPECT_FALSE(loaded(server, "a"));
  EXPECT_EQ(ask(server, "a")["model"], "a");
  EXPECT_FALSE(loaded(server, "b"));
  // One that is answering stays; the other has to wait.
  Visitor visitor(server, "/v1/completions",
                  {{"model", "a"}, {"prompt", "The"}, {"max_tokens", 1000}, {"n", 2}, {"ignore_eos", true}, {"stream", true}});
  ASSERT_TRUE(visitor.sees("data:"));
  const Response refused = server.post("/v1/completions", {{"model", "b"}, {"prompt", "The"}, {"max_tokens", 1}});
  EXPECT_EQ(refused.status, 503) << refused.body;
  EXPECT_GE(std::stoi(refused.headers.at("retry-after")), 1);
  EXPECT_EQ(server.post("/models/unload", {{"model", "a"}}).status, 409);
  EXPECT_TRUE(visitor.sees("[DONE]"));
  EXPECT_EQ(server.post("/models/unload", {{"model", "a"}}).status, 200);
  EXPECT_FALSE(loaded(server, "a"));
}

// A GPU that fails ends the answers of the model on it, which is opened anew on its next use; other models are not affected.
TEST(Models, on_a_device_that_failed_are_opened_again) {
  const auto faults = std::make_shared<hearth::test::Faults>();
  hearth::test::add_detached_backend("fragile", {.faults = faults});
  ServeOptions options = two_language_models(0);
  options.models.language.open.device = "fragile";
  const LiveServer server(options);
  const auto text = [&](const std::string& id) {
    return server.post("/v1/completions", {{"model", id}, {"prompt", "The"}, {"max_tokens", 4}, {"temperature", 0}})
        .json()["choices"][0]["text"];
  };
  const Json before = text("a");
  Visitor visitor(server, "/v1/completions",
                  {{"model", "a"}, {"prompt", "The"}, {"max_tokens", 1000}, {"ignore_eos", true}, {"stream", true}});
  ASSERT_TRUE(visitor.sees("data:"));
  faults->lost = faults->made.load();
  EXPECT_TRUE(visitor.sees("the device stopped working"));
  for (const char* id : {"a", "b"}) EXPECT_EQ(text(id), before) << id;
}

TEST(Models, have_a_cache_for_the_memory_of_their_device) {
  hearth::test::add_detached_backend("roomy", {.free_memory = int64_t(1) << 40});
  hearth::test::add_detached_backend("cramped", {.free_memory = 12 << 20});
  const auto bytes = [](const char* device) {
    LanguageService::Options options;
    options.path = api::demo_language_model_folder();
    options.open.device = device;
    return LanguageService("m", options).bytes();
  };
  EXPECT_LT(bytes("cramped"), bytes("roomy"));
}

// A client that has its answer may unload the model at once, although the handler or the engine's thread still has it for a moment.
TEST(Models, are_free_as_soon_as_they_have_answered) {
  const LiveServer server(two_language_models(9'000'000));
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(ask(server, i % 2 ? "a" : "b", 1)["model"], i % 2 ? "a" : "b");
    if (i % 3 == 0) { EXPECT_EQ(server.post("/models/unload", {{"model", i % 2 ? "a" : "b"}}).status, 200) << i; }
  }
}

// Answers that are cut off end, and their models with them, before serve() returns; those in the background have no client that leaves.
TEST(Models, end_while_they_answer) {
  const auto threads = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}); };
  const auto before = threads();
  const Json endless{{"prompt", "The"}, {"max_tokens", 1000}, {"ignore_eos", true}, {"stream", true}};
  ServeOptions options = two_language_models(0);
  options.drain_seconds = 0;
  LiveServer server(options);
  const Response background =
      server.post("/v1/responses", {{"input", "Hi"}, {"background", true}, {"max_output_tokens", 900}, {"ignore_eos", true}});
  EXPECT_EQ(background.status, 200) << background.body;
  Visitor visitor(server, "/v1/completions", endless);
  EXPECT_TRUE(visitor.sees("data:"));
  server.stop();
  // A thread that has been joined is listed for a moment longer.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (threads() != before && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_EQ(threads(), before);
}

TEST(Models, without_a_limit_all_stay) {
  const LiveServer server(two_language_models(0));
  ask(server, "b");
  EXPECT_TRUE(loaded(server, "a") && loaded(server, "b"));
}

TEST(Models, what_can_never_fit_is_refused_at_the_start) {
  EXPECT_EQ(hearth::test::complaint_of([] { LiveServer server(two_language_models(4'000'000)); }),
            "UsageError: the model 'a' needs 0.005 GB, but the memory limit is 0.004 GB");
  ServeOptions twice = two_language_models(0);
  twice.models.models[1].first = "a";
  EXPECT_EQ(hearth::test::complaint_of([&] { LiveServer server(twice); }),
            "UsageError: two models have the id 'a'; give one another with -m ID=PATH");
  twice.models.models = {{"", "/nowhere/model"}};
  EXPECT_EQ(hearth::test::complaint_of([&] { LiveServer server(twice); }), "IoError: /nowhere/model: no such file or folder");
}

const Json weather_tools{
    {{"type", "function"},
     {"function",
      {{"name", "get_weather"},
       {"parameters",
        {{"type", "object"},
         {"properties",
          {{"city", {{"type", "string"}, {"maxLength", 12}}}, {"days", {{"type", "integer"}, {"minimum", 1}, {"maximum", 7}}}}},
         {"required", {"city", "days"}},
         {"additionalProperties", false}}}}}},
    {{"type", "function"}, {"function", {{"name", "get_time"}}}}};

TEST(Tools, a_forced_call_is_a_valid_call) {
  for (const Json& choice : {Json("required"), Json{{"type", "function"}, {"function", {{"name", "get_weather"}}}}}) {
    for (int seed = 0; seed < 3; ++seed) {
      Json request{{"messages", {{{"role", "user"}, {"content", "Weather in Ulm?"}}}},
                   {"tools", weather_tools},
                   {"tool_choice", choice},
                   {"parallel_tool_calls", false},
                   {"max_tokens", 300},
                   {"temperature", 1.5},
                   {"seed", seed}};
      const Json answer = live_server().post("/v1/chat/completions", request).json();
      const Json& c = answer["choices"][0];
      EXPECT_EQ(c["finish_reason"], "tool_calls") << answer;
      ASSERT_EQ(c["message"]["tool_calls"].size(), 1u) << answer;
      const Json& function = c["message"]["tool_calls"][0]["function"];
      const Json arguments = Json::parse(function["arguments"].get<std::string>());
      if (function["name"] == "get_weather") {
        EXPECT_TRUE(arguments["city"].is_string() && arguments["days"] >= 1 && arguments["days"] <= 7) << arguments;
      } else {
        EXPECT_EQ(choice, "required");
        EXPECT_TRUE(arguments.empty());
      }
      // The stream joins to the same call.
      request["stream"] = true;
      std::string name, joined;
      for (const Json& event : live_server().post("/v1/chat/completions", request).events())
        for (const Json& call : event["choices"][0]["delta"].value("tool_calls", Json::array())) {
          name += call["function"].value("name", std::string());
          joined += call["function"].value("arguments", std::string());
        }
      EXPECT_EQ(name, function["name"]);
      EXPECT_EQ(joined, function["arguments"]);
    }
  }
}

TEST(Tools, what_is_wrong_is_named) {
  const auto message = [](Json request) {
    request["messages"] = {{{"role", "user"}, {"content", "x"}}};
    const Response response = live_server().post("/v1/chat/completions", request);
    EXPECT_EQ(response.status, 400) << response.body;
    return response.json()["error"]["message"].get<std::string>();
  };
  EXPECT_NE(message({{"tools", weather_tools}, {"tool_choice", {{"type", "function"}, {"function", {{"name", "nope"}}}}}}).find("nope"),
            std::string::npos);
  EXPECT_NE(message({{"tools", {{{"type", "retrieval"}}}}}).find("tools[0]"), std::string::npos);
  Json broken = weather_tools;
  broken[0]["function"]["parameters"]["properties"]["city"]["nonsense"] = 1;
  EXPECT_NE(message({{"tools", broken}}).find("nonsense"), std::string::npos);
}

// An earlier call and its result in the conversation.
TEST(Tools, results_go_back_to_the_model) {
  const Json answer =
      live_server()
          .post("/v1/chat/completions", {{"messages",
                                          {{{"role", "user"}, {"content", "Weather?"}},
                                           {{"role", "assistant"},
                                            {"content", nullptr},
                                            {"tool_calls",
                                             {{{"id", "call_1"},
                                               {"type", "function"},
                                               {"function", {{"name", "get_weather"}, {"arguments", "{\"city\":\"Ulm\"}"}}}}}}},
                                           {{"role", "tool"}, {"tool_call_id", "call_1"}, {"content", "sunny"}}}},
                                         {"tools", weather_tools},
                                         {"max_tokens", 5}})
          .json();
  EXPECT_EQ(answer["choices"][0]["message"]["role"], "assistant") << answer;
}

}  // namespace
}  // namespace hearth::server::test
