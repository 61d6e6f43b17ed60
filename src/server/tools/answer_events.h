// What an answer consists of, and the gathering of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::server::tools {

struct AnswerEvent {
  enum class Kind { text, reasoning, call, arguments, call_end };
  Kind kind = Kind::text;
  std::string text = {};  // text or reasoning; a call's name; a piece of its arguments
  std::string id = {};    // call: its id
  int64_t index = 0;      // call, arguments, call_end: which one, from 0
  bool complete = true;   // call_end: the arguments are one JSON object; otherwise they broke off
};

// Joins what belongs together and decides which white space is text: what surrounds calls and reasoning is not, and what stands in front
// of a mark is known only later.
class AnswerEvents {
 public:
  // hold_space: calls may follow the text.
  explicit AnswerEvents(bool hold_space) : hold_space_(hold_space) {}

  void text(std::string_view piece);
  void reasoning(std::string_view piece);
  void end_reasoning();  // what follows begins without white space
  void call(const std::string& name, const std::string& id);
  void arguments(std::string_view piece);
  void end_call(bool complete);
  void new_message();  // the next text or reasoning begins on a new line if there is some already
  void finish();

  std::vector<AnswerEvent> take();
  int64_t calls() const { return calls_; }

 private:
  void add(AnswerEvent::Kind kind, std::string_view piece);

  std::vector<AnswerEvent> events_;
  bool hold_space_;
  bool skip_space_ = false;  // behind a call or reasoning
  std::string space_;        // held back
  bool reasoning_begun_ = false;
  std::string reasoning_space_;
  bool some_text_ = false, some_reasoning_ = false;
  bool break_text_ = false, break_reasoning_ = false;
  int64_t calls_ = 0;
};

}  // namespace hearth::server::tools
