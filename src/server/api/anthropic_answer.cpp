#include "server/api/anthropic_answer.h"

#include <utility>

namespace hearth::server {
namespace {

// Clients keep a block of thinking only if it is signed. hearth accepts it from them as it is, and has nothing to sign.
constexpr const char* no_signature = "unsigned";

Json usage_of(int64_t input, int64_t cached, int64_t output) {
  return {{"input_tokens", input}, {"cache_creation_input_tokens", 0}, {"cache_read_input_tokens", cached}, {"output_tokens", output}};
}

}  // namespace

AnthropicAnswer::AnthropicAnswer(Options options, Out out) : options_(std::move(options)), out_(std::move(out)) {
  message_ = {{"id", options_.id},        {"type", "message"},      {"role", "assistant"},      {"model", options_.model},
              {"content", Json::array()}, {"stop_reason", nullptr}, {"stop_sequence", nullptr}, {"usage", usage_of(0, 0, 0)}};
}

void AnthropicAnswer::prompt(int64_t tokens) {
  const std::lock_guard lock(mutex_);
  message_["usage"]["input_tokens"] = tokens;
}

void AnthropicAnswer::begin() {
  const std::lock_guard lock(mutex_);
  started();
}

void AnthropicAnswer::started() {
  if (!std::exchange(begun_, true)) emit({{"type", "message_start"}, {"message", message_}});
}

void AnthropicAnswer::emit(Json event) {
  if (out_.event) out_.event(event);
}

void AnthropicAnswer::open(const std::string& type, Json block) {
  open_ = type;
  block_ = std::move(block);
  said_.clear();
  emit({{"type", "content_block_start"}, {"index", blocks_}, {"content_block", block_}});
  if (!std::exchange(pinged_, true)) emit({{"type", "ping"}});
}

void AnthropicAnswer::delta(const char* type, const char* name, const std::string& text) {
  said_ += text;
  emit({{"type", "content_block_delta"}, {"index", blocks_}, {"delta", {{"type", type}, {name, text}}}});
}

void AnthropicAnswer::close() {
  if (open_.empty()) return;
  bool whole = true;
  if (open_ == "text") {
    block_["text"] = said_;
  } else if (open_ == "thinking") {
    block_["signature"] = no_signature;
    if (options_.shows_thinking) block_["thinking"] = said_;
    emit({{"type", "content_block_delta"}, {"index", blocks_}, {"delta", {{"type", "signature_delta"}, {"signature", no_signature}}}});
  } else {
    // An input that breaks off is no JSON: a client of events has its pieces, a whole message cannot show it.
    const Json input = Json::parse(said_.empty() ? "{}" : said_, nullptr, false);
    whole = input.is_object();
    block_["input"] = input;
  }
  emit({{"type", "content_block_stop"}, {"index", blocks_}});
  if (whole) message_["content"].push_back(std::move(block_));
  ++blocks_;
  open_.clear();
}

void AnthropicAnswer::text(int64_t, const std::string& piece) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  started();
  if (open_ != "text") {
    close();
    open("text", {{"type", "text"}, {"text", ""}});
  }
  delta("text_delta", "text", piece);
}

void AnthropicAnswer::reasoning(int64_t, const std::string& piece) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  started();
  if (open_ != "thinking") {
    close();
    open("thinking", {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}});
  }
  if (options_.shows_thinking) delta("thinking_delta", "thinking", piece);
}

void AnthropicAnswer::call(int64_t, int64_t, const std::string& id, const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  started();
  close();
  open("tool_use", {{"type", "tool_use"}, {"id", id}, {"name", name}, {"input", Json::object()}});
}

void AnthropicAnswer::arguments(int64_t, int64_t, const std::string& piece) {
  const std::lock_guard lock(mutex_);
  if (!ended_) delta("input_json_delta", "partial_json", piece);
}

void AnthropicAnswer::reasoning_tokens(int64_t, int64_t count) {
  const std::lock_guard lock(mutex_);
  thinking_tokens_ = count;
}

void AnthropicAnswer::end(int64_t, ChatFinish reason, const std::optional<std::string>& stop_sequence) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  started();
  close();
  reason_ = reason;
  if (reason == ChatFinish::stop && stop_sequence) message_["stop_sequence"] = *stop_sequence;
}

void AnthropicAnswer::done(const engine::Usage& usage) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(ended_, true)) return;
  const bool full = options_.max_tokens && usage.completion < *options_.max_tokens;
  message_["stop_reason"] = reason_ == ChatFinish::tool_calls       ? "tool_use"
                            : reason_ == ChatFinish::length         ? (full ? "model_context_window_exceeded" : "max_tokens")
                            : message_["stop_sequence"].is_string() ? "stop_sequence"
                                                                    : "end_turn";
  message_["usage"] = usage_of(usage.prompt - usage.cached, usage.cached, usage.completion);
  message_["usage"]["output_tokens_details"] = {{"thinking_tokens", thinking_tokens_}};
  emit({{"type", "message_delta"},
        {"delta", {{"stop_reason", message_["stop_reason"]}, {"stop_sequence", message_["stop_sequence"]}}},
        {"usage", message_["usage"]}});
  emit({{"type", "message_stop"}});
  if (out_.ended) out_.ended(message_);
}

void AnthropicAnswer::failed(const ApiError& error) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(ended_, true)) return;
  if (out_.failed) out_.failed(error);
}

}  // namespace hearth::server
