// What the tests of readers and grammars share: answers as a whole, and reading them in pieces.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/tools/answer_reader.h"

namespace hearth::server::tools::test {

struct Call {
  std::string name, arguments;
  bool complete = true;
  bool operator==(const Call&) const = default;
};
// In the order in which the parts came: neighbors of a kind are joined.
struct Answer {
  std::string text, reasoning;
  std::vector<Call> calls;
  std::vector<std::string> order;  // "text", "reasoning", "call"
  bool operator==(const Answer&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Answer& a) {
  out << "text '" << a.text << "' reasoning '" << a.reasoning << "'";
  for (const Call& c : a.calls) out << " call " << c.name << " '" << c.arguments << "'" << (c.complete ? "" : " incomplete");
  for (const std::string& o : a.order) out << " " << o;
  return out;
}

inline void join(Answer& a, const std::vector<AnswerEvent>& events) {
  const auto seen = [&](const char* what) {
    if (a.order.empty() || a.order.back() != what || std::string(what) == "call") a.order.emplace_back(what);
  };
  for (const AnswerEvent& e : events) {
    switch (e.kind) {
      case AnswerEvent::Kind::text: a.text += e.text, seen("text"); break;
      case AnswerEvent::Kind::reasoning: a.reasoning += e.text, seen("reasoning"); break;
      case AnswerEvent::Kind::call:
        EXPECT_EQ(e.index, int64_t(a.calls.size()));
        EXPECT_FALSE(e.id.empty());
        a.calls.push_back({e.text, "", false}), seen("call");
        break;
      case AnswerEvent::Kind::arguments:
        ASSERT_EQ(e.index, int64_t(a.calls.size()) - 1);
        a.calls.back().arguments += e.text;
        break;
      case AnswerEvent::Kind::call_end:
        ASSERT_EQ(e.index, int64_t(a.calls.size()) - 1);
        a.calls.back().complete = e.complete;
        break;
    }
    EXPECT_EQ(e.text.empty(), e.kind == AnswerEvent::Kind::call_end);
  }
}

inline Answer read(const ToolFormat& format, const Reasoning& reasoning, const ReaderOptions& options,
                   const std::vector<std::string>& pieces) {
  AnswerReader reader(format, reasoning, options);
  Answer answer;
  for (const std::string& piece : pieces) join(answer, reader.push(piece));
  join(answer, reader.finish());
  EXPECT_EQ(reader.calls(), int64_t(answer.calls.size()));
  return answer;
}

// Reads it as a whole, byte by byte, and in two pieces divided everywhere, and expects the same.
inline Answer read_every_way(const ToolFormat& format, const Reasoning& reasoning, const ReaderOptions& options, const std::string& text) {
  const Answer whole = read(format, reasoning, options, {text});
  std::vector<std::string> bytes;
  for (const char c : text) bytes.emplace_back(1, c);
  EXPECT_EQ(read(format, reasoning, options, bytes), whole) << "byte by byte: " << text;
  for (size_t i = 1; i < text.size(); ++i)
    EXPECT_EQ(read(format, reasoning, options, {text.substr(0, i), text.substr(i)}), whole) << "divided at " << i << ": " << text;
  for (size_t n = 2; n <= 7; ++n) {
    std::vector<std::string> pieces;
    for (size_t i = 0; i < text.size(); i += n) pieces.push_back(text.substr(i, n));
    EXPECT_EQ(read(format, reasoning, options, pieces), whole) << "pieces of " << n << ": " << text;
  }
  return whole;
}

// get_weather(city: text, days: integer), get_time(), note(text, tags, level)
inline std::vector<Tool> some_tools() {
  return read_tools(Json::parse(R"([
    {"type": "function", "function": {"name": "get_weather", "description": "The weather of the coming days", "parameters": {
      "type": "object", "properties": {"city": {"type": "string", "maxLength": 40}, "days": {"type": "integer", "minimum": 1, "maximum": 14}},
      "required": ["city"], "additionalProperties": false}}},
    {"type": "function", "function": {"name": "get_time"}},
    {"type": "function", "function": {"name": "note.add", "parameters": {
      "type": "object", "properties": {
        "text": {"type": "string", "maxLength": 12}, "tags": {"type": "array", "items": {"type": "string"}},
        "level": {"$ref": "#/$defs/Level"}, "place": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "urgent": {"type": "boolean"}},
      "required": ["text", "level"], "additionalProperties": false,
      "$defs": {"Level": {"enum": ["low", "high"], "type": "string"}}}}}])"));
}

}  // namespace hearth::server::tools::test
