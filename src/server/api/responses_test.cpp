// POST /v1/responses over HTTP, with the demo language model.
#include "server/live_server_test.h"

namespace hearth::server::test {
namespace {

Json created(const Json& request) {
  const Response response = live_server().post("/v1/responses", request);
  EXPECT_EQ(response.status, 200) << response.body;
  return response.json();
}

std::string error_of(const Response& response, int status) {
  EXPECT_EQ(response.status, status) << response.body;
  return response.json().value("error", Json::object()).value("message", std::string());
}

std::string text_of(const Json& response) { return response["output"][0]["content"][0]["text"]; }

const Json question{{"input", "Who are you?"}, {"max_output_tokens", 12}, {"temperature", 0}};

TEST(Responses, a_stream_joins_to_the_whole_answer) {
  Json request = question;
  request["include"] = {"message.output_text.logprobs"};
  request["top_logprobs"] = 2;
  const Json whole = created(request);
  request["stream"] = true;
  const Response streamed = live_server().post("/v1/responses", request);
  EXPECT_EQ(streamed.content_type, "text/event-stream");
  std::string text;
  Json scores = Json::array();
  const std::vector<Json> events = streamed.events();
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i]["sequence_number"], i);
    EXPECT_NE(streamed.body.find("event: " + events[i]["type"].get<std::string>() + "\n"), std::string::npos);
    if (events[i]["type"] != "response.output_text.delta") continue;
    text += events[i]["delta"];
    for (const Json& row : events[i]["logprobs"]) scores.push_back(row);
  }
  EXPECT_EQ(text, text_of(whole));
  EXPECT_EQ(scores, whole["output"][0]["content"][0]["logprobs"]);
  EXPECT_EQ(scores[0]["top_logprobs"].size(), 2u);
  EXPECT_EQ(events.back()["type"], "response." + whole["status"].get<std::string>());
  EXPECT_EQ(events.back()["response"]["usage"]["output_tokens"], whole["usage"]["output_tokens"]);
  // The same prompt and answer as those of a chat.
  const Json chat = live_server()
                        .post("/v1/chat/completions",
                              {{"messages", {{{"role", "user"}, {"content", "Who are you?"}}}}, {"max_tokens", 12}, {"temperature", 0}})
                        .json();
  EXPECT_EQ(chat["choices"][0]["message"]["content"], text_of(whole));
  EXPECT_EQ(chat["usage"]["prompt_tokens"], whole["usage"]["input_tokens"]);
}

TEST(Responses, are_kept_continued_and_deleted) {
  const Json first = created(question);
  const std::string id = first["id"];
  EXPECT_EQ(live_server().get("/v1/responses/" + id).json(), first);
  const Json second = created({{"input", "Who are you?"}, {"previous_response_id", id}, {"max_output_tokens", 4}, {"temperature", 0}});
  EXPECT_EQ(second["previous_response_id"], id);
  const Json by_hand = created({{"input",
                                 {{{"role", "user"}, {"content", "Who are you?"}},
                                  {{"role", "assistant"}, {"content", text_of(first)}},
                                  {{"role", "user"}, {"content", "Who are you?"}}}},
                                {"max_output_tokens", 4},
                                {"temperature", 0}});
  EXPECT_EQ(text_of(second), text_of(by_hand));
  EXPECT_EQ(second["usage"]["input_tokens"], by_hand["usage"]["input_tokens"]);

  const std::string path = "/v1/responses/" + second["id"].get<std::string>() + "/input_items";
  const Json newest = live_server().get(path).json(), oldest = live_server().get(path + "?order=asc&limit=2").json();
  ASSERT_EQ(newest["data"].size(), 3u);
  EXPECT_EQ(newest["data"][1]["id"], first["output"][0]["id"]);
  EXPECT_EQ(newest["has_more"], false);
  EXPECT_EQ(oldest["data"][0], newest["data"][2]);
  EXPECT_EQ(oldest["has_more"], true);
  EXPECT_EQ(oldest["last_id"], oldest["data"][1]["id"]);
  const Json rest = live_server().get(path + "?order=asc&after=" + oldest["last_id"].get<std::string>()).json();
  EXPECT_EQ(rest["data"].size(), 1u);
  EXPECT_EQ(rest["data"][0], newest["data"][0]);
  EXPECT_EQ(error_of(live_server().get(path + "?limit=0"), 400), "limit: expected an integer from 1 to 100");
  EXPECT_EQ(error_of(live_server().get(path + "?order=random"), 400), "order: expected asc or desc");

  const Json gone = live_server().call("DELETE", "/v1/responses/" + id, "").json();
  EXPECT_EQ(gone, Json({{"id", id}, {"object", "response"}, {"deleted", true}}));
  const std::string missing = "the response '" + id + "' does not exist, or is no longer kept";
  EXPECT_EQ(error_of(live_server().get("/v1/responses/" + id), 404), missing);
  EXPECT_EQ(error_of(live_server().call("DELETE", "/v1/responses/" + id, ""), 404), missing);
  EXPECT_EQ(error_of(live_server().post("/v1/responses", {{"input", "x"}, {"previous_response_id", id}}), 404), missing);
  Json unkept = question;
  unkept["store"] = false;
  const std::string other = created(unkept)["id"];
  EXPECT_EQ(live_server().get("/v1/responses/" + other).status, 404);
}

TEST(Responses, run_in_the_background) {
  const LiveServer& server = live_server();
  const Json endless{{"input", "Who are you?"}, {"background", true}, {"ignore_eos", true}, {"max_output_tokens", 900}};
  const Json begun = server.post("/v1/responses", endless).json();
  EXPECT_EQ(begun["status"], "in_progress");
  const std::string path = "/v1/responses/" + begun["id"].get<std::string>();
  EXPECT_EQ(server.get(path + "/input_items").json()["data"].size(), 1u);
  const Json canceled = server.post(path + "/cancel", {}).json();
  EXPECT_TRUE(canceled["status"] == "cancelled" || canceled["status"] == "incomplete") << canceled;
  EXPECT_EQ(server.get(path).json(), canceled);
  EXPECT_EQ(server.post(path + "/cancel", {}).json(), canceled) << "canceling again changes nothing";

  Json brief = question;
  brief["background"] = true;
  const std::string id = server.post("/v1/responses", brief).json()["id"];
  Json now;
  for (int i = 0; i < 3000; ++i) {
    now = server.get("/v1/responses/" + id).json();
    if (now["status"] != "in_progress") break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(text_of(now), text_of(created(question)));
  EXPECT_EQ(error_of(server.post("/v1/responses/" + created(question)["id"].get<std::string>() + "/cancel", {}), 400),
            "only responses with background: true are canceled like this, others by closing the connection");
  EXPECT_EQ(server.post("/v1/responses/resp_x/cancel", {}).status, 404);
}

TEST(Responses, old_turns_are_dropped_where_the_client_wants_it) {
  Json input = Json::array();
  for (int i = 0; i < 60; ++i) {
    input.push_back({{"role", "user"}, {"content", "Tell me more about the lighthouse on the cliff and its lamp."}});
    input.push_back({{"role", "assistant"}, {"content", "The lamp is lit every evening by Ida, who keeps the lighthouse."}});
  }
  input.push_back({{"role", "user"}, {"content", "Who are you?"}});
  Json request{{"input", input}, {"max_output_tokens", 8}, {"temperature", 0}};
  EXPECT_NE(error_of(live_server().post("/v1/responses", request), 400).find("expected at most the context length of"), std::string::npos);
  request["truncation"] = "auto";
  const Json answer = created(request);
  EXPECT_GT(answer["usage"]["input_tokens"], 500);
  EXPECT_EQ(answer["truncation"], "auto");
}

TEST(Responses, obey_a_schema) {
  const Json schema{{"type", "object"},
                    {"properties", {{"age", {{"type", "integer"}, {"minimum", 0}, {"maximum", 99}}}}},
                    {"required", {"age"}},
                    {"additionalProperties", false}};
  const Json format{{"format", {{"type", "json_schema"}, {"name", "x"}, {"schema", schema}}}};
  const Json answer = created({{"input", "Describe Ida."}, {"text", format}, {"max_output_tokens", 60}});
  EXPECT_TRUE(Json::parse(text_of(answer))["age"].is_number_integer());
  Json bad = format;
  bad["format"]["schema"]["nonsense"] = 1;
  const Response refused = live_server().post("/v1/responses", {{"input", "x"}, {"text", bad}});
  EXPECT_NE(error_of(refused, 400).find("nonsense"), std::string::npos);
  EXPECT_EQ(refused.json()["error"]["param"], "text.format.schema");
}

TEST(Responses, what_is_wrong_is_named) {
  EXPECT_EQ(error_of(live_server().post("/v1/responses", {{"model", "nope"}, {"input", "x"}}), 404), "the model 'nope' does not exist");
  EXPECT_NE(error_of(live_server().call("POST", "/v1/responses", "{"), 400).find("the body is not JSON"), std::string::npos);
  EXPECT_EQ(error_of(live_server().post("/v1/responses", {{"input", "x"}, {"temperature", "hot"}}), 400),
            "temperature: a text, expected a number from 0 to 100");
  EXPECT_EQ(error_of(live_server().get("/v1/responses/resp_1?stream=true"), 400),
            "stream: a response that has begun is not streamed again, ask for it without stream");
  const Response named = live_server().post("/v1/responses", {{"input", "x"}, {"tools", {{{"type", "function"}, {"name", "no name"}}}}});
  EXPECT_TRUE(error_of(named, 400).starts_with("tools[0].name: got 'no name'")) << named.body;
  EXPECT_EQ(named.json()["error"]["param"], "tools[0].name");
  const Response dropped = live_server().post("/v1/responses", {{"input", {{{"role", "user"}, {"content", {{{"type", "input_image"}}}}}}}});
  EXPECT_EQ(dropped.json()["error"]["param"], "input[0].content[0].type");
}

void expect_no_request_is_left() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (live_server().metric("hearth_requests_running") > 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(live_server().metric("hearth_requests_running"), 0);
  EXPECT_EQ(live_server().metric("hearth_kv_blocks_used"), 0);
}

TEST(Responses, clients_that_leave_free_their_places) {
  const double before = live_server().metric("hearth_requests_aborted");
  live_server().leave_after("/v1/responses",
                            {{"input", "Who are you?"}, {"ignore_eos", true}, {"max_output_tokens", 900}, {"stream", true}}, 3000);
  live_server().leave_after(
      "/v1/messages",
      {{"messages", {{{"role", "user"}, {"content", "Who?"}}}}, {"ignore_eos", true}, {"max_tokens", 900}, {"stream", true}}, 3000);
  expect_no_request_is_left();
  EXPECT_EQ(live_server().metric("hearth_requests_aborted"), before + 2);
}

}  // namespace
}  // namespace hearth::server::test
