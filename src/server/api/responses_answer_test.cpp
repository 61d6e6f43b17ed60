#include "server/api/responses_answer.h"

#include "server/api/responses_items.h"
#include "server/api/text_api_test.h"

namespace hearth::server::test {
namespace {

struct Heard {
  std::vector<Json> events;
  std::vector<Json> ready, ended;
  std::vector<std::string> errors;
  std::unique_ptr<ResponsesAnswer> answer;

  explicit Heard(bool stream = true, bool sealed = false) {
    ResponsesAnswer::Out out;
    if (stream) out.event = [this](const Json& e) { events.push_back(e); };
    out.ready = [this](const Json& r) {
      ready.push_back(r);
      if (!events.empty()) { EXPECT_NE(events.back()["type"], "response.completed") << "it is kept before the client knows its end"; }
    };
    out.ended = [this](const Json& r, const ApiError* e) {
      ended.push_back(r);
      if (e) errors.push_back(e->what());
    };
    answer = std::make_unique<ResponsesAnswer>(
        ResponsesAnswer::Options{
            .head = {{"id", "resp_1"}, {"created_at", 7}, {"model", "m"}, {"instructions", nullptr}, {"tools", Json::array()}},
            .sealed_reasoning = sealed,
            .token_bytes = [](int32_t t) { return std::string(1, char(t)); }},
        std::move(out));
  }
};

// Rebuilds the output from the events, as a client does, and checks on the way that they belong together.
Json joined(const std::vector<Json>& events) {
  Json output = Json::array();
  std::string open_item;
  bool open_part = false;
  for (size_t i = 0; i < events.size(); ++i) {
    const Json& e = events[i];
    const std::string type = e["type"];
    EXPECT_EQ(e["sequence_number"], i);
    if (i < 2) { EXPECT_EQ(type, i == 0 ? "response.created" : "response.in_progress"); }
    if (!e.contains("output_index")) {
      EXPECT_EQ(open_item, "") << type;
      continue;
    }
    if (type == "response.output_item.added") {
      EXPECT_EQ(e["output_index"], output.size());
      EXPECT_EQ(open_item, "");
      EXPECT_EQ(e["item"]["status"], "in_progress");
      open_item = e["item"]["id"];
      output.push_back(e["item"]);
      continue;
    }
    Json& item = output.back();
    EXPECT_EQ(e["output_index"], output.size() - 1);
    if (type == "response.output_item.done") {
      EXPECT_FALSE(open_part);
      Json done = e["item"];
      item["status"] = done["status"];
      if (done.contains("encrypted_content")) item["encrypted_content"] = done["encrypted_content"];
      EXPECT_EQ(item, done);
      EXPECT_EQ(open_item, done["id"]);
      open_item.clear();
      continue;
    }
    EXPECT_EQ(e["item_id"], open_item);
    if (type == "response.content_part.added") {
      EXPECT_EQ(e["content_index"], item["content"].size());
      item["content"].push_back(e["part"]);
      open_part = true;
    } else if (type == "response.content_part.done") {
      EXPECT_EQ(item["content"].back(), e["part"]);
      open_part = false;
    } else if (type == "response.output_text.delta" || type == "response.reasoning_text.delta") {
      EXPECT_TRUE(open_part);
      Json& part = item["content"].back();
      part["text"] = part["text"].get<std::string>() + e["delta"].get<std::string>();
      if (e.contains("logprobs"))
        for (const Json& row : e["logprobs"]) part["logprobs"].push_back(row);
    } else if (type == "response.output_text.done" || type == "response.reasoning_text.done") {
      EXPECT_EQ(e["text"], item["content"].back()["text"]);
    } else if (type == "response.function_call_arguments.delta") {
      item["arguments"] = item["arguments"].get<std::string>() + e["delta"].get<std::string>();
    } else if (type == "response.function_call_arguments.done") {
      EXPECT_EQ(e["arguments"], item["arguments"]);
    } else {
      ADD_FAILURE() << type;
    }
  }
  EXPECT_EQ(open_item, "");
  return output;
}

TEST(ResponsesAnswer, a_text_in_the_order_of_the_api) {
  Heard heard;
  heard.answer->begin();
  EXPECT_EQ(heard.events.size(), 2u);
  for (const char* piece : {"The ", "light", "house"}) heard.answer->text(0, piece);
  heard.answer->end(0, ChatFinish::stop, {});
  heard.answer->done({.prompt = 10, .cached = 4, .completion = 3});
  EXPECT_EQ(types_of(heard.events),
            (std::vector<std::string>{"response.created", "response.in_progress", "response.output_item.added",
                                      "response.content_part.added", "response.output_text.delta", "response.output_text.done",
                                      "response.content_part.done", "response.output_item.done", "response.completed"}));
  const Json response = heard.events.back()["response"];
  EXPECT_EQ(joined(heard.events), response["output"]);
  EXPECT_EQ(response["output"][0]["content"][0]["text"], "The lighthouse");
  EXPECT_EQ(response["output"][0]["status"], "completed");
  EXPECT_EQ(response["status"], "completed");
  EXPECT_TRUE(response["completed_at"].is_number_integer());
  EXPECT_EQ(response["usage"], Json::parse(R"({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
      "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 13})"));
  ASSERT_EQ(heard.ended.size(), 1u);
  EXPECT_EQ(heard.ended[0], response);
  EXPECT_EQ(heard.ready[0], response);
  EXPECT_EQ(heard.events[0]["response"]["status"], "in_progress");
  EXPECT_EQ(heard.events[0]["response"]["output"], Json::array());
}

void think_and_call(ResponsesAnswer& answer) {
  answer.reasoning(0, "Two ");
  answer.reasoning(0, "places.");
  answer.text(0, "I look.");
  answer.call(0, 0, "c1", "weather");
  answer.arguments(0, 0, "{\"at\":");
  answer.arguments(0, 0, "1}");
  answer.call(0, 1, "c2", "time");
  answer.arguments(0, 1, "{}");
  answer.reasoning_tokens(0, 5);
  answer.end(0, ChatFinish::tool_calls, {});
  answer.done({.prompt = 1, .completion = 9});
}

TEST(ResponsesAnswer, reasoning_and_calls_are_items_of_their_own) {
  Heard heard, whole(false), sealed(true, true);
  think_and_call(*heard.answer);
  const Json response = heard.events.back()["response"];
  EXPECT_EQ(heard.events.back()["type"], "response.completed");
  EXPECT_EQ(joined(heard.events), response["output"]);
  ASSERT_EQ(response["output"].size(), 4u);
  Json output = response["output"];
  std::set<std::string> ids;
  for (Json& item : output) {
    ids.insert(item["id"]);
    item.erase("id");
  }
  EXPECT_EQ(ids.size(), 4u);
  EXPECT_EQ(output, Json::parse(R"([
    {"type": "reasoning", "status": "completed", "summary": [], "content": [{"type": "reasoning_text", "text": "Two places."}]},
    {"type": "message", "status": "completed", "role": "assistant",
     "content": [{"type": "output_text", "text": "I look.", "annotations": [], "logprobs": []}]},
    {"type": "function_call", "status": "completed", "call_id": "c1", "name": "weather", "arguments": "{\"at\":1}"},
    {"type": "function_call", "status": "completed", "call_id": "c2", "name": "time", "arguments": "{}"}])"));
  EXPECT_EQ(response["usage"]["output_tokens_details"]["reasoning_tokens"], 5);
  // The whole answer says the same.
  think_and_call(*whole.answer);
  EXPECT_TRUE(whole.events.empty());
  Json plain = whole.ended.at(0)["output"];
  for (Json& item : plain) item.erase("id");
  EXPECT_EQ(plain, output);
  // And may be sent back as one message.
  const Json messages = messages_of_items(response["output"], {});
  EXPECT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0]["reasoning_content"], "Two places.");
  EXPECT_EQ(messages[0]["tool_calls"].size(), 2u);
  think_and_call(*sealed.answer);
  EXPECT_EQ(sealed.ended[0]["output"][0]["encrypted_content"], sealed_reasoning("Two places."));
  joined(sealed.events);
}

TEST(ResponsesAnswer, an_answer_that_is_cut_is_incomplete) {
  Heard text, call, nothing;
  text.answer->text(0, "The lig");
  text.answer->end(0, ChatFinish::length, {});
  text.answer->done({});
  EXPECT_EQ(text.events.back()["type"], "response.incomplete");
  Json response = text.ended[0];
  EXPECT_EQ(response["status"], "incomplete");
  EXPECT_EQ(response["incomplete_details"], Json::parse(R"({"reason": "max_output_tokens"})"));
  EXPECT_TRUE(response["completed_at"].is_null());
  EXPECT_EQ(response["output"][0]["status"], "incomplete");
  joined(text.events);
  call.answer->text(0, "I look.");
  call.answer->call(0, 0, "c1", "weather");
  call.answer->arguments(0, 0, "{\"at");
  call.answer->end(0, ChatFinish::length, {});
  call.answer->done({});
  EXPECT_EQ(call.ended[0]["output"][0]["status"], "completed");
  EXPECT_EQ(call.ended[0]["output"][1]["status"], "incomplete");
  EXPECT_EQ(call.ended[0]["output"][1]["arguments"], "{\"at");
  joined(call.events);
  Heard broken;
  broken.answer->call(0, 0, "c1", "weather");
  broken.answer->arguments(0, 0, "{\"at");
  broken.answer->text(0, "ow");
  broken.answer->end(0, ChatFinish::stop, {});
  broken.answer->done({});
  EXPECT_EQ(broken.ended[0]["output"][0]["status"], "incomplete");
  EXPECT_EQ(broken.ended[0]["output"][1]["status"], "completed");
  // An answer of no tokens is a message without text.
  nothing.answer->end(0, ChatFinish::stop, {});
  nothing.answer->done({});
  EXPECT_EQ(nothing.ended[0]["output"][0]["content"][0]["text"], "");
  joined(nothing.events);
}

TEST(ResponsesAnswer, failures) {
  Heard heard, whole(false), early;
  heard.answer->text(0, "The");
  heard.answer->failed(ApiError(500, "the engine broke"));
  EXPECT_EQ(heard.events.back()["type"], "response.failed");
  EXPECT_EQ(heard.events.back()["response"]["status"], "failed");
  EXPECT_EQ(heard.events.back()["response"]["error"], Json::parse(R"({"code": "server_error", "message": "the engine broke"})"));
  EXPECT_EQ(heard.errors, std::vector<std::string>{"the engine broke"});
  heard.answer->text(0, "late");
  heard.answer->done({});
  EXPECT_EQ(heard.ended.size(), 1u);
  joined(heard.events);
  whole.answer->failed(ApiError(400, "no"));
  EXPECT_EQ(whole.errors, std::vector<std::string>{"no"});
  EXPECT_EQ(whole.ended[0]["error"]["code"], "invalid_prompt");
  early.answer->failed(ApiError(429, "full"));
  EXPECT_EQ(types_of(early.events), (std::vector<std::string>{"response.created", "response.in_progress", "response.failed"}));
  EXPECT_EQ(early.ended[0]["error"]["code"], "rate_limit_exceeded");
}

TEST(ResponsesAnswer, can_be_canceled) {
  Heard heard(false);
  heard.answer->text(0, "The");
  EXPECT_EQ(heard.answer->snapshot()["status"], "in_progress");
  EXPECT_TRUE(heard.answer->cancel());
  EXPECT_FALSE(heard.answer->cancel());
  heard.answer->failed(ApiError(503, "the request was canceled"));
  ASSERT_EQ(heard.ended.size(), 1u);
  EXPECT_EQ(heard.ended[0]["status"], "cancelled");
  EXPECT_EQ(heard.ended[0]["output"][0]["content"][0]["text"], "The");
  EXPECT_TRUE(heard.errors.empty());
}

TEST(ResponsesAnswer, scores_go_with_the_text_that_they_belong_to) {
  Heard heard;
  const auto score = [&](char token) {
    heard.answer->logprobs(0, {.token = token, .logprob = -0.5f, .top = {{token, -0.5f}, {'z', -1.5f}}});
  };
  score('t');
  heard.answer->reasoning(0, "t");
  score('a');
  score('b');
  heard.answer->text(0, "ab");
  score('c');
  heard.answer->text(0, "c");
  heard.answer->end(0, ChatFinish::stop, {});
  heard.answer->done({});
  std::string tokens;
  for (const Json& e : heard.events)
    if (e["type"] == "response.output_text.delta") {
      for (const Json& row : e["logprobs"]) tokens += row["token"].get<std::string>();
      tokens += "|";
    }
  EXPECT_EQ(tokens, "ab|c|");
  const Json part = heard.ended[0]["output"][1]["content"][0];
  EXPECT_EQ(part["logprobs"].size(), 3u);
  EXPECT_EQ(part["logprobs"][0], Json::parse(R"({"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": [
      {"token": "a", "logprob": -0.5, "bytes": [97]}, {"token": "z", "logprob": -1.5, "bytes": [122]}]})"));
  joined(heard.events);
}

}  // namespace
}  // namespace hearth::server::test
