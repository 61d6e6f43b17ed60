#include "server/tools/call_object.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace hearth::server::tools {
namespace {

// The value of a JSON string with its quotes; the text of anything else is nothing.
std::optional<std::string> string_of(const std::string& raw) {
  const auto parsed = nlohmann::json::parse(raw, nullptr, false);
  if (!parsed.is_string()) return std::nullopt;
  return parsed.get<std::string>();
}

}  // namespace

std::string CallObject::take_arguments() { return std::exchange(arguments_, {}); }

bool CallObject::choose_member() {
  const auto key = string_of(key_);
  if (!key) return false;
  if (!name_ && (*key == name_key_ || *key == "name")) member_ = Member::name;
  else if (!arguments_begun_ && (*key == arguments_key_ || *key == "arguments" || *key == "parameters")) member_ = Member::arguments;
  else member_ = Member::other;
  return member_ == Member::name || !strict_ || name_ || *key == "type";
}

// Called at the end of a value that was not streamed.
bool CallObject::value_ended() {
  state_ = State::after;
  if (member_ == Member::name) {
    name_ = string_of(raw_);
    return name_.has_value();
  }
  if (member_ == Member::arguments) {
    arguments_begun_ = arguments_complete_ = true;
    if (streamed_) return true;
    // Some models write the object as a string again, or null for none.
    if (raw_ == "null") return arguments_ = "{}", true;
    const auto text = string_of(raw_);
    if (!text || !is_json(*text) || (*text)[text->find_first_not_of(" \n\r\t")] != '{') return false;
    arguments_ = *text;
  }
  return !strict_ || name_ || raw_ == "\"function\"";
}

CallObject::Step CallObject::value_byte(char c) {
  const JsonScanner::Step step = scanner_.push(c);
  if (step == JsonScanner::Step::bad) return Step::bad;
  if (step == JsonScanner::Step::past) return value_ended() ? push(c) : Step::bad;
  if (streamed_) arguments_ += c;
  else raw_ += c;
  if (step == JsonScanner::Step::ended && !value_ended()) return Step::bad;
  return Step::inside;
}

CallObject::Step CallObject::push(char c) {
  if (state_ == State::in_value) return value_byte(c);
  if (state_ == State::in_key) {
    key_ += c;
    const JsonScanner::Step step = scanner_.push(c);
    if (step == JsonScanner::Step::bad) return Step::bad;
    if (step == JsonScanner::Step::ended) {
      if (!choose_member()) return Step::bad;
      state_ = State::colon;
    }
    return Step::inside;
  }
  if (is_json_space(c)) return state_ == State::open ? Step::bad : Step::inside;
  switch (state_) {
    case State::open: state_ = State::first_key; return c == '{' ? Step::inside : Step::bad;
    case State::first_key:
    case State::key:
      if (c != '"') return Step::bad;
      scanner_ = {};
      scanner_.push(c);
      key_ = c;
      state_ = State::in_key;
      return Step::inside;
    case State::colon: state_ = State::value; return c == ':' ? Step::inside : Step::bad;
    case State::value:
      scanner_ = {};
      raw_.clear();
      streamed_ = member_ == Member::arguments && c == '{';
      if (streamed_) arguments_begun_ = true;
      state_ = State::in_value;
      return value_byte(c);
    default:
      if (c == ',') return state_ = State::key, Step::inside;
      if (c != '}' || !name_) return Step::bad;
      if (!arguments_begun_) {
        arguments_begun_ = arguments_complete_ = true;
        arguments_ = "{}";
      }
      return Step::ended;
  }
}

}  // namespace hearth::server::tools
