#include "server/api/anthropic_answer.h"

#include "server/api/text_api_test.h"

namespace hearth::server::test {
namespace {

struct Heard {
  std::vector<Json> events, ended;
  std::vector<std::string> errors;
  std::unique_ptr<AnthropicAnswer> answer;

  explicit Heard(bool stream = true, bool shows_thinking = true) {
    AnthropicAnswer::Out out;
    if (stream) out.event = [this](const Json& e) { events.push_back(e); };
    out.ended = [this](const Json& m) { ended.push_back(m); };
    out.failed = [this](const ApiError& e) { errors.push_back(e.what()); };
    answer = std::make_unique<AnthropicAnswer>(
        AnthropicAnswer::Options{.id = "msg_1", .model = "m", .max_tokens = 9, .shows_thinking = shows_thinking}, std::move(out));
  }
};

// What a client makes of the events, which are checked to belong together.
Json joined(const std::vector<Json>& events) {
  Json message;
  std::string input;
  bool open = false;
  for (const Json& e : events) {
    const std::string type = e["type"];
    if (type == "message_start") {
      EXPECT_TRUE(message.is_null());
      message = e["message"];
    } else if (type == "content_block_start") {
      EXPECT_FALSE(open);
      EXPECT_EQ(e["index"], message["content"].size());
      message["content"].push_back(e["content_block"]);
      open = true, input.clear();
    } else if (type == "content_block_delta") {
      EXPECT_TRUE(open);
      EXPECT_EQ(e["index"], message["content"].size() - 1);
      Json& block = message["content"].back();
      const std::string kind = e["delta"]["type"];
      const std::string name = kind == "text_delta"        ? "text"
                               : kind == "thinking_delta"  ? "thinking"
                               : kind == "signature_delta" ? "signature"
                                                           : "";
      if (name.empty()) input += e["delta"]["partial_json"].get<std::string>();
      else block[name] = block[name].get<std::string>() + e["delta"][name].get<std::string>();
    } else if (type == "content_block_stop") {
      EXPECT_EQ(e["index"], message["content"].size() - 1);
      open = false;
      if (!input.empty()) message["content"].back()["input"] = Json::parse(input);
    } else if (type == "message_delta") {
      EXPECT_FALSE(open);
      for (const auto& [name, value] : e["delta"].items()) message[name] = value;
      message["usage"] = e["usage"];
    }
  }
  EXPECT_EQ(events.back()["type"], "message_stop");
  return message;
}

TEST(AnthropicAnswer, a_text_in_the_order_of_the_api) {
  Heard heard;
  heard.answer->prompt(12);
  heard.answer->begin();
  ASSERT_EQ(heard.events.size(), 1u);
  EXPECT_EQ(heard.events[0], Json::parse(R"({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
    "model": "m", "content": [], "stop_reason": null, "stop_sequence": null,
    "usage": {"input_tokens": 12, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}}})"));
  for (const char* piece : {"The ", "lamp"}) heard.answer->text(0, piece);
  heard.answer->end(0, ChatFinish::stop, {});
  heard.answer->done({.prompt = 12, .cached = 8, .completion = 2});
  EXPECT_EQ(types_of(heard.events), (std::vector<std::string>{"message_start", "content_block_start", "ping", "content_block_delta",
                                                              "content_block_stop", "message_delta", "message_stop"}));
  EXPECT_EQ(joined(heard.events), heard.ended.at(0));
  EXPECT_EQ(heard.ended[0]["content"], Json::parse(R"([{"type": "text", "text": "The lamp"}])"));
  EXPECT_EQ(heard.ended[0]["stop_reason"], "end_turn");
  EXPECT_EQ(heard.ended[0]["usage"], Json::parse(R"({"input_tokens": 4, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 8,
    "output_tokens": 2, "output_tokens_details": {"thinking_tokens": 0}})"));
}

void think_and_call(AnthropicAnswer& answer) {
  answer.reasoning(0, "Two ");
  answer.reasoning(0, "places.");
  answer.text(0, "I look.");
  answer.call(0, 0, "t1", "weather");
  answer.arguments(0, 0, "{\"at\":");
  answer.arguments(0, 0, "1}");
  answer.call(0, 1, "t2", "time");
  answer.reasoning_tokens(0, 5);
  answer.end(0, ChatFinish::tool_calls, {});
  answer.done({.completion = 9});
}

TEST(AnthropicAnswer, thinking_and_calls_are_blocks_of_their_own) {
  Heard heard, whole(false), hidden(true, false);
  think_and_call(*heard.answer);
  EXPECT_EQ(joined(heard.events), heard.ended.at(0));
  EXPECT_EQ(heard.ended[0]["content"], Json::parse(R"([
    {"type": "thinking", "thinking": "Two places.", "signature": "unsigned"},
    {"type": "text", "text": "I look."},
    {"type": "tool_use", "id": "t1", "name": "weather", "input": {"at": 1}},
    {"type": "tool_use", "id": "t2", "name": "time", "input": {}}])"));
  EXPECT_EQ(heard.ended[0]["stop_reason"], "tool_use");
  EXPECT_EQ(heard.ended[0]["usage"]["output_tokens_details"]["thinking_tokens"], 5);
  think_and_call(*whole.answer);
  EXPECT_TRUE(whole.events.empty());
  EXPECT_EQ(whole.ended.at(0)["content"], heard.ended[0]["content"]);
  think_and_call(*hidden.answer);
  EXPECT_EQ(joined(hidden.events), hidden.ended.at(0));
  EXPECT_EQ(hidden.ended[0]["content"][0]["thinking"], "");
}

Json ended(ChatFinish reason, const std::optional<std::string>& stop, int64_t tokens) {
  Heard heard;
  heard.answer->text(0, "x");
  heard.answer->end(0, reason, stop);
  heard.answer->done({.completion = tokens});
  EXPECT_EQ(joined(heard.events), heard.ended.at(0));
  return {heard.ended[0]["stop_reason"], heard.ended[0]["stop_sequence"]};
}

TEST(AnthropicAnswer, reasons_to_stop) {
  EXPECT_EQ(ended(ChatFinish::stop, {}, 3), Json::parse(R"(["end_turn", null])"));
  EXPECT_EQ(ended(ChatFinish::stop, "END", 3), Json::parse(R"(["stop_sequence", "END"])"));
  EXPECT_EQ(ended(ChatFinish::length, {}, 9), Json::parse(R"(["max_tokens", null])"));
  EXPECT_EQ(ended(ChatFinish::length, {}, 3), Json::parse(R"(["model_context_window_exceeded", null])"));
}

TEST(AnthropicAnswer, a_call_that_breaks_off_is_not_in_the_message) {
  Heard heard(false);
  heard.answer->text(0, "I look.");
  heard.answer->call(0, 0, "t1", "weather");
  heard.answer->arguments(0, 0, "{\"at");
  heard.answer->end(0, ChatFinish::length, {});
  heard.answer->done({.completion = 9});
  EXPECT_EQ(heard.ended.at(0)["content"], Json::parse(R"([{"type": "text", "text": "I look."}])"));
  EXPECT_EQ(heard.ended[0]["stop_reason"], "max_tokens");
}

TEST(AnthropicAnswer, nothing_follows_a_failure) {
  Heard heard;
  heard.answer->text(0, "x");
  const size_t before = heard.events.size();
  heard.answer->failed(ApiError(500, "the engine broke"));
  heard.answer->text(0, "y");
  heard.answer->end(0, ChatFinish::stop, {});
  heard.answer->done({});
  EXPECT_EQ(heard.events.size(), before);
  EXPECT_EQ(heard.errors, std::vector<std::string>{"the engine broke"});
  EXPECT_TRUE(heard.ended.empty());
}

}  // namespace
}  // namespace hearth::server::test
