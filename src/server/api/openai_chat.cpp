// POST /v1/chat/completions.
#include <fmt/format.h>

#include "server/api/logprobs.h"
#include "server/api/routes.h"
#include "server/api/stream.h"
#include "server/text/chat.h"

namespace hearth::server {
namespace {

constexpr int64_t most = std::numeric_limits<int32_t>::max();

ToolChoice tool_choice(const Fields& request) {
  const Json* value = request.value("tool_choice");
  if (!value) return {};
  if (value->is_string()) {
    static constexpr std::string_view words[] = {"auto", "none", "required"};
    const std::string word = *request.word("tool_choice", words);
    return {.kind = word == "none"       ? ToolChoice::Kind::none
                    : word == "required" ? ToolChoice::Kind::required
                                         : ToolChoice::Kind::automatic};
  }
  const Fields choice = *request.object("tool_choice");
  const auto function = choice.object("function");
  return {.kind = ToolChoice::Kind::named, .name = function ? function->need_text("name") : choice.need_text("name")};
}

// ApiError for messages that are not OpenAI's, or that a text model cannot have.
void check_messages(const Fields& request) {
  const Json* messages = request.list("messages");
  if (!messages || messages->empty()) request.refuse("messages", messages ? "is empty, expected at least one message" : "is missing");
  for (size_t i = 0; i < messages->size(); ++i) {
    const Fields message((*messages)[i], fmt::format("messages[{}]", i));
    static constexpr std::string_view roles[] = {"system", "developer", "user", "assistant", "tool", "function"};
    message.need_text("role");
    const std::string role = *message.word("role", roles);
    const Json* content = message.value("content");
    if (!content) {
      if (role != "assistant") message.refuse("content", "is missing");
      continue;
    }
    if (content->is_string()) continue;
    if (!content->is_array()) message.refuse("content", "expected a text or a list of parts");
    for (size_t k = 0; k < content->size(); ++k) {
      const Fields part((*content)[k], fmt::format("messages[{}].content[{}]", i, k));
      const std::string type = part.need_text("type");
      if (type != "text" && type != "refusal")
        part.refuse("type", fmt::format("'{}', but this model takes text only", type), "unsupported");
      part.need_text(type);
    }
  }
}

// Parts of text as one text: templates differ in what they take.
Json with_plain_contents(const Json& messages) {
  Json made = messages;
  for (Json& message : made) {
    if (message["role"] == "developer") message["role"] = "system";
    if (!message.contains("content") || !message["content"].is_array()) continue;
    std::string text;
    for (const Json& part : message["content"]) text += part.value(part["type"].get<std::string>(), std::string());
    message["content"] = text;
  }
  return made;
}

const char* name_of(ChatFinish reason) {
  return reason == ChatFinish::length ? "length" : reason == ChatFinish::tool_calls ? "tool_calls" : "stop";
}

struct Head {
  std::string id = new_id("chatcmpl-");
  int64_t created = unix_seconds();
  std::string model;
};

// The whole answer in one response.
class WholeChat final : public ChatSink {
 public:
  WholeChat(std::shared_ptr<LiveRequest> live, std::shared_ptr<LanguageService> service, int64_t choices)
      : live_(std::move(live)), service_(std::move(service)), choices_(size_t(choices)) {
    head_.model = service_->id();
  }

  void text(int64_t choice, const std::string& delta) override { choices_[size_t(choice)].text += delta; }
  void reasoning(int64_t choice, const std::string& delta) override { choices_[size_t(choice)].reasoning += delta; }
  void call(int64_t choice, int64_t, const std::string& id, const std::string& name) override {
    choices_[size_t(choice)].calls.push_back({{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", ""}}}});
  }
  void arguments(int64_t choice, int64_t index, const std::string& delta) override {
    Json& all = choices_[size_t(choice)].calls[size_t(index)]["function"]["arguments"];
    all = all.get<std::string>() + delta;
  }
  void logprobs(int64_t choice, const engine::TokenLogprob& row) override {
    choices_[size_t(choice)].logprobs.push_back(logprob_json([&](int32_t token) { return service_->token_bytes(token); }, row));
    scores_ = true;
  }
  void reasoning_tokens(int64_t, int64_t count) override { reasoning_tokens_ += count; }
  void end(int64_t choice, ChatFinish reason, const std::optional<std::string>&) override { choices_[size_t(choice)].reason = reason; }
  void done(const engine::Usage& usage) override {
    Json choices = Json::array();
    for (size_t k = 0; k < choices_.size(); ++k) {
      const Choice& c = choices_[k];
      Json message{{"role", "assistant"}, {"content", c.text.empty() && !c.calls.empty() ? Json() : Json(c.text)}, {"refusal", nullptr}};
      if (!c.reasoning.empty()) message["reasoning_content"] = c.reasoning;
      if (!c.calls.empty()) message["tool_calls"] = c.calls;
      choices.push_back({{"index", k},
                         {"message", message},
                         {"logprobs", scores_ ? Json{{"content", c.logprobs}, {"refusal", nullptr}} : Json()},
                         {"finish_reason", name_of(c.reason)}});
    }
    const Json body{{"id", head_.id},
                    {"object", "chat.completion"},
                    {"created", head_.created},
                    {"model", head_.model},
                    {"choices", choices},
                    {"usage", usage_json(usage, reasoning_tokens_)},
                    {"system_fingerprint", fingerprint()}};
    live_->to().respond(200, "application/json", dumped(body));
  }
  void failed(const ApiError& error) override { answer_error(live_->to(), openai_error, error); }

 private:
  struct Choice {
    std::string text, reasoning;
    Json calls = Json::array(), logprobs = Json::array();
    ChatFinish reason = ChatFinish::stop;
  };
  std::shared_ptr<LiveRequest> live_;
  std::shared_ptr<LanguageService> service_;
  Head head_;
  std::vector<Choice> choices_;
  int64_t reasoning_tokens_ = 0;
  bool scores_ = false;
};

class StreamedChat final : public ChatSink {
 public:
  StreamedChat(const std::shared_ptr<LiveRequest>& live, std::shared_ptr<LanguageService> service, int64_t choices, bool usage)
      : live_(live),
        stream_(live),
        service_(std::move(service)),
        begun_(size_t(choices)),
        scores_(size_t(choices), Json::array()),
        usage_(usage) {
    head_.model = service_->id();
  }

  void text(int64_t choice, const std::string& delta) override { send(choice, {{"content", delta}}); }
  void reasoning(int64_t choice, const std::string& delta) override { send(choice, {{"reasoning_content", delta}}); }
  void call(int64_t choice, int64_t index, const std::string& id, const std::string& name) override {
    const Json function{{"name", name}, {"arguments", ""}};
    send(choice, {{"tool_calls", {{{"index", index}, {"id", id}, {"type", "function"}, {"function", function}}}}});
  }
  void arguments(int64_t choice, int64_t index, const std::string& delta) override {
    send(choice, {{"tool_calls", {{{"index", index}, {"function", {{"arguments", delta}}}}}}});
  }
  void logprobs(int64_t choice, const engine::TokenLogprob& row) override {
    scores_[size_t(choice)].push_back(logprob_json([&](int32_t token) { return service_->token_bytes(token); }, row));
    with_scores_ = true;
  }
  void reasoning_tokens(int64_t, int64_t count) override { reasoning_tokens_ += count; }
  void end(int64_t choice, ChatFinish reason, const std::optional<std::string>&) override { send(choice, Json::object(), name_of(reason)); }
  void done(const engine::Usage& usage) override {
    if (usage_) {
      Json last = chunk(Json::array());
      last["usage"] = usage_json(usage, reasoning_tokens_);
      stream_.data(last);
    }
    stream_.raw("data: [DONE]\n\n");
    stream_.end();
  }
  void failed(const ApiError& error) override {
    if (!stream_.begun()) return answer_error(live_->to(), openai_error, error);
    stream_.raw("data: " + openai_error(error) + "\n\n");
    stream_.end();
  }

 private:
  Json chunk(Json choices) const {
    Json made{{"id", head_.id},       {"object", "chat.completion.chunk"},   {"created", head_.created},
              {"model", head_.model}, {"system_fingerprint", fingerprint()}, {"choices", std::move(choices)}};
    if (usage_) made["usage"] = nullptr;
    return made;
  }
  void send(int64_t choice, Json delta, const char* reason = nullptr) {
    if (!begun_[size_t(choice)]) {
      begun_[size_t(choice)] = true;
      Json first{{"role", "assistant"}, {"content", ""}};
      stream_.data(chunk({{{"index", choice}, {"delta", first}, {"logprobs", nullptr}, {"finish_reason", nullptr}}}));
    }
    Json& scores = scores_[size_t(choice)];
    const Json logprobs =
        with_scores_ && !scores.empty() ? Json{{"content", std::exchange(scores, Json::array())}, {"refusal", nullptr}} : Json();
    stream_.data(chunk(
        {{{"index", choice}, {"delta", std::move(delta)}, {"logprobs", logprobs}, {"finish_reason", reason ? Json(reason) : Json()}}}));
  }

  std::shared_ptr<LiveRequest> live_;
  EventStream stream_;
  std::shared_ptr<LanguageService> service_;
  Head head_;
  std::vector<bool> begun_;
  std::vector<Json> scores_;  // of tokens whose text has not been sent
  int64_t reasoning_tokens_ = 0;
  bool with_scores_ = false, usage_;
};

void answer(ServerState& server, http::Request& http, const http::Responder& to) {
  const Json body = parse_body(http.body);
  const Fields request(body);
  const auto service = server.models.language(request.text("model").value_or(""));
  check_messages(request);
  ChatRequest chat{.messages = with_plain_contents(request.need("messages"))};
  if (const Json* tools = request.list("tools"); tools && !tools->empty()) chat.tools = *tools;
  chat.tool_choice = tool_choice(request);
  if (!chat.tools && chat.tool_choice.kind != ToolChoice::Kind::automatic && chat.tool_choice.kind != ToolChoice::Kind::none)
    request.refuse("tool_choice", "there are no tools");
  chat.parallel_tool_calls = request.flag("parallel_tool_calls").value_or(true);
  chat.format = response_format(request);
  if (const auto variables = request.object("chat_template_kwargs")) chat.template_variables = variables->json();
  static constexpr std::string_view efforts[] = {"none", "minimal", "low", "medium", "high", "xhigh"};
  if (const auto effort = request.word("reasoning_effort", efforts)) chat.template_variables["reasoning_effort"] = *effort;
  chat.continue_final_message = request.flag("continue_final_message").value_or(false);
  chat.generation = generation_fields(request, *service);
  chat.generation.choices = request.integer("n", 1, 128).value_or(1);
  chat.generation.max_tokens = request.integer("max_completion_tokens", 0, most);
  if (!chat.generation.max_tokens) chat.generation.max_tokens = request.integer("max_tokens", 0, most);
  const auto top = request.integer("top_logprobs", 0, 20);
  if (request.flag("logprobs").value_or(false)) chat.generation.logprobs = top.value_or(0);
  else if (top.value_or(0) > 0) request.refuse("top_logprobs", "needs logprobs: true");
  const bool stream = request.flag("stream").value_or(false);
  const auto options = request.object("stream_options");
  if (options && !stream) request.refuse("stream_options", "needs stream: true");
  const bool usage = options && options->flag("include_usage").value_or(false);

  const auto live = std::make_shared<LiveRequest>(to);
  std::shared_ptr<ChatSink> sink;
  if (stream) sink = std::make_shared<StreamedChat>(live, service, chat.generation.choices, usage);
  else sink = std::make_shared<WholeChat>(live, service, chat.generation.choices);
  live->hold(start_chat(service, chat, sink));
}

}  // namespace

void add_openai_chat(http::Routes& routes, ServerState& server) {
  routes.add("POST", "/v1/chat/completions",
             guarded(openai_error, [&server](http::Request& r, const http::Responder& to) { answer(server, r, to); }));
}

}  // namespace hearth::server
