#include "server/api/responses_answer.h"

#include <utility>

#include "server/api/responses_items.h"
#include "server/api/stream.h"

namespace hearth::server {
namespace {

Json text_part(const std::string& text, const Json& scores) {
  return {{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", scores}};
}

Json reasoning_part(const std::string& text) { return {{"type", "reasoning_text"}, {"text", text}}; }

const char* code_of(const ApiError& error) {
  return error.status == 429 ? "rate_limit_exceeded" : error.status < 500 ? "invalid_prompt" : "server_error";
}

Json usage_of(const engine::Usage& u, int64_t reasoning) {
  return {{"input_tokens", u.prompt},
          {"input_tokens_details", {{"cached_tokens", u.cached}, {"cache_write_tokens", 0}}},
          {"output_tokens", u.completion},
          {"output_tokens_details", {{"reasoning_tokens", reasoning}}},
          {"total_tokens", u.prompt + u.completion}};
}

}  // namespace

ResponsesAnswer::ResponsesAnswer(Options options, Out out) : options_(std::move(options)), out_(std::move(out)) {
  response_ = {{"id", options_.head.at("id")},
               {"object", "response"},
               {"created_at", options_.head.at("created_at")},
               {"status", "in_progress"},
               {"completed_at", nullptr},
               {"error", nullptr},
               {"incomplete_details", nullptr},
               {"model", options_.head.at("model")},
               {"output", Json::array()},
               {"usage", nullptr}};
  for (const auto& [name, value] : options_.head.items()) response_[name] = value;
}

void ResponsesAnswer::begin() {
  const std::lock_guard lock(mutex_);
  started();
}

Json ResponsesAnswer::snapshot() const {
  const std::lock_guard lock(mutex_);
  return response_;
}

bool ResponsesAnswer::cancel() {
  const std::lock_guard lock(mutex_);
  if (ended_) return false;
  close("incomplete");
  finish(nullptr, "cancelled", nullptr);
  return true;
}

void ResponsesAnswer::started() {
  if (std::exchange(begun_, true)) return;
  emit("response.created", {{"response", response_}});
  emit("response.in_progress", {{"response", response_}});
}

void ResponsesAnswer::emit(const char* type, Json fields) {
  const int64_t number = sequence_++;
  if (!out_.event) return;
  Json event{{"type", type}, {"sequence_number", number}};
  for (auto& [name, value] : fields.items()) event[name] = std::move(value);
  out_.event(event);
}

Json ResponsesAnswer::place() const { return {{"item_id", item_["id"]}, {"output_index", response_["output"].size()}}; }

void ResponsesAnswer::open(Open kind, Json item) {
  open_ = kind;
  item_ = std::move(item);
  said_.clear();
  all_scores_ = Json::array();
  emit("response.output_item.added", {{"output_index", response_["output"].size()}, {"item", item_}});
}

void ResponsesAnswer::open_part(Json part) {
  Json fields = place();
  fields["content_index"] = 0;
  fields["part"] = std::move(part);
  emit("response.content_part.added", std::move(fields));
}

// The part's text is complete; the item gets it.
void ResponsesAnswer::close_part(const char* event, Json part) {
  Json fields = place();
  fields["content_index"] = 0;
  Json last = fields;
  fields["text"] = said_;
  if (open_ == Open::message) fields["logprobs"] = all_scores_;
  emit(event, std::move(fields));
  last["part"] = part;
  emit("response.content_part.done", std::move(last));
  item_["content"].push_back(std::move(part));
}

void ResponsesAnswer::close(const char* status) {
  if (open_ == Open::nothing) return;
  if (open_ == Open::message) {
    close_part("response.output_text.done", text_part(said_, all_scores_));
  } else if (open_ == Open::reasoning) {
    close_part("response.reasoning_text.done", reasoning_part(said_));
    if (options_.sealed_reasoning) item_["encrypted_content"] = sealed_reasoning(said_);
  } else {
    Json fields = place();
    fields["name"] = item_["name"];
    fields["arguments"] = said_;
    emit("response.function_call_arguments.done", std::move(fields));
    item_["arguments"] = said_;
    if (!Json::accept(said_)) status = "incomplete";  // the model went on without ending the call
  }
  item_["status"] = status;
  emit("response.output_item.done", {{"output_index", response_["output"].size()}, {"item", item_}});
  response_["output"].push_back(std::move(item_));
  open_ = Open::nothing;
}

void ResponsesAnswer::text(int64_t, const std::string& delta) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  started();
  if (open_ != Open::message) {
    close("completed");
    open(Open::message,
         {{"id", new_id("msg_")}, {"type", "message"}, {"status", "in_progress"}, {"role", "assistant"}, {"content", Json::array()}});
    open_part(text_part("", Json::array()));
  }
  said_ += delta;
  Json scores = std::exchange(scores_, Json::array());
  for (const Json& row : scores) all_scores_.push_back(row);
  Json fields = place();
  fields["content_index"] = 0;
  fields["delta"] = delta;
  fields["logprobs"] = std::move(scores);
  emit("response.output_text.delta", std::move(fields));
}

void ResponsesAnswer::reasoning(int64_t, const std::string& delta) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  started();
  if (open_ != Open::reasoning) {
    close("completed");
    Json item{
        {"id", new_id("rs_")}, {"type", "reasoning"}, {"status", "in_progress"}, {"summary", Json::array()}, {"content", Json::array()}};
    open(Open::reasoning, std::move(item));
    open_part(reasoning_part(""));
  }
  scores_ = Json::array();  // only those of the message's text are asked for
  said_ += delta;
  Json fields = place();
  fields["content_index"] = 0;
  fields["delta"] = delta;
  emit("response.reasoning_text.delta", std::move(fields));
}

void ResponsesAnswer::call(int64_t, int64_t, const std::string& id, const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  started();
  close("completed");
  scores_ = Json::array();
  open(Open::call,
       {{"id", new_id("fc_")}, {"type", "function_call"}, {"status", "in_progress"}, {"call_id", id}, {"name", name}, {"arguments", ""}});
}

void ResponsesAnswer::arguments(int64_t, int64_t, const std::string& delta) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  scores_ = Json::array();
  said_ += delta;
  Json fields = place();
  fields["delta"] = delta;
  emit("response.function_call_arguments.delta", std::move(fields));
}

void ResponsesAnswer::logprobs(int64_t, const engine::TokenLogprob& row) {
  const std::lock_guard lock(mutex_);
  if (!ended_) scores_.push_back(logprob_json(options_.token_bytes, row));
}

void ResponsesAnswer::reasoning_tokens(int64_t, int64_t count) {
  const std::lock_guard lock(mutex_);
  reasoning_tokens_ = count;
}

void ResponsesAnswer::end(int64_t, ChatFinish reason, const std::optional<std::string>&) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  started();
  cut_ = reason == ChatFinish::length;
  close(cut_ ? "incomplete" : "completed");
  bool says = cut_;
  for (const Json& item : response_["output"]) says |= item["type"] != "reasoning";
  if (says) return;
  // A model that says nothing: clients expect a message.
  open(Open::message,
       {{"id", new_id("msg_")}, {"type", "message"}, {"status", "in_progress"}, {"role", "assistant"}, {"content", Json::array()}});
  open_part(text_part("", Json::array()));
  close("completed");
}

void ResponsesAnswer::done(const engine::Usage& usage) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  response_["usage"] = usage_of(usage, reasoning_tokens_);
  if (cut_) response_["incomplete_details"] = {{"reason", "max_output_tokens"}};
  else response_["completed_at"] = unix_seconds();
  finish(cut_ ? "response.incomplete" : "response.completed", cut_ ? "incomplete" : "completed", nullptr);
}

void ResponsesAnswer::failed(const ApiError& error) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  if (out_.event) started();
  close("incomplete");
  response_["error"] = {{"code", code_of(error)}, {"message", error.what()}};
  finish("response.failed", "failed", &error);
}

void ResponsesAnswer::finish(const char* event, const char* status, const ApiError* error) {
  ended_ = true;
  response_["status"] = status;
  if (out_.ready) out_.ready(response_);
  if (event) emit(event, {{"response", response_}});
  if (out_.ended) out_.ended(response_, error);
}

}  // namespace hearth::server
