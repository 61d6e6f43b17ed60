#include "server/tools/answer_events.h"

#include <utility>

namespace hearth::server::tools {
namespace {

constexpr std::string_view white_space = " \n\r\t";

std::string_view without_front(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(white_space), text.size()));
  return text;
}
// The text without the white space at its end.
std::string_view without_back(std::string_view text) { return text.substr(0, text.find_last_not_of(white_space) + 1); }

}  // namespace

void AnswerEvents::add(AnswerEvent::Kind kind, std::string_view piece) {
  if (piece.empty()) return;
  const int64_t index = kind == AnswerEvent::Kind::arguments ? calls_ - 1 : 0;
  if (!events_.empty() && events_.back().kind == kind && events_.back().index == index) events_.back().text += piece;
  else events_.push_back({.kind = kind, .text = std::string(piece), .index = index});
}

void AnswerEvents::text(std::string_view piece) {
  if (skip_space_) piece = without_front(piece);
  if (piece.empty()) return;
  skip_space_ = false;
  const std::string_view certain = hold_space_ ? without_back(piece) : piece;
  if (!certain.empty()) {
    if (std::exchange(break_text_, false)) add(AnswerEvent::Kind::text, "\n");
    add(AnswerEvent::Kind::text, space_);
    add(AnswerEvent::Kind::text, certain);
    space_.clear();
    some_text_ = true;
  }
  space_ += piece.substr(certain.size());
}

void AnswerEvents::reasoning(std::string_view piece) {
  if (!reasoning_begun_) piece = without_front(piece);
  if (piece.empty()) return;
  reasoning_begun_ = true;
  const std::string_view certain = without_back(piece);
  if (!certain.empty()) {
    if (std::exchange(break_reasoning_, false)) add(AnswerEvent::Kind::reasoning, "\n");
    add(AnswerEvent::Kind::reasoning, reasoning_space_);
    add(AnswerEvent::Kind::reasoning, certain);
    reasoning_space_.clear();
    some_reasoning_ = true;
  }
  reasoning_space_ += piece.substr(certain.size());
}

void AnswerEvents::end_reasoning() {
  reasoning_begun_ = false;
  reasoning_space_.clear();
  skip_space_ = true;
}

void AnswerEvents::call(const std::string& name, const std::string& id) {
  space_.clear();
  events_.push_back({.kind = AnswerEvent::Kind::call, .text = name, .id = id, .index = calls_++});
}

void AnswerEvents::arguments(std::string_view piece) { add(AnswerEvent::Kind::arguments, piece); }

void AnswerEvents::end_call(bool complete) {
  events_.push_back({.kind = AnswerEvent::Kind::call_end, .index = calls_ - 1, .complete = complete});
  skip_space_ = complete;
}

void AnswerEvents::new_message() {
  break_text_ = some_text_;
  break_reasoning_ = some_reasoning_;
  space_.clear();
}

void AnswerEvents::finish() {
  add(AnswerEvent::Kind::text, space_);
  space_.clear();
}

std::vector<AnswerEvent> AnswerEvents::take() { return std::exchange(events_, {}); }

}  // namespace hearth::server::tools
