#include "server/text/chat.h"

#include <algorithm>

#include "core/error.h"
#include "server/text/answer.h"
#include "server/tools/tool_prompt.h"

namespace hearth::server {
namespace {

std::string rendered(const LanguageService& service, const ChatRequest& request) {
  const bool with_tools = request.tools && request.tool_choice.kind != ToolChoice::Kind::none;
  const std::vector<tools::Tool> list = with_tools ? tools::read_tools(*request.tools) : std::vector<tools::Tool>();
  const tools::PreparedChat chat = tools::prepare_chat(service.tool_format(), service.template_support(), request.messages,
                                                       with_tools ? *request.tools : Json::array(), list);
  return service.render(chat.messages, chat.tools ? *request.tools : Json(), request.template_variables, request.continue_final_message);
}

// From the engine's tokens to the events of a chat.
class ChatAnswer final : public engine::Sink {
 public:
  ChatAnswer(std::shared_ptr<ChatSink> sink, const AnswerFormat& format, int64_t choices) : sink_(std::move(sink)) {
    for (int64_t k = 0; k < choices; ++k) choices_.push_back({format.start()});
  }

  void token(int64_t choice, engine::TokenEvent event) override {
    if (event.logprob) sink_->logprobs(choice, *event.logprob);
    Choice& c = choices_[size_t(choice)];
    pass(choice, c.reader.push(event.text));
    if (c.reasons) ++c.reasoning_tokens;
  }
  void end(int64_t choice, engine::ChoiceEnd end) override {
    tools::AnswerReader& reader = choices_[size_t(choice)].reader;
    pass(choice, reader.push(end.text));
    pass(choice, reader.finish());
    if (const int64_t count = choices_[size_t(choice)].reasoning_tokens; count > 0) sink_->reasoning_tokens(choice, count);
    const ChatFinish reason = end.reason == engine::Finish::length ? ChatFinish::length
                              : reader.calls() > 0                 ? ChatFinish::tool_calls
                                                                   : ChatFinish::stop;
    sink_->end(choice, reason, end.stop);
  }
  void done(const engine::Usage& usage) override { sink_->done(usage); }
  void failed(std::exception_ptr error) override { sink_->failed(api_error(std::move(error))); }

 private:
  struct Choice {
    tools::AnswerReader reader;
    bool reasons = false;  // what came last was reasoning
    int64_t reasoning_tokens = 0;
  };

  void pass(int64_t choice, const std::vector<tools::AnswerEvent>& events) {
    using Kind = tools::AnswerEvent::Kind;
    for (const tools::AnswerEvent& e : events) {
      choices_[size_t(choice)].reasons = e.kind == Kind::reasoning;
      switch (e.kind) {
        case Kind::text: sink_->text(choice, e.text); break;
        case Kind::reasoning: sink_->reasoning(choice, e.text); break;
        case Kind::call: sink_->call(choice, e.index, e.id, e.text); break;
        case Kind::arguments: sink_->arguments(choice, e.index, e.text); break;
        case Kind::call_end: break;
      }
    }
  }

  std::shared_ptr<ChatSink> sink_;
  std::vector<Choice> choices_;
};

}  // namespace

std::vector<int32_t> chat_prompt(const LanguageService& service, const ChatRequest& request) {
  return service.tokenizer().encode(rendered(service, request), {.add_special_tokens = false});
}

engine::Engine::Ticket start_chat(const std::shared_ptr<LanguageService>& service, const ChatRequest& request,
                                  std::shared_ptr<ChatSink> sink) {
  const std::string prompt = rendered(*service, request);
  engine::Request r = engine_request(request.generation, *service, service->tokenizer().encode(prompt, {.add_special_tokens = false}));
  sink->prompt(std::ssize(r.prompt));
  const AnswerFormat format(*service, request, prompt);
  r.show_special = format.shows_special();
  r.constraint = format.constraint();
  const int64_t choices = r.choices;
  return service->engine().submit(std::move(r), std::make_shared<ChatAnswer>(std::move(sink), format, choices));
}

}  // namespace hearth::server
