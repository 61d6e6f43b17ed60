// OpenAI's text APIs over HTTP, with the demo language model.
#include "server/api/base64.h"
#include "server/live_server_test.h"

namespace hearth::server::test {
namespace {

using std::chrono::steady_clock;

Json completion(const Json& request) {
  const Response response = live_server().post("/v1/completions", request);
  EXPECT_EQ(response.status, 200) << response.body;
  return response.json();
}

Json chat(const Json& request) {
  const Response response = live_server().post("/v1/chat/completions", request);
  EXPECT_EQ(response.status, 200) << response.body;
  return response.json();
}

std::string error_of(const Response& response, int status) {
  EXPECT_EQ(response.status, status) << response.body;
  const Json e = response.json().value("error", Json::object());
  EXPECT_TRUE(e.contains("type") && e.contains("param") && e.contains("code")) << response.body;
  return e.value("message", std::string());
}

TEST(Completions, a_stream_joins_to_the_whole_answer) {
  for (const double temperature : {0.0, 1.2}) {
    Json request{{"prompt", "The lighthouse"}, {"max_tokens", 60}, {"temperature", temperature}, {"seed", 5}, {"logprobs", 2}, {"n", 2}};
    const Json whole = completion(request);
    request["stream"] = true;
    request["stream_options"] = {{"include_usage", true}};
    const Response streamed = live_server().post("/v1/completions", request);
    EXPECT_EQ(streamed.content_type, "text/event-stream");
    std::map<int64_t, std::string> texts, reasons;
    std::map<int64_t, Json> scores;
    Json usage;
    for (const Json& event : streamed.events()) {
      if (event["choices"].empty()) usage = event["usage"];
      for (const Json& c : event["choices"]) {
        texts[c["index"]] += c["text"];
        if (!c["finish_reason"].is_null()) reasons[c["index"]] = c["finish_reason"];
        if (c["logprobs"].is_null()) continue;
        for (const Json& value : c["logprobs"]["token_logprobs"]) scores[c["index"]].push_back(value);
      }
    }
    for (const Json& c : whole["choices"]) {
      EXPECT_EQ(texts[c["index"]], c["text"]);
      EXPECT_EQ(reasons[c["index"]], c["finish_reason"]);
      EXPECT_EQ(scores[c["index"]], c["logprobs"]["token_logprobs"]);
    }
    EXPECT_EQ(usage["completion_tokens"], whole["usage"]["completion_tokens"]);
    EXPECT_EQ(whole["usage"]["completion_tokens"], 120);
    EXPECT_EQ(whole["choices"][0]["text"] == whole["choices"][1]["text"], temperature == 0);
  }
}

// What lm-eval's local-completions asks for.
TEST(Completions, echo_scores_the_prompt_also_when_it_is_cached) {
  const Json request{{"prompt", "Ida was the keeper of the lighthouse. She lit the lamp every evening."},
                     {"max_tokens", 0},
                     {"echo", true},
                     {"logprobs", 1},
                     {"temperature", 0}};
  const Json first = completion(request), second = completion(request);
  EXPECT_EQ(first["choices"], second["choices"]);
  const Json& c = first["choices"][0];
  EXPECT_EQ(c["text"], request["prompt"]);
  EXPECT_EQ(c["finish_reason"], "length");
  const Json& scores = c["logprobs"];
  EXPECT_EQ(scores["tokens"].size(), first["usage"]["prompt_tokens"]);
  EXPECT_TRUE(scores["token_logprobs"][0].is_null());
  for (size_t i = 1; i < scores["tokens"].size(); ++i) {
    EXPECT_LE(scores["token_logprobs"][i], 0);
    EXPECT_EQ(scores["top_logprobs"][i].size(), 1u);
  }
  // By ids, and in a list: the same values.
  const Json ids = live_server().post("/tokenize", {{"content", request["prompt"]}}).json()["tokens"];
  Json by_ids = request;
  by_ids["prompt"] = {ids, ids};
  const Json both = completion(by_ids);
  ASSERT_EQ(both["choices"].size(), 2u);
  for (const Json& choice : both["choices"]) EXPECT_EQ(choice["logprobs"]["token_logprobs"], scores["token_logprobs"]);
  EXPECT_EQ(both["usage"]["prompt_tokens"].get<size_t>(), 2 * ids.size());
  // Generated tokens behind an echo are scored as without it.
  Json more = request;
  more["max_tokens"] = 5;
  Json plain = more;
  plain["echo"] = false;
  const Json echoed = completion(more)["choices"][0]["logprobs"]["token_logprobs"],
             alone = completion(plain)["choices"][0]["logprobs"]["token_logprobs"];
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), echoed.end() - 5));
}

TEST(Completions, stop_sequences_and_end_tokens) {
  const Json free = completion({{"prompt", "The lighthouse"}, {"max_tokens", 30}, {"temperature", 0}});
  const std::string text = free["choices"][0]["text"];
  const std::string stop = text.substr(12, 5);
  const Json stopped = completion({{"prompt", "The lighthouse"}, {"max_tokens", 30}, {"temperature", 0}, {"stop", {"zzz", stop}}});
  EXPECT_EQ(stopped["choices"][0]["text"], text.substr(0, text.find(stop)));
  EXPECT_EQ(stopped["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(stopped["choices"][0]["stop_reason"], stop);
  const Json with = completion(
      {{"prompt", "The lighthouse"}, {"max_tokens", 30}, {"temperature", 0}, {"stop", stop}, {"include_stop_str_in_output", true}});
  EXPECT_EQ(with["choices"][0]["text"], text.substr(0, text.find(stop) + stop.size()));
}

TEST(Chat, whole_and_streamed) {
  Json request{{"messages", {{{"role", "user"}, {"content", "Who are you?"}}}},
               {"max_tokens", 40},
               {"temperature", 0},
               {"logprobs", true},
               {"top_logprobs", 2}};
  const Json whole = chat(request);
  const Json& choice = whole["choices"][0];
  EXPECT_EQ(whole["object"], "chat.completion");
  EXPECT_EQ(choice["message"]["role"], "assistant");
  EXPECT_EQ(choice["logprobs"]["content"].size(), whole["usage"]["completion_tokens"]);
  request["stream"] = true;
  const auto events = live_server().post("/v1/chat/completions", request).events();
  std::string text;
  size_t scored = 0;
  for (const Json& event : events) {
    EXPECT_EQ(event["object"], "chat.completion.chunk");
    EXPECT_EQ(event["id"], events[0]["id"]);
    const Json& c = event["choices"][0];
    text += c["delta"].value("content", std::string());
    if (!c["logprobs"].is_null()) scored += c["logprobs"]["content"].size();
  }
  EXPECT_EQ(events[0]["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(text, choice["message"]["content"]);
  EXPECT_EQ(events.back()["choices"][0]["finish_reason"], choice["finish_reason"]);
  EXPECT_EQ(scored, whole["usage"]["completion_tokens"]);
  // Content in parts is the same prompt.
  request.erase("stream");
  request["messages"][0]["content"] = {{{"type", "text"}, {"text", "Who are "}}, {{"type", "text"}, {"text", "you?"}}};
  EXPECT_EQ(chat(request)["choices"], whole["choices"]);
}

TEST(Chat, answers_obey_a_schema) {
  const Json schema{
      {"type", "object"},
      {"properties", {{"name", {{"type", "string"}, {"maxLength", 8}}}, {"age", {{"type", "integer"}, {"minimum", 0}, {"maximum", 99}}}}},
      {"required", {"name", "age"}},
      {"additionalProperties", false}};
  for (int seed = 0; seed < 4; ++seed) {
    const Json answer = chat({{"messages", {{{"role", "user"}, {"content", "Describe Ida."}}}},
                              {"max_tokens", 100},
                              {"temperature", 1.5},
                              {"seed", seed},
                              {"response_format", {{"type", "json_schema"}, {"json_schema", {{"name", "person"}, {"schema", schema}}}}}});
    EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
    const Json made = Json::parse(answer["choices"][0]["message"]["content"].get<std::string>());
    EXPECT_EQ(made.size(), 2u);
    EXPECT_TRUE(made["name"].is_string() && made["age"].is_number_integer());
  }
  const Response refused = live_server().post(
      "/v1/chat/completions",
      {{"messages", {{{"role", "user"}, {"content", "Hi"}}}},
       {"response_format",
        {{"type", "json_schema"}, {"json_schema", {{"name", "x"}, {"schema", {{"type", "string"}, {"nonsense", 3}}}}}}}});
  EXPECT_NE(error_of(refused, 400).find("nonsense"), std::string::npos);
  for (const auto& [guide, value] :
       std::vector<std::pair<std::string, Json>>{{"guided_regex", "[ab]{3}-[0-9]+x"},
                                                 {"guided_grammar", "root ::= [ab] [ab] [ab] \"-\" [0-9]+ \"x\""},
                                                 {"guided_choice", {"aba-7x", "bbb-0x"}}}) {
    const std::string text =
        completion({{"prompt", "The"}, {"max_tokens", 60}, {guide, value}, {"temperature", 1}, {"seed", 3}})["choices"][0]["text"];
    EXPECT_EQ(text.find_first_not_of("ab"), 3u) << guide << ": " << text;
    EXPECT_EQ(text[3], '-');
  }
}

TEST(Embeddings, have_unit_length_in_both_formats) {
  const Json answer = live_server().post("/v1/embeddings", {{"input", {"The lighthouse", "A cake"}}}).json();
  ASSERT_EQ(answer["data"].size(), 2u);
  for (const Json& row : answer["data"]) {
    double squares = 0;
    for (const double v : row["embedding"]) squares += v * v;
    EXPECT_NEAR(squares, 1, 1e-5);
  }
  const Json some = live_server().post("/v1/embeddings", {{"input", "The lighthouse"}, {"dimensions", 7}}).json();
  EXPECT_EQ(some["data"][0]["embedding"].size(), 7u);
  const Json encoded = live_server().post("/v1/embeddings", {{"input", "The lighthouse"}, {"encoding_format", "base64"}}).json();
  EXPECT_TRUE(encoded["data"][0]["embedding"].is_string());
}

TEST(Models, are_listed_and_found) {
  const Json list = live_server().get("/v1/models").json();
  ASSERT_EQ(list["data"].size(), 2u);
  const std::string id = list["data"][0]["id"];
  EXPECT_EQ(live_server().get("/v1/models/" + id).json()["id"], id);
  EXPECT_EQ(error_of(live_server().get("/v1/models/nope"), 404), "the model 'nope' does not exist");
  for (const char* path : {"/v1/completions", "/v1/chat/completions", "/v1/embeddings", "/tokenize"})
    EXPECT_EQ(
        error_of(live_server().post(
                     path, {{"model", "nope"}, {"prompt", "x"}, {"input", "x"}, {"messages", {{{"role", "user"}, {"content", "x"}}}}}),
                 404),
        "the model 'nope' does not exist");
}

TEST(Words, tokens_and_text) {
  const std::string text = "The lighthouse — ✓";
  const Json tokens = live_server().post("/tokenize", {{"content", text}, {"with_pieces", true}}).json()["tokens"];
  Json ids = Json::array();
  for (const Json& t : tokens) ids.push_back(t["id"]);
  EXPECT_EQ(live_server().post("/tokenize", {{"prompt", text}}).json()["tokens"], ids);
  ids.erase(ids.begin());  // BOS
  EXPECT_EQ(live_server().post("/detokenize", {{"tokens", ids}}).json()["content"], text);
  const Json chat_tokens = live_server().post("/tokenize", {{"messages", {{{"role", "user"}, {"content", "Hi"}}}}}).json();
  const Json applied = live_server().post("/apply-template", {{"messages", {{{"role", "user"}, {"content", "Hi"}}}}}).json();
  EXPECT_EQ(chat_tokens["tokens"], applied["tokens"]);
}

TEST(Requests, what_is_wrong_is_named) {
  struct Case {
    const char *path, *body, *message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"/v1/completions", "{", "the body is not JSON"},
           {"/v1/completions", "[1]", "the body is a list, expected an object"},
           {"/v1/completions", R"({"prompt": 3})", "prompt: expected a text"},
           {"/v1/completions", R"({"prompt": [[1, 2], [99999]]})", "prompt: 99999, expected token ids from 0 to"},
           {"/v1/completions", R"({"prompt": "x", "max_tokens": -1})", "max_tokens: -1, expected an integer from 0"},
           {"/v1/completions", R"({"prompt": "x", "temperature": "hot"})", "temperature: a text, expected a number"},
           {"/v1/completions", R"({"prompt": "x", "top_p": 1.5})", "top_p: 1.5, expected a number from 0 to 1"},
           {"/v1/completions", R"({"prompt": "x", "logprobs": 21})", "logprobs: 21, expected an integer from 0 to 20"},
           {"/v1/completions", R"({"prompt": "x", "suffix": "y"})", "suffix: this model has no fill-in-the-middle"},
           {"/v1/completions", R"({"prompt": "x", "stop": [1]})", "stop: a list, expected a text or a list of texts"},
           {"/v1/completions", R"({"prompt": "x", "stream_options": {}})", "stream_options: needs stream: true"},
           {"/v1/completions", R"({"prompt": "x", "guided_regex": "("})", "regex"},
           {"/v1/completions", R"({"prompt": "x", "typical_p": 0})", "typical_p: 0, expected a number above 0, up to 1"},
           {"/v1/completions", R"({"prompt": "x", "repeat_penalty": 0})", "repeat_penalty: 0, expected a number above 0"},
           {"/v1/completions", R"({"prompt": "x", "mirostat": 1})", "mirostat: 1, expected 0 (off) or 2"},
           {"/v1/completions", R"({"prompt": "x", "samplers_order": "top_q"})", "samplers_order: 'top_q' is not a stage"},
           {"/v1/completions", R"({"prompt": "x", "samplers_order": "top_k", "top_p": 0.5})",
            "samplers_order: top_p is set but not listed"},
           {"/v1/chat/completions", R"({"messages": []})", "messages: is empty"},
           {"/v1/chat/completions", R"({"messages": [{"role": "robot", "content": "x"}]})", "messages[0].role: 'robot', expected one of"},
           {"/v1/chat/completions", R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})",
            "messages[0].content[0].type"},
           {"/v1/chat/completions", R"({"messages": [{"role": "user", "content": "x"}], "response_format": {"type": "xml"}})",
            "response_format.type: 'xml'"},
           {"/v1/chat/completions", R"({"messages": [{"role": "user", "content": "x"}], "tool_choice": "required"})",
            "tool_choice: there are no tools"},
           {"/v1/chat/completions", R"({"messages": [{"role": "user", "content": "x"}], "top_logprobs": 2})",
            "top_logprobs: needs logprobs: true"},
           {"/v1/embeddings", R"({"input": {}})", "input: expected a text"},
           {"/detokenize", R"({"tokens": ["a"]})", "tokens: \"a\", expected token ids"}}) {
    EXPECT_NE(error_of(live_server().call("POST", c.path, c.body), 400).find(c.message), std::string::npos) << c.body;
  }
  EXPECT_EQ(live_server().call("POST", "/nowhere", "{}").status, 404);
  EXPECT_EQ(live_server().get("/v1/completions").status, 405);
  EXPECT_EQ(live_server().call("POST", "/v1/completions", std::string(300, '[')).status, 400);
}

// Every field of the document is read: a wrong type is named.
TEST(Requests, every_documented_field_is_read) {
  const Json document = live_server().get("/openapi.json").json();
  EXPECT_EQ(document["openapi"], "3.1.0");
  const std::string picture = base64(Image{.width = 8, .height = 8, .rgb = std::vector<uint8_t>(192)}.encode("a.png"));
  int fields = 0;
  for (const auto& [path, methods] : document["paths"].items()) {
    if (!methods.contains("post") || !methods["post"].contains("requestBody") || path.starts_with("/models/")) continue;
    const Json schema = methods["post"]["requestBody"]["content"]["application/json"]["schema"];
    for (const auto& [name, field] : schema["properties"].items()) {
      Json body{{"input", "x"}, {"max_tokens", 1}, {"prompt", "x"}};
      if (path == "/tokenize") body["content"] = "x";
      else body["messages"] = {{{"role", "user"}, {"content", "x"}}};
      if (path == "/tokenize" || path == "/v1/responses") body.erase("prompt");
      if (path.starts_with("/sdapi/")) body["init_images"] = {picture}, body["mask"] = picture, body["enable_hr"] = true;
      if (path == "/detokenize") body["tokens"] = Json::array();
      if (field.value("type", "any") == "any" || (path == "/tokenize" && name == "messages")) continue;
      body[name] = field.value("type", "") == "string" ? Json(Json::object()) : Json("x");
      const Response response = live_server().post(path, body);
      EXPECT_EQ(response.status, 400) << path << " " << name;
      const Json answer = response.json();
      const std::string message =
          path.starts_with("/sdapi/") ? answer.value("detail", "") : answer.value("error", Json::object()).value("message", "");
      EXPECT_TRUE(message.starts_with(name)) << path << " " << name << ": " << message;
      ++fields;
    }
  }
  EXPECT_GT(fields, 250);
}

TEST(Requests, clients_that_leave_free_their_places) {
  const LiveServer& server = live_server();
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i)
    clients.emplace_back([&server] {
      server.leave_after("/v1/completions", {{"prompt", "The"}, {"max_tokens", 1000}, {"ignore_eos", true}, {"stream", true}}, 2000);
    });
  for (std::thread& client : clients) client.join();
  const auto until = steady_clock::now() + std::chrono::seconds(2);
  while (server.metric("hearth_requests_running") > 0 && steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(server.metric("hearth_requests_running"), 0);
  EXPECT_EQ(server.metric("hearth_requests_waiting"), 0);
  EXPECT_EQ(server.metric("hearth_kv_blocks_used"), 0);
  EXPECT_EQ(server.metric("hearth_kv_blocks_used") + server.metric("hearth_kv_blocks_free"), server.metric("hearth_kv_blocks_total"));
}

// Printed values are the same alone, in company, and at another number of texts at once.
TEST(Requests, values_do_not_depend_on_company) {
  const auto request = [](int i) {
    return Json{{"prompt", std::string("The lighthouse stood on a high cliff. ") + std::string(size_t(i % 5), 'x')},
                {"max_tokens", 12},
                {"temperature", i % 2},
                {"seed", i},
                {"logprobs", 3},
                {"echo", i % 3 == 0}};
  };
  std::vector<Json> alone;
  for (int i = 0; i < 12; ++i) alone.push_back(completion(request(i))["choices"]);
  ServeOptions few;
  few.models.language.engine.parallel = 3;
  few.models.language.engine.prefix_cache = false;
  const LiveServer other(few);
  for (const LiveServer* server : {&live_server(), &other}) {
    std::vector<std::future<std::string>> answers;
    for (int i = 0; i < 12; ++i)
      answers.push_back(std::async(std::launch::async, [server, body = request(i)] { return server->post("/v1/completions", body).body; }));
    for (size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(Json::parse(answers[i].get())["choices"], alone[i]) << i;
  }
}

TEST(Server, answers_what_runs_before_it_ends) {
  LiveServer server;
  Visitor visitor(
      server, "/v1/completions",
      {{"prompt", "The"}, {"max_tokens", 1000}, {"ignore_eos", true}, {"stream", true}, {"stream_options", {{"include_usage", true}}}});
  ASSERT_TRUE(visitor.sees("data:"));
  server.stop();
  EXPECT_TRUE(visitor.sees("[DONE]"));
  EXPECT_NE(visitor.read().find(R"("completion_tokens":1000)"), std::string::npos);
}

}  // namespace
}  // namespace hearth::server::test
