#include "server/tools/call_rules.h"

#include <fmt/format.h>

#include "core/error.h"
#include "server/api_error.h"
#include "text/grammar/automaton.h"
#include "text/grammar/json_schema.h"

namespace hearth::server::tools {

namespace grammar = text::grammar;
using grammar::choice;
using grammar::Expr;
using grammar::optional;
using grammar::repeat;
using grammar::sequence;

namespace {

using Kind = ToolFormat::Kind;

Expr any_of_bytes(std::string_view set) {
  grammar::ByteSet bytes;
  for (const char c : set) bytes.set(uint8_t(c));
  return grammar::bytes(bytes);
}

Expr json_space() { return repeat(any_of_bytes(" \n\r\t"), 0, -1); }

Expr in_quotes(std::string_view s) { return literal(fmt::format("\"{}\"", s)); }

Expr nine_letters_and_digits() { return repeat(any_of_bytes("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"), 9, 9); }

// {"name": "NAME", "arguments": {…}}
Expr object_of(const ToolFormat& format, const Tool& tool) {
  const Expr gap = json_gap();
  const Expr arguments = json_arguments(tool);
  const auto member = [&](std::string_view key, Expr value) {
    return sequence({in_quotes(key), gap, literal(":"), gap, std::move(value)});
  };
  const Expr name = member(format.name_key, in_quotes(tool.name)), given = member(format.arguments_key, arguments);
  const auto both = [&](const Expr& first, const Expr& second) { return sequence({first, gap, literal(","), gap, second}); };
  std::vector<Expr> parts = {literal("{"), gap};
  if (format.bare) parts.push_back(optional(sequence({literal("\"type\": \"function\","), gap})));
  if (format.name == "action_list") {  // its models count their calls
    const Expr number = repeat(any_of_bytes("0123456789"), 1, 4);
    parts.push_back(optional(sequence({member("tool_call_id", sequence({literal("\""), number, literal("\"")})), literal(","), gap})));
  }
  parts.push_back(format.arguments_first ? choice({both(name, given), both(given, name)}) : both(name, given));
  if (format.ids == ToolFormat::Ids::nine)  // its models may go on with what the template prints of earlier calls
    parts.push_back(
        optional(sequence({gap, literal(","), gap, member("id", sequence({literal("\""), nine_letters_and_digits(), literal("\"")}))})));
  parts.insert(parts.end(), {gap, literal("}")});
  return sequence(std::move(parts));
}

Expr close_of(const ToolFormat& format) {
  return format.close.empty() ? literal("") : sequence({optional_gap(format.gap), literal(format.close)});
}

// From `open` on, without the section.
Expr call_of(const ToolFormat& format, const Tool& tool) {
  const Expr gap = optional_gap(format.gap);
  std::vector<Expr> parts = {literal(format.open)};
  if (format.kind == Kind::objects) return sequence({literal(format.open), gap, object_of(format, tool), close_of(format)});
  parts.insert(parts.end(), {literal(format.before_name), literal(tool.name)});
  if (format.ids == ToolFormat::Ids::counted) parts.insert(parts.end(), {literal(":"), repeat(any_of_bytes("0123456789"), 1, 4)});
  if (format.after_name == "[ARGS]") parts.push_back(optional(sequence({literal(call_id_mark), nine_letters_and_digits()})));
  parts.push_back(literal(format.after_name));
  if (format.kind == Kind::named) parts.insert(parts.end(), {json_arguments(tool), literal(format.after_arguments)});
  else parts.insert(parts.end(), {tagged_arguments(format, tool), gap});
  parts.push_back(literal(format.close));
  return sequence(std::move(parts));
}

Expr several(const Expr& one, const Expr& between, bool parallel) {
  return parallel ? sequence({one, repeat(sequence({between, one}), 0, -1)}) : one;
}

template <class Make> Expr each(std::span<const Tool> tools, const Make& make) {
  std::vector<Expr> all;
  for (const Tool& tool : tools) {
    try {
      all.push_back(make(tool));
    } catch (const Error& e) { refuse_tool(tool, e.what()); }
  }
  grammar::Rules rules = grammar::only("call", choice(std::move(all)));
  return grammar::embed(std::move(rules));
}

}  // namespace

void refuse_tool(const Tool& tool, const std::string& message) {
  throw ApiError(400, one_line(fmt::format("{}: {}", tool.path, message)), tool.path);
}

Expr literal(std::string_view text) { return grammar::text(text); }

Expr json_gap() {
  static const Expr gap =
      grammar::embed(grammar::only("gap", optional(choice({literal(" "), sequence({literal("\n"), repeat(literal(" "), 0, 16)})}))));
  return gap;
}

Expr optional_gap(std::string_view gap) { return gap.empty() ? literal("") : optional(literal(gap)); }

Expr json_arguments(const Tool& tool) { return grammar::embed(grammar::json_schema(tool.parameters)); }

Expr calls_of(const ToolFormat& format, std::span<const Tool> tools, bool parallel) {
  const Expr gap = optional_gap(format.gap);
  if (format.kind == Kind::objects && (format.list || format.bare)) {
    const Expr object = each(tools, [&](const Tool& tool) { return object_of(format, tool); });
    if (format.bare) return several(object, literal("; "), parallel);
    const Expr items = several(object, sequence({json_gap(), literal(","), json_gap()}), parallel);
    return sequence({literal(format.open), gap, literal("["), json_gap(), items, json_gap(), literal("]"), close_of(format)});
  }
  const Expr one = each(tools, [&](const Tool& tool) { return call_of(format, tool); });
  if (format.section_open.empty()) return several(one, gap, parallel);
  const auto in_section = [&](const Expr& inner) {
    return sequence({literal(format.section_open), gap, inner, gap, literal(format.section_close)});
  };
  if (format.section_per_call) return several(in_section(one), gap, parallel);
  return in_section(several(one, optional(literal("\n")), parallel));
}

Expr text_without_calls(const ToolFormat& format) {
  const Expr plain = grammar::text_without(triggers_of(format));
  if (!format.bare) return plain;
  const Expr space = json_space();
  const Expr member = choice({in_quotes("name"), sequence({in_quotes("type"), space, literal(":"), space, in_quotes("function")})});
  const Expr call =
      sequence({space, optional(sequence({literal("["), space})), literal("{"), space, member, repeat(grammar::any_character(), 0, -1)});
  constexpr size_t limit = 10'000;
  return grammar::expression_of(grammar::product(grammar::automaton_of(plain, limit, "text"), grammar::automaton_of(call, limit, "call"),
                                                 grammar::Product::first_without_second, limit, "text without calls"));
}

}  // namespace hearth::server::tools
