#include "server/tools/answer_grammar.h"

#include "core/error.h"
#include "server/tools/call_rules.h"

namespace hearth::server::tools {

namespace grammar = text::grammar;
using grammar::choice;
using grammar::Expr;
using grammar::optional;
using grammar::repeat;
using grammar::sequence;

namespace {

using Kind = ToolFormat::Kind;

Expr a_little_space() {
  grammar::ByteSet set;
  for (const char c : std::string_view(" \n")) set.set(uint8_t(c));
  return repeat(grammar::bytes(set), 0, 4);
}

// Thoughts and what ends them; nothing at all is possible unless the prompt has opened them.
Expr thoughts(const Reasoning& reasoning, bool inside) {
  if (reasoning.open.empty()) return literal("");
  const Expr rest = sequence({grammar::text_until(reasoning.close), a_little_space()});
  return inside ? rest : optional(sequence({a_little_space(), literal(reasoning.open), rest}));
}

template <class Mark> Expr wrapped(const std::vector<Mark>& marks, const Expr& inner) {
  if (marks.size() != 2) return inner;
  return sequence({optional(literal(marks[0])), inner, optional(literal(marks[1]))});
}

// Messages with headers. The answer begins behind <|start|>assistant.
Expr channels(const AnswerDemand& demand, const std::optional<Expr>& form) {
  const std::vector<std::string> marks = {"<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>"};
  const Expr words = grammar::text_without(marks);
  const auto message = [&](std::string_view channel) {
    return sequence({literal("<|channel|>"), literal(channel), literal("<|message|>"), words, literal("<|end|><|start|>assistant")});
  };
  std::vector<Expr> last, before = {message("analysis")};
  if (!demand.required) {
    last.push_back(sequence({literal("<|channel|>final<|message|>"), form ? *form : words}));
    if (!form) before.push_back(message("commentary"));
  }
  std::vector<Expr> calls;
  for (const Tool& tool : demand.tools) {
    const Expr to = literal(" to=functions." + tool.name);
    const Expr header =
        choice({sequence({literal("<|channel|>commentary"), to, literal(" <|constrain|>json")}),
                sequence({to, literal("<|channel|>commentary"), choice({literal(" json"), literal(" <|constrain|>json")})})});
    try {
      calls.push_back(sequence({header, literal("<|message|>"), json_arguments(tool)}));
    } catch (const Error& e) { refuse_tool(tool, e.what()); }
  }
  if (!calls.empty()) last.push_back(choice(std::move(calls)));
  return sequence({repeat(choice(std::move(before)), 0, -1), choice(std::move(last))});
}

// With calls of the demand's tools.
Expr text_or_calls(const ToolFormat& format, const AnswerDemand& demand, const std::optional<Expr>& form) {
  const Expr calls = calls_of(format, demand.tools, demand.parallel);
  const Expr free = text_without_calls(format);
  // An answer of this format begins with the call, or has a mark in front of it.
  const Expr marked = format.bare ? sequence({literal(format.open), calls}) : calls;
  const Expr at_once = sequence({a_little_space(), format.bare ? choice({calls, marked}) : calls});
  if (demand.required) return at_once;
  if (form) return choice({wrapped(format.silent, *form), at_once});
  std::vector<Expr> all = {wrapped(format.silent, free), sequence({free, marked})};
  if (format.bare) all.push_back(at_once);
  return choice(std::move(all));
}

}  // namespace

grammar::Rules answer_grammar(const ToolFormat& format, const Reasoning& reasoning, const AnswerDemand& demand) {
  std::optional<Expr> form;
  if (demand.text) form = grammar::embed(*demand.text);
  if (demand.required && demand.tools.empty()) fail<UsageError>("tool_choice: a call is required, expected tools");
  if (reasoning.channels || format.kind == Kind::channels) return grammar::only("answer", channels(demand, form));
  Expr answer = form ? *form : grammar::text_without({});
  if (!demand.tools.empty()) answer = text_or_calls(format, demand, form);
  else answer = wrapped(format.silent, answer);
  return grammar::only("answer", sequence({thoughts(reasoning, demand.inside_reasoning), wrapped(reasoning.silent, answer)}));
}

}  // namespace hearth::server::tools
