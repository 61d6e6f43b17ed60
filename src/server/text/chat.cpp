#include "server/text/chat.h"

#include <algorithm>

#include "core/error.h"
#include "server/text/answer.h"

namespace hearth::server {
namespace {

std::string rendered(const LanguageService& service, const ChatRequest& request) {
  const text::ChatTemplate* chat = service.chat();
  if (!chat) throw ApiError(400, fmt::format("the model '{}' has no chat template: use completions", service.id()), "model");
  text::ChatRequest r{.messages = request.messages.dump(-1, ' ', false, Json::error_handler_t::replace),
                      .tools = {},
                      .documents = {},
                      .add_generation_prompt = !request.continue_final_message,
                      .continue_final_message = request.continue_final_message,
                      .variables = request.template_variables.dump(-1, ' ', false, Json::error_handler_t::replace)};
  if (request.tools && request.tool_choice.kind != ToolChoice::Kind::none && !request.tools->empty())
    r.tools = request.tools->dump(-1, ' ', false, Json::error_handler_t::replace);
  try {
    return chat->render(r);
  } catch (const std::exception& e) { throw ApiError(400, e.what(), "messages"); }
}

// From the engine's tokens to the events of a chat.
class ChatAnswer final : public engine::Sink {
 public:
  ChatAnswer(std::shared_ptr<ChatSink> sink, const AnswerFormat& format, int64_t choices) : sink_(std::move(sink)) {
    for (int64_t k = 0; k < choices; ++k) choices_.push_back(format.start());
  }

  void token(int64_t choice, engine::TokenEvent event) override {
    if (event.logprob) sink_->logprobs(choice, *event.logprob);
    pass(choice, choices_[size_t(choice)]->push(event.text));
  }
  void end(int64_t choice, engine::ChoiceEnd end) override {
    AnswerParser& parser = *choices_[size_t(choice)];
    pass(choice, parser.push(end.text));
    pass(choice, parser.finish());
    const ChatFinish reason = end.reason == engine::Finish::length ? ChatFinish::length
                              : parser.calls() > 0                 ? ChatFinish::tool_calls
                                                                   : ChatFinish::stop;
    sink_->end(choice, reason, end.stop);
  }
  void done(const engine::Usage& usage) override { sink_->done(usage); }
  void failed(std::exception_ptr error) override { sink_->failed(api_error(std::move(error))); }

 private:
  void pass(int64_t choice, const std::vector<AnswerEvent>& events) {
    for (const AnswerEvent& e : events) {
      switch (e.kind) {
        case AnswerEvent::Kind::text: sink_->text(choice, e.text); break;
        case AnswerEvent::Kind::reasoning: sink_->reasoning(choice, e.text); break;
        case AnswerEvent::Kind::call: sink_->call(choice, e.index, e.id, e.text); break;
        case AnswerEvent::Kind::arguments: sink_->arguments(choice, e.index, e.text); break;
      }
    }
  }

  std::shared_ptr<ChatSink> sink_;
  std::vector<std::unique_ptr<AnswerParser>> choices_;
};

}  // namespace

std::vector<int32_t> chat_prompt(const LanguageService& service, const ChatRequest& request) {
  return service.tokenizer().encode(rendered(service, request), {.add_special_tokens = false});
}

engine::Engine::Ticket start_chat(const std::shared_ptr<LanguageService>& service, const ChatRequest& request,
                                  std::shared_ptr<ChatSink> sink) {
  const std::string prompt = rendered(*service, request);
  engine::Request r = engine_request(request.generation, *service, service->tokenizer().encode(prompt, {.add_special_tokens = false}));
  const AnswerFormat format(*service, request, prompt);
  r.show_special = format.shows_special();
  if (const auto rules = format.rules()) r.constraint = service->constraint(*rules, format.param());
  const int64_t choices = r.choices;
  return service->engine().submit(std::move(r), std::make_shared<ChatAnswer>(std::move(sink), format, choices));
}

}  // namespace hearth::server
