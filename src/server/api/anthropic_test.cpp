// Anthropic's API over HTTP, with the demo language model.
#include "server/live_server_test.h"

namespace hearth::server::test {
namespace {

const Json question{{"messages", {{{"role", "user"}, {"content", "Who are you?"}}}}, {"max_tokens", 12}, {"temperature", 0}};

Json answered(const Json& request) {
  const Response response = live_server().post("/v1/messages", request, {"anthropic-version: 2023-06-01", "x-api-key: any"});
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.headers.at("request-id"), response.headers.at("x-request-id"));
  return response.json();
}

struct Failure {
  std::string type, message;
};
Failure failure_of(const Response& response, int status) {
  EXPECT_EQ(response.status, status) << response.body;
  const Json body = response.json();
  EXPECT_EQ(body["type"], "error");
  return {body["error"]["type"], body["error"]["message"]};
}

// The events of a stream, each with the name that its data has.
std::vector<Json> events_of(const Response& response) {
  std::vector<Json> all;
  for (size_t begin = 0; begin < response.body.size();) {
    const size_t end = response.body.find("\n\n", begin), line = response.body.find('\n', begin);
    const std::string name = response.body.substr(begin, line - begin), data = response.body.substr(line + 1, end - line - 1);
    begin = end + 2;
    if (!data.starts_with("data: ")) {
      ADD_FAILURE() << data;
      continue;
    }
    all.push_back(Json::parse(data.substr(6)));
    EXPECT_EQ(name, "event: " + all.back()["type"].get<std::string>());
  }
  return all;
}

TEST(Messages, a_stream_joins_to_the_whole_answer) {
  const Json whole = answered(question);
  EXPECT_EQ(whole["stop_reason"], "max_tokens");
  Json request = question;
  request["stream"] = true;
  const Response response = live_server().post("/v1/messages", request);
  EXPECT_EQ(response.content_type, "text/event-stream");
  EXPECT_TRUE(response.headers.contains("request-id"));
  const std::vector<Json> events = events_of(response);
  std::string text;
  for (const Json& e : events)
    if (e["type"] == "content_block_delta") text += e["delta"]["text"];
  EXPECT_EQ(text, whole["content"][0]["text"]);
  EXPECT_EQ(events.front()["type"], "message_start");
  EXPECT_EQ(events.back()["type"], "message_stop");
  const Json last = events[events.size() - 2];
  EXPECT_EQ(last["delta"]["stop_reason"], whole["stop_reason"]);
  EXPECT_EQ(last["usage"]["output_tokens"], 12);
  // The prompt of a chat, and its length is known beforehand.
  const auto prompt = [](const Json& usage) {
    return usage["input_tokens"].get<int64_t>() + usage["cache_read_input_tokens"].get<int64_t>();
  };
  const Json chat =
      live_server().post("/v1/chat/completions", {{"messages", question["messages"]}, {"max_tokens", 12}, {"temperature", 0}}).json();
  EXPECT_EQ(chat["choices"][0]["message"]["content"], text);
  EXPECT_EQ(chat["usage"]["prompt_tokens"], prompt(whole["usage"]));
  EXPECT_EQ(events.front()["message"]["usage"]["input_tokens"], prompt(last["usage"]));
  const Json counted = live_server().post("/v1/messages/count_tokens", {{"messages", question["messages"]}}).json();
  EXPECT_EQ(counted, Json({{"input_tokens", prompt(whole["usage"])}}));
}

TEST(Messages, stop_sequences_and_prefixes) {
  const std::string text = answered(question)["content"][0]["text"];
  Json request = question;
  const std::string stop = text.substr(text.size() / 2, 4);
  request["stop_sequences"] = {"zzz", stop};
  const Json stopped = answered(request);
  EXPECT_EQ(stopped["stop_reason"], "stop_sequence");
  EXPECT_EQ(stopped["stop_sequence"], stop);
  EXPECT_EQ(stopped["content"][0]["text"], text.substr(0, text.find(stop)));
  // What the assistant has begun to say is continued.
  request = question;
  request["messages"].push_back({{"role", "assistant"}, {"content", text.substr(0, 4)}});
  const Json continued = answered(request);
  EXPECT_EQ(text.substr(0, 4) + continued["content"][0]["text"].get<std::string>().substr(0, text.size() - 4), text);
}

TEST(Messages, obey_a_schema) {
  Json request = question;
  request["max_tokens"] = 60;
  request["output_config"] = {{"format", {{"type", "json_schema"}, {"schema", {{"enum", {"red", "green"}}}}}}};
  const Json made = Json::parse(answered(request)["content"][0]["text"].get<std::string>());
  EXPECT_TRUE(made == "red" || made == "green");
}

TEST(Messages, errors_have_anthropics_form) {
  Json request = question;
  request["model"] = "nope";
  Failure failure = failure_of(live_server().post("/v1/messages", request), 404);
  EXPECT_EQ(failure.type, "not_found_error");
  EXPECT_EQ(failure.message, "the model 'nope' does not exist");
  failure = failure_of(live_server().post("/v1/messages/count_tokens", request), 404);
  EXPECT_EQ(failure.type, "not_found_error");
  request = question;
  request.erase("max_tokens");
  const Response refused = live_server().post("/v1/messages", request);
  failure = failure_of(refused, 400);
  EXPECT_EQ(failure.type, "invalid_request_error");
  EXPECT_EQ(failure.message, "max_tokens: is missing, expected an integer");
  EXPECT_EQ(refused.json()["request_id"], refused.headers.at("request-id"));
  request = question;
  request["tools"] = {{{"name", "a"}, {"input_schema", {{"type", "string"}}}}};
  EXPECT_TRUE(failure_of(live_server().post("/v1/messages", request), 400).message.starts_with("tools[0].input_schema: "));
  EXPECT_EQ(failure_of(live_server().call("POST", "/v1/messages", "{"), 400).type, "invalid_request_error");
  EXPECT_EQ(failure_of(live_server().get("/v1/messages"), 405).type, "invalid_request_error");
}

TEST(Messages, a_full_queue_and_keys) {
  ServeOptions options;
  options.models.language.engine.parallel = 1;
  options.models.language.engine.max_queue = 1;
  options.http.api_keys = {"secret"};
  const LiveServer server(options);
  Json request = question;
  request["max_tokens"] = 300;
  request["ignore_eos"] = true;
  EXPECT_EQ(failure_of(server.post("/v1/messages", request), 401).type, "authentication_error");
  std::vector<std::future<Response>> answers;
  for (int i = 0; i < 8; ++i)
    answers.push_back(std::async(std::launch::async, [&] { return server.post("/v1/messages", request, {"x-api-key: secret"}); }));
  int refused = 0;
  for (auto& answer : answers) {
    const Response response = answer.get();
    if (response.status == 200) continue;
    ++refused;
    EXPECT_EQ(failure_of(response, 429).type, "rate_limit_error");
    EXPECT_GE(std::stoi(response.headers.at("retry-after")), 1);
  }
  EXPECT_GE(refused, 1);
}

}  // namespace
}  // namespace hearth::server::test
