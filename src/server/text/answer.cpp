#include "server/text/answer.h"

#include "server/text/format_rules.h"

namespace hearth::server {

AnswerFormat::AnswerFormat(const LanguageService& service, const ChatRequest& request, const std::string& prompt)
    : service_(service), param_(param_of(request.format.kind)) {
  const tools::ToolFormat& format = service.tool_format();
  const tools::Reasoning& reasoning = service.reasoning();
  demand_ = {.required = request.tool_choice.kind == ToolChoice::Kind::required,
             .parallel = request.parallel_tool_calls,
             .text = format_rules(request.format),
             .inside_reasoning = tools::opens_reasoning(reasoning, prompt)};
  if (request.tools && request.tool_choice.kind != ToolChoice::Kind::none) {
    reader_.tools = callable_ = tools::read_tools(*request.tools);
    if (request.tool_choice.kind == ToolChoice::Kind::named) {
      callable_ = {tools::find_tool(reader_.tools, request.tool_choice.name)};
      demand_.required = true;
    }
    param_ = "tools";
  }
  source_ = Json{source_of(request.format), callable_.empty() ? Json() : *request.tools,
                 request.tool_choice.name,  demand_.required,
                 demand_.parallel,          demand_.inside_reasoning}
                .dump(-1, ' ', false, Json::error_handler_t::replace);
  reader_.inside_reasoning = demand_.inside_reasoning;
  const text::Tokenizer& tokenizer = service.tokenizer();
  reader_.hidden = service.hidden_tokens();
  shows_special_ = tools::needs_special_tokens(format, reasoning, !callable_.empty(), [&](const std::string& text) {
    const auto id = tokenizer.id_of(text);
    return id && tokenizer.is_special(*id);
  });
}

std::shared_ptr<const engine::ConstraintSource> AnswerFormat::constraint() const {
  if (callable_.empty() && !demand_.text) return nullptr;
  const auto rules = [this] {
    tools::AnswerDemand demand = demand_;
    demand.tools = callable_;
    return tools::answer_grammar(service_.tool_format(), service_.reasoning(), demand);
  };
  return service_.constraint("answer", source_, rules, param_, shows_special_);
}

}  // namespace hearth::server
