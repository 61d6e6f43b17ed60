#include "server/tools/call_head.h"

#include "server/tools/json_scanner.h"
#include "server/tools/tool.h"

namespace hearth::server::tools {
namespace {

using Kind = ToolFormat::Kind;

// Either of two marks.
Match either(Cursor& c, std::string_view a, std::string_view b) {
  const Match first = c.spaced(a);
  if (first != Match::no || b.empty()) return first;
  return c.spaced(b);
}

Match brace(Cursor& c) {
  Match m = c.space();
  if (m != Match::yes) return m;
  if (c.at == c.text.size()) return Match::no;
  return c.text[c.at] == '{' ? Match::yes : Match::no;
}

// Whether a parameter or the end of the call follows. Stays where it is.
Match parameter_or_end(const ToolFormat& format, const Cursor& c) {
  Match found = Match::no;
  for (const std::string_view mark : {format.key_open, format.close, format.section_close}) {
    const Match m = mark.empty() ? Match::no : Cursor(c).spaced(mark);
    if (m == Match::yes) return m;
    if (m == Match::more) found = m;
  }
  return found;
}

// What may stand between the name and the arguments: the number of a call, or its id.
Match addition(const ToolFormat& format, Cursor& c, CallHead& head, size_t name_at) {
  const auto run = [&](auto fits) {
    const size_t from = c.at;
    while (c.at < c.text.size() && fits(c.text[c.at])) ++c.at;
    return c.text.substr(from, c.at - from);
  };
  if (format.ids == ToolFormat::Ids::counted) {
    const Match m = c.literal(":");
    if (m != Match::yes) return m;
    if (run([](char x) { return x >= '0' && x <= '9'; }).empty()) return c.at == c.text.size() && !c.ended ? Match::more : Match::no;
    head.id = c.text.substr(name_at, c.at - name_at);
    if (c.at == c.text.size() && !c.ended) return Match::more;
  } else if (format.after_name == "[ARGS]") {
    const Match m = c.literal(call_id_mark);
    if (m != Match::yes) return m == Match::more ? m : Match::yes;
    head.id = run([](char x) { return is_name_byte(x) && x != '.' && x != '/' && x != '-' && x != '_'; });
    if (c.at == c.text.size() && !c.ended) return Match::more;
  }
  return Match::yes;
}

Match named(const ToolFormat& format, Cursor& c, CallHead& head, const std::function<bool(std::string_view)>& is_tool) {
  if (const Match m = c.space(); m != Match::yes) return m;
  const size_t from = c.at;
  if (const Match m = c.literal(format.before_name); m != Match::yes) {
    if (m == Match::more || format.ids != ToolFormat::Ids::counted) return m;
  }
  const size_t name_at = c.at;
  while (c.at < c.text.size() && is_name_byte(c.text[c.at])) ++c.at;
  if (c.at == c.text.size() && !c.ended) return Match::more;
  head.name = c.text.substr(name_at, c.at - name_at);
  if (!is_tool(head.name)) return Match::no;
  if (const Match m = addition(format, c, head, from); m != Match::yes) return m;
  if (format.after_name.empty()) {  // the name ends at white space, or where a tag begins
    if (c.at < c.text.size() && !is_json_space(c.text[c.at]) && c.text[c.at] != '<') return Match::no;
  } else if (const Match m = c.spaced(format.after_name); m != Match::yes) {
    // Models that write a mark there also leave it out.
    if (m == Match::more || format.after_name != "[ARGS]") return m;
  }
  return format.kind == Kind::named ? brace(c) : parameter_or_end(format, c);
}

}  // namespace

CallHead read_head(const ToolFormat& format, std::string_view text, bool ended, const std::function<bool(std::string_view)>& is_tool) {
  CallHead head;
  Cursor c{text, ended};
  const auto decide = [&] {
    if (!format.section_open.empty()) {
      const Match m = c.spaced(format.section_open);
      if (m == Match::more) return m;
      head.section = m == Match::yes;
    }
    const Match opened = either(c, format.open, format.also_open);
    if (opened == Match::more || (opened == Match::no && !format.bare)) return opened;
    if (format.kind != Kind::objects) return named(format, c, head, is_tool);
    const Match list = c.spaced("[");
    if (list == Match::more) return list;
    head.list = list == Match::yes;
    return brace(c);
  };
  head.match = decide();
  head.size = c.at;
  return head;
}

}  // namespace hearth::server::tools
