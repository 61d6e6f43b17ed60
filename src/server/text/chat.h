// A chat as all text APIs see it: OpenAI's form of messages and tools in, text, reasoning and tool calls out. The APIs (api/) convert
// their own requests into it, and its events into their own streams.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "server/fields.h"
#include "server/text/language_service.h"

namespace hearth::server {

// What every API lets a client say about sampling and length, in one form.
struct GenerationFields {
  sampling::SamplingRequest sampling;
  std::optional<int64_t> max_tokens;
  std::vector<std::string> stop;
  std::vector<int32_t> stop_token_ids;
  bool include_stop = false, ignore_end = false;
  int64_t min_tokens = 0;
  int64_t choices = 1;
  std::optional<int64_t> logprobs;  // of the tokens made, and of this many most probable ones
  int64_t priority = 0;
};

// temperature, top_p, top_k, min_p, typical_p, presence_penalty, frequency_penalty, repetition_penalty, seed, stop, stop_token_ids,
// logit_bias, n, min_tokens, ignore_eos, include_stop_str_in_output and further samplers by the names of `hearth complete`; one table
// (generation_fields.cpp) from which the OpenAPI document is made, too. Without max_tokens, n and logprobs, whose names differ.
GenerationFields generation_fields(const Fields& request, const LanguageService& service);

// How the answer must look.
struct ResponseFormat {
  enum class Kind { free, json, schema, regex, grammar, choice };
  Kind kind = Kind::free;
  Json schema;                       // schema
  std::string text;                  // regex, or GBNF
  std::vector<std::string> choices;  // choice
};
engine::Request engine_request(const GenerationFields& fields, const LanguageService& service, std::vector<int32_t> prompt);

// response_format of OpenAI (text, json_object, json_schema), and the extensions guided_json, guided_regex, guided_grammar, guided_choice,
// json_schema and grammar of vLLM and llama.cpp. ApiError 400 for two of them.
ResponseFormat response_format(const Fields& request);

struct ToolChoice {
  enum class Kind { automatic, none, required, named };
  Kind kind = Kind::automatic;
  std::string name;
};

struct ChatRequest {
  Json messages;              // OpenAI's: [{"role", "content", "tool_calls", "tool_call_id", …}]
  std::optional<Json> tools;  // OpenAI's: [{"type": "function", "function": {"name", "description", "parameters"}}]
  ToolChoice tool_choice;
  bool parallel_tool_calls = true;
  ResponseFormat format;
  Json template_variables = Json::object();  // chat_template_kwargs
  bool continue_final_message = false;
  GenerationFields generation;
};

enum class ChatFinish { stop, length, tool_calls };

// Receives the answer, on the engine's thread: it must not block. After failed() or done() nothing follows.
class ChatSink {
 public:
  virtual ~ChatSink() = default;
  // Before everything else, on the thread that calls start_chat(), which may refuse the request after it: the tokens of the prompt.
  virtual void prompt(int64_t /*tokens*/) {}
  virtual void text(int64_t choice, const std::string& delta) = 0;
  virtual void reasoning(int64_t /*choice*/, const std::string& /*delta*/) {}
  // Tool call `index` of the choice begins; its arguments follow in pieces, which join to a JSON object.
  virtual void call(int64_t choice, int64_t index, const std::string& id, const std::string& name) = 0;
  virtual void arguments(int64_t choice, int64_t index, const std::string& delta) = 0;
  virtual void logprobs(int64_t /*choice*/, const engine::TokenLogprob&) {}  // of each token, before the text that it completes
  // How many tokens of the choice were reasoning, its marks included as far as they are tokens of it; once, before end().
  virtual void reasoning_tokens(int64_t /*choice*/, int64_t /*count*/) {}
  // stop_sequence: which one ended it, if one did.
  virtual void end(int64_t choice, ChatFinish reason, const std::optional<std::string>& stop_sequence) = 0;
  virtual void done(const engine::Usage& usage) = 0;
  virtual void failed(const ApiError& error) = 0;
};

// Renders the chat, compiles what constrains the answer, and hands it to the engine. ApiError for what is wrong with the request. The
// ticket cancels when it is destroyed.
engine::Engine::Ticket start_chat(const std::shared_ptr<LanguageService>& service, const ChatRequest& request,
                                  std::shared_ptr<ChatSink> sink);

// The tokens of the prompt alone: for Anthropic's count_tokens.
std::vector<int32_t> chat_prompt(const LanguageService& service, const ChatRequest& request);

}  // namespace hearth::server
