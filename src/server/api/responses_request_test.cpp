#include "server/api/responses_request.h"

#include "server/api/text_api_test.h"

namespace hearth::server::test {
namespace {

struct Reader {
  ResponseStore store{1 << 20};
  ThinkingControl thinking;

  ResponsesRequest read(Json body) {
    if (!body.contains("input")) body["input"] = "Hi";
    return responses_request(Fields(body), store, thinking, {});
  }
  Json messages(const Json& body) {
    const ResponsesRequest r = read(body);
    return messages_of_items(r.context, r.instructions);
  }
  std::string refusal(const Json& body) {
    return refusal_of([&] { messages(body); });
  }
};

std::string refusal(const Json& body) { return Reader().refusal(body); }

TEST(ResponsesRequest, a_text_is_a_message_of_the_user) {
  Reader reader;
  EXPECT_EQ(reader.messages({{"input", "Hi"}, {"instructions", "Be brief."}}),
            Json::parse(R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}])"));
  const Json item = reader.read({{"input", "Hi"}}).input[0];
  EXPECT_TRUE(item["id"].get<std::string>().starts_with("msg_"));
  EXPECT_EQ(item["content"], Json::parse(R"([{"type": "input_text", "text": "Hi"}])"));
  EXPECT_EQ(item["status"], "completed");
}

// What agents send back: reasoning, text and calls of one turn are one message.
TEST(ResponsesRequest, items_become_messages) {
  const Json input = Json::parse(R"([
    {"role": "developer", "content": "Rules."},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Weather "}, {"type": "input_text", "text": "now?"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Two places."}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
    {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{\"at\": \"Oslo\"}"},
    {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": ""},
    {"type": "function_call", "call_id": "c3", "name": "weather", "arguments": "{\"at\"", "status": "incomplete"},
    {"type": "function_call_output", "call_id": "c1", "output": "rain"},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "sun"}]},
    {"role": "assistant", "content": "Rain and sun."},
    {"role": "assistant", "content": [{"type": "refusal", "refusal": "No more."}]},
    {"role": "user", "content": "Thanks."}])");
  EXPECT_EQ(Reader().messages({{"input", input}, {"instructions", "Be brief."}}), Json::parse(R"([
    {"role": "system", "content": "Be brief.\n\nRules."},
    {"role": "user", "content": "Weather now?"},
    {"role": "assistant", "reasoning_content": "Two places.", "content": "I look.", "tool_calls": [
      {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{\"at\": \"Oslo\"}"}},
      {"id": "c2", "type": "function", "function": {"name": "weather", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": "rain"},
    {"role": "tool", "tool_call_id": "c2", "name": "weather", "content": "sun"},
    {"role": "assistant", "content": "Rain and sun."},
    {"role": "assistant", "content": "No more."},
    {"role": "user", "content": "Thanks."}])"));
}

TEST(ResponsesRequest, sealed_reasoning_is_read_back) {
  const std::string sealed = sealed_reasoning("Deep thought — ✓");
  const Json item{{"type", "reasoning"}, {"id", "rs_1"}, {"summary", Json::array()}, {"encrypted_content", sealed}};
  const Json messages =
      Reader().messages({{"input", {item, {{"role", "assistant"}, {"content", "42"}}, {{"role", "user"}, {"content", "?"}}}}});
  EXPECT_EQ(messages[0]["reasoning_content"], "Deep thought — ✓");
  EXPECT_EQ(messages[0]["content"], "42");
  Json foreign = item;
  foreign["encrypted_content"] = "gAAAAABo";
  EXPECT_EQ(refusal({{"input", {foreign}}}), "400 input[0].encrypted_content: was not made by hearth");
}

TEST(ResponsesRequest, a_conversation_goes_on) {
  Reader reader;
  const auto turn = std::make_shared<ResponseTurn>();
  turn->input = reader.read({{"input", "My name is Ida."}}).input;
  turn->response = {{"id", "resp_1"},
                    {"output",
                     {{{"id", "msg_7"},
                       {"type", "message"},
                       {"status", "completed"},
                       {"role", "assistant"},
                       {"content", {{{"type", "output_text"}, {"text", "Hello Ida."}}}}}}}};
  reader.store.keep(turn);
  const Json expected = Json::parse(R"([{"role": "user", "content": "My name is Ida."}, {"role": "assistant", "content": "Hello Ida."},
                                        {"role": "user", "content": "Who am I?"}])");
  EXPECT_EQ(reader.messages({{"input", "Who am I?"}, {"previous_response_id", "resp_1"}}), expected);
  EXPECT_EQ(reader.read({{"input", "Who am I?"}, {"previous_response_id", "resp_1"}}).input.size(), 1u) << "its own items only";
  const Json by_reference{{"input",
                           {{{"role", "user"}, {"content", "My name is Ida."}},
                            {{"type", "item_reference"}, {"id", "msg_7"}},
                            {{"role", "user"}, {"content", "Who am I?"}}}}};
  EXPECT_EQ(reader.messages(by_reference), expected);
  EXPECT_EQ(reader.refusal({{"previous_response_id", "resp_2"}}), "404 the response 'resp_2' does not exist, or is no longer kept");
  EXPECT_EQ(reader.refusal({{"input", {{{"id", "msg_8"}}}}}), "404 the item 'msg_8' does not exist, or is no longer kept");
}

TEST(ResponsesRequest, tools_and_their_choice) {
  const Json tools = Json::parse(R"([
    {"type": "function", "name": "a", "description": "A.", "parameters": {"type": "object"}, "strict": false},
    {"type": "function", "name": "b", "parameters": null}])");
  ResponsesRequest r = Reader().read({{"tools", tools}, {"parallel_tool_calls", false}});
  EXPECT_EQ(*r.chat.tools, Json::parse(R"([
    {"type": "function", "function": {"name": "a", "description": "A.", "parameters": {"type": "object"}, "strict": false}},
    {"type": "function", "function": {"name": "b", "strict": true}}])"));
  EXPECT_EQ(r.echo["tools"][1],
            Json::parse(R"({"type": "function", "name": "b", "description": null, "parameters": null, "strict": true})"));
  EXPECT_EQ(r.chat.tool_choice.kind, ToolChoice::Kind::automatic);
  EXPECT_FALSE(r.chat.parallel_tool_calls);
  EXPECT_EQ(r.echo["parallel_tool_calls"], false);
  EXPECT_EQ(Reader().read({{"tools", tools}, {"tool_choice", "none"}}).chat.tool_choice.kind, ToolChoice::Kind::none);
  EXPECT_EQ(Reader().read({{"tools", tools}, {"tool_choice", "required"}}).chat.tool_choice.kind, ToolChoice::Kind::required);
  r = Reader().read({{"tools", tools}, {"tool_choice", {{"type", "function"}, {"name", "b"}}}});
  EXPECT_EQ(r.chat.tool_choice.kind, ToolChoice::Kind::named);
  EXPECT_EQ(r.chat.tool_choice.name, "b");
  const Json allowed{{"type", "allowed_tools"}, {"mode", "required"}, {"tools", {{{"type", "function"}, {"name", "b"}}}}};
  r = Reader().read({{"tools", tools}, {"tool_choice", allowed}});
  EXPECT_EQ(r.chat.tool_choice.kind, ToolChoice::Kind::required);
  EXPECT_EQ(r.chat.tools->size(), 1u);
  EXPECT_EQ(r.echo["tools"].size(), 2u);
  EXPECT_EQ(r.echo["tool_choice"], allowed);
}

TEST(ResponsesRequest, how_the_answer_must_look) {
  EXPECT_EQ(Reader().read({{"text", {{"format", {{"type", "text"}}}}}}).chat.format.kind, ResponseFormat::Kind::free);
  EXPECT_EQ(Reader().read({{"text", {{"format", {{"type", "json_object"}}}}}}).chat.format.kind, ResponseFormat::Kind::json);
  const Json schema{{"type", "object"}};
  const ResponsesRequest r = Reader().read({{"text", {{"format", {{"type", "json_schema"}, {"name", "x"}, {"schema", schema}}}}}});
  EXPECT_EQ(r.chat.format.kind, ResponseFormat::Kind::schema);
  EXPECT_EQ(r.chat.format.schema, schema);
  EXPECT_EQ(r.echo["text"]["format"],
            Json::parse(R"({"type": "json_schema", "name": "x", "description": null, "schema": {"type": "object"}, "strict": true})"));
}

TEST(ResponsesRequest, options) {
  ResponsesRequest r = Reader().read(Json::object());
  EXPECT_TRUE(r.store && !r.stream && !r.background && !r.drop_oldest && !r.sealed_reasoning);
  EXPECT_FALSE(r.chat.generation.max_tokens);
  EXPECT_FALSE(r.chat.generation.logprobs);
  r = Reader().read({{"stream", true},
                     {"store", false},
                     {"max_output_tokens", 17},
                     {"truncation", "auto"},
                     {"include", {"reasoning.encrypted_content", "message.output_text.logprobs", "file_search_call.results"}},
                     {"metadata", {{"k", "v"}}},
                     {"user", "u"},
                     {"service_tier", "auto"},
                     {"prompt_cache_key", "p"},
                     {"reasoning", {{"summary", "auto"}, {"effort", nullptr}}},
                     {"stream_options", {{"include_obfuscation", false}}},
                     {"something_new", 1}});
  EXPECT_TRUE(r.stream && !r.store && r.drop_oldest && r.sealed_reasoning);
  EXPECT_EQ(r.chat.generation.max_tokens, 17);
  EXPECT_EQ(r.chat.generation.logprobs, 0);
  EXPECT_EQ(r.echo["metadata"], Json({{"k", "v"}}));
  EXPECT_EQ(r.echo["user"], "u");
  EXPECT_EQ(r.echo["service_tier"], "default");
  EXPECT_EQ(Reader().read({{"top_logprobs", 3}}).chat.generation.logprobs, 3);
  Reader thinker{.thinking = {.toggle = "enable_thinking", .thinks = true}};
  EXPECT_EQ(thinker.read({{"reasoning", {{"effort", "none"}}}}).chat.template_variables, Json({{"enable_thinking", false}}));
}

TEST(ResponsesRequest, what_is_wrong_is_named) {
  struct Case {
    const char *body, *message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {R"({"input": null})", "input: is missing"},
           {R"({"input": 3})", "input: expected a text or a list of items"},
           {R"({"input": []})", "input: is empty"},
           {R"({"input": [3]})", "input[0] is 3, expected an object"},
           {R"({"input": [{}]})", "input[0].type: is missing"},
           {R"({"input": [{"type": "web_search_call"}]})", "input[0].type: 'web_search_call', expected one of message"},
           {R"({"input": [{"role": "robot", "content": "x"}]})", "input[0].role: 'robot', expected one of user"},
           {R"({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]})",
            "input[0].content[0].type: 'input_image', but this model takes text only"},
           {R"({"input": [{"role": "user", "content": [{"type": "output_text", "text": "x"}]}]})",
            "input[0].content[0].type: 'output_text', expected one of input_text"},
           {R"({"input": [{"role": "user", "content": [{"type": "input_text", "text": 7}]}]})", "input[0].content[0].text: 7"},
           {R"({"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{"}]})", "input[0].arguments: is no JSON"},
           {R"({"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]})",
            "input: the output of call 'c' has no function_call"},
           {R"({"instructions": 1})", "instructions: 1, expected a text"},
           {R"({"tools": [{"type": "web_search"}]})", "tools[0].type: 'web_search', but hearth runs no tools"},
           {R"({"tools": [{"type": "function"}]})", "tools[0].name: is missing"},
           {R"({"tool_choice": "required"})", "tool_choice: there are no tools"},
           {R"({"tool_choice": "sometimes"})", "tool_choice: 'sometimes', expected one of auto"},
           {R"({"tools": [{"type": "function", "name": "a"}], "tool_choice": {"type": "function", "name": "b"}})",
            "tool_choice.name: 'b' is none of the tools"},
           {R"({"tools": [{"type": "function", "name": "a"}], "tool_choice": {"type": "mcp", "server_label": "b"}})",
            "tool_choice.type: 'mcp', but only function tools"},
           {R"({"tools": [{"type": "function", "name": "a"}],
                "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "b"}]}})",
            "tool_choice.tools[0].name: 'b' is none of the tools"},
           {R"({"text": {"format": {"type": "xml"}}})", "text.format.type: 'xml', expected one of text"},
           {R"({"text": {"format": {"type": "json_schema", "name": "x"}}})", "text.format.schema: is missing"},
           {R"({"text": {"verbosity": "low"}})", "text.verbosity: 'low', but the model has no such setting"},
           {R"({"reasoning": {"effort": "high"}})", "reasoning.effort: 'high'"},
           {R"({"reasoning": {"summary": "detailed"}})", "reasoning.summary: 'detailed', but reasoning is not summarized"},
           {R"({"max_output_tokens": 0})", "max_output_tokens: 0, expected an integer from 1"},
           {R"({"top_logprobs": 21})", "top_logprobs: 21"},
           {R"({"truncation": "middle"})", "truncation: 'middle', expected one of auto, disabled"},
           {R"({"include": ["everything"]})", "include: \"everything\" cannot be included"},
           {R"({"metadata": {"a": 1}})", "metadata.a: expected a text"},
           {R"({"conversation": "conv_1"})", "conversation: is not supported"},
           {R"({"prompt": {"id": "x"}})", "prompt: is not supported"},
           {R"({"background": true, "store": false})", "background: needs store: true"},
           {R"({"stream_options": {}})", "stream_options: needs stream: true"},
           {R"({"stream": true, "stream_options": {"include_obfuscation": true}})", "stream_options.include_obfuscation"},
           {R"({"stream": "yes"})", "stream: a text, expected true or false"}})
    EXPECT_TRUE(refusal(Json::parse(c.body)).starts_with(std::string("400 ") + c.message))
        << c.body << ": " << refusal(Json::parse(c.body));
}

TEST(ResponsesRequest, the_oldest_items_can_be_dropped) {
  const Json context = Reader()
                           .read({{"input", Json::parse(R"([
    {"role": "system", "content": "s"}, {"role": "user", "content": "1"}, {"role": "assistant", "content": "2"},
    {"role": "user", "content": "3"}, {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "4"}, {"role": "developer", "content": "d"},
    {"role": "user", "content": "5"}])")}})
                           .context;
  EXPECT_EQ(droppable(context), (std::vector<size_t>{2, 5}));
  const auto texts = [&](size_t dropped) {
    std::string all;
    for (const Json& m : messages_of_items(without_oldest(context, dropped), {}))
      all += m["content"].is_null() ? "-" : m["content"].get<std::string>();
    return all;
  };
  EXPECT_EQ(texts(0), "s123-4d5");
  EXPECT_EQ(texts(2), "s3-4d5");
  EXPECT_EQ(texts(5), "s\n\nd5");
}

}  // namespace
}  // namespace hearth::server::test
