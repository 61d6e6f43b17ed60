// Answers whose parts stand between marks.
#include "server/tools/answer_reader_impl.h"
#include "server/tools/call_head.h"

namespace hearth::server::tools {
namespace {

using Kind = ToolFormat::Kind;

class MarkedReader final : public AnswerReader::Impl {
 public:
  MarkedReader(const ToolFormat& format, const Reasoning& reasoning, ReaderOptions options)
      : Impl(format, reasoning, std::move(options)), object_("", "", false) {
    const auto add = [](std::vector<std::string>& to, std::string_view mark) {
      if (!mark.empty()) to.emplace_back(mark);
    };
    if (!options_.tools.empty()) triggers_ = triggers_of(format_);
    text_marks_ = triggers_;
    for (const std::string& mark : options_.hidden) add(text_marks_, mark);
    if (options_.separate_reasoning)
      for (const std::string& mark : reasoning_.silent) add(text_marks_, mark);
    for (const std::string_view mark : format_.silent) add(text_marks_, mark);
    add(reasoning_marks_, reasoning_.close);
    for (const std::string& mark : options_.hidden) add(reasoning_marks_, mark);
    if (options_.separate_reasoning && !reasoning_.none()) state_ = options_.inside_reasoning ? State::reasoning : State::before_reasoning;
  }

 private:
  enum class State {
    before_reasoning,
    reasoning,
    start,
    text,
    head,
    object,
    list,
    json,
    parameters,
    text_value,
    json_value,
    close,
    section,
    next_bare
  };

  bool go(State to) { return state_ = to, true; }
  bool is_tool(std::string_view name) const { return tool(name) != nullptr; }

  bool step() override {
    switch (state_) {
      case State::before_reasoning: return before_reasoning();
      case State::reasoning: return read_reasoning();
      case State::start: return start();
      case State::text: return read_text();
      case State::head: return read_call_head();
      case State::object: return read_object();
      case State::list: return read_list();
      case State::json: return read_json() && go(State::close);
      case State::parameters: return read_parameter();
      case State::text_value: return read_text_value();
      case State::json_value: return read_json_value();
      case State::close: return read_close();
      case State::section: return read_section();
      case State::next_bare: return read_next_bare();
    }
    return false;
  }

  void last() override {
    switch (state_) {
      case State::object:
        if (begun_) events_.end_call(object_.arguments_complete());
        else events_.text(raw_);
        break;
      case State::json:
      case State::parameters:
      case State::json_value: events_.end_call(false); break;
      case State::text_value:
        events_.arguments(escaped_json(buffer_));
        buffer_.clear();
        events_.end_call(false);
        break;
      case State::reasoning:
        events_.reasoning(buffer_);
        buffer_.clear();
        break;
      default: break;
    }
    events_.text(buffer_);
  }

  // Reasoning

  bool before_reasoning() {
    Cursor c{buffer_, ended_};
    const Match m = c.spaced(reasoning_.open);
    if (m == Match::more) return false;
    if (m == Match::no) return go(State::start);
    take(c.at);
    return go(State::reasoning);
  }

  bool read_reasoning() {
    const FoundMark found = find_mark(buffer_, reasoning_marks_, ended_);
    events_.reasoning(take(found.at));
    if (found.size == 0) return false;
    if (take(found.size) != reasoning_.close) return true;
    events_.end_reasoning();
    return go(State::start);
  }

  // Text

  // Only where calls may stand without a mark, at the beginning.
  bool start() {
    if (!format_.bare || options_.tools.empty()) return go(State::text);
    Cursor c{buffer_, ended_};
    if (c.space() == Match::more) return false;
    if (c.at < buffer_.size() && (buffer_[c.at] == '{' || buffer_[c.at] == '[')) {
      events_.text(take(c.at));
      trigger_size_ = 1;
      return go(State::head);
    }
    return go(State::text);
  }

  bool read_text() {
    const FoundMark found = find_mark(buffer_, text_marks_, ended_);
    events_.text(take(found.at));
    if (found.size == 0) return false;
    const std::string mark = buffer_.substr(0, found.size);
    if (std::ranges::find(triggers_, mark) == triggers_.end()) return take(found.size), true;
    trigger_size_ = found.size;
    return go(State::head);
  }

  // What was read of a call is text after all; the search goes on behind its mark.
  bool release() {
    buffer_ = std::exchange(raw_, {}) + buffer_;
    events_.text(take(trigger_size_));
    in_section_ = in_list_ = false;
    return go(State::text);
  }

  // Calls

  bool read_call_head() {
    const CallHead head = read_head(format_, buffer_, ended_, [&](std::string_view name) { return is_tool(name); });
    if (head.match == Match::more) return false;
    if (head.match == Match::no) return release();
    in_section_ = in_section_ || head.section;
    in_list_ = head.list;
    if (format_.kind == Kind::objects) {
      raw_ = take(head.size);
      return begin_object(format_.bare && trigger_size_ == 1);
    }
    take(head.size);
    call_ = tool(head.name);
    events_.call(head.name, head.id.empty() ? new_call_id(format_, head.name, events_.calls()) : head.id);
    scanner_ = {};
    parameters_ = 0;
    return go(format_.kind == Kind::named ? State::json : State::parameters);
  }

  bool begin_object(bool strict) {
    object_ = CallObject(format_.name_key, format_.arguments_key, strict);
    begun_ = false;
    return go(State::object);
  }

  bool read_object() {
    for (size_t i = 0; i < buffer_.size(); ++i) {
      const CallObject::Step s = object_.push(buffer_[i]);
      if (s == CallObject::Step::bad || (object_.name() && !is_tool(*object_.name()))) {
        raw_ += take(i);
        if (!begun_) return release();
        raw_.clear();
        events_.end_call(object_.arguments_complete());
        in_section_ = in_list_ = false;
        return go(State::text);
      }
      if (!begun_ && object_.name() && object_.has_arguments()) {
        begun_ = true;
        events_.call(*object_.name(), new_call_id(format_, *object_.name(), events_.calls()));
      }
      if (begun_) events_.arguments(object_.take_arguments());
      if (s == CallObject::Step::ended) {
        take(i + 1);
        raw_.clear();
        events_.end_call(true);
        return go(in_list_ ? State::list : State::close);
      }
    }
    raw_ += take(buffer_.size());
    if (begun_) raw_.clear();
    return false;
  }

  bool read_list() {
    Cursor c{buffer_, ended_};
    Match m = c.spaced("]");
    if (m == Match::yes) {
      take(c.at);
      in_list_ = false;
      return go(State::close);
    }
    if (m == Match::no && (m = c.spaced(",")) == Match::yes && (m = c.space()) == Match::yes)
      m = c.at < buffer_.size() && buffer_[c.at] == '{' ? Match::yes : Match::no;
    if (m == Match::more) return false;
    if (m == Match::no) return in_list_ = false, go(State::close);
    raw_ = take(c.at);
    trigger_size_ = raw_.size();
    return begin_object(false);
  }

  bool read_close() {
    Cursor c{buffer_, ended_};
    for (const std::string_view mark : {format_.after_arguments, format_.close, format_.also_close}) {
      if (c.spaced(mark) == Match::more) return false;
      if (mark == format_.close && !mark.empty() && c.at > 0) break;
    }
    take(c.at);
    if (in_section_) return go(State::section);
    return go(format_.bare ? State::next_bare : State::text);
  }

  bool read_section() {
    Cursor c{buffer_, ended_};
    Match m = c.spaced(format_.section_close);
    if (m == Match::more) return false;
    if (m == Match::yes) {
      take(c.at);
      in_section_ = false;
      return go(State::text);
    }
    if ((m = c.space()) == Match::more) return false;
    const size_t spaces = c.at;
    if ((m = c.literal(format_.open)) == Match::more) return false;
    if (m == Match::no) return in_section_ = false, go(State::text);
    take(spaces);
    trigger_size_ = format_.open.size();
    return go(State::head);
  }

  // Calls without marks are separated by a semicolon or a comma.
  bool read_next_bare() {
    Cursor c{buffer_, ended_};
    Match m = c.spaced(";");
    if (m == Match::no) m = c.spaced(",");
    if (m == Match::more) return false;
    if (c.space() == Match::more) return false;
    if (c.at == buffer_.size() || buffer_[c.at] != '{') return go(State::text);
    raw_ = take(c.at);
    trigger_size_ = raw_.size() + 1;
    return begin_object(true);
  }

  // Parameters in tags

  bool break_off() {
    events_.end_call(false);
    in_section_ = false;
    return go(State::text);
  }

  bool read_parameter() {
    Cursor c{buffer_, ended_};
    Match m = c.spaced(format_.close);
    if (m == Match::more) return false;
    if (m == Match::no && in_section_) {  // some models leave the inner mark out
      if ((m = Cursor{buffer_, ended_}.spaced(format_.section_close)) == Match::more) return false;
    }
    if (m == Match::yes) {
      take(c.at);
      events_.arguments(parameters_ == 0 ? "{}" : "}");
      events_.end_call(true);
      return go(in_section_ ? State::section : State::text);
    }
    if ((m = c.spaced(format_.key_open)) == Match::more) return false;
    if (m == Match::no) return ended_ && trimmed(buffer_).empty() ? false : break_off();
    const size_t end = buffer_.find(format_.key_close, c.at);
    constexpr size_t longest_key = 1000;
    if (end == std::string::npos || end - c.at > longest_key)
      return buffer_.size() - c.at > longest_key + format_.key_close.size() && break_off();
    const std::string key(trimmed(std::string_view(buffer_).substr(c.at, end - c.at)));
    c.at = end + format_.key_close.size();
    if ((m = c.spaced(format_.value_open)) == Match::more) return false;
    if (m == Match::no) return break_off();
    if (format_.value_lines) {
      if ((m = c.literal("\n")) == Match::more) return false;
    }
    take(c.at);
    events_.arguments((parameters_++ == 0 ? "{\"" : ", \"") + escaped_json(key) + "\": ");
    if (parameter_type(*call_, key) == ParameterType::other) return searched_ = 0, go(State::json_value);
    events_.arguments("\"");
    return go(State::text_value);
  }

  bool read_text_value() {
    const std::string mark(format_.value_close);
    const FoundMark found = find_mark(buffer_, std::span(&mark, 1), ended_);
    size_t value = found.at;
    if (format_.value_lines && value > 0 && buffer_[value - 1] == '\n') --value;  // in front of the mark, or perhaps so
    events_.arguments(escaped_json(take(value)));
    if (found.size == 0) return false;
    take(found.at - value + found.size);
    events_.arguments("\"");
    return go(State::parameters);
  }

  // The value may hold the closing mark inside a string.
  bool read_json_value() {
    size_t end;
    for (;; ++searched_) {
      end = buffer_.find(format_.value_close, searched_);
      if (end == std::string::npos) {
        searched_ = buffer_.size() - std::min(buffer_.size(), format_.value_close.size() - 1);
        return false;
      }
      searched_ = end;
      if (!ends_in_json_string(std::string_view(buffer_).substr(0, end))) break;
    }
    std::string value = take(end);
    take(format_.value_close.size());
    if (format_.value_lines && value.ends_with('\n')) value.pop_back();
    events_.arguments(json_of_text(value));
    return go(State::parameters);
  }

  State state_ = State::start;
  std::vector<std::string> triggers_, text_marks_, reasoning_marks_;
  size_t trigger_size_ = 0;  // how much of a call that turns out to be none is certainly text
  std::string raw_;          // consumed, and text if the call turns out to be none
  bool in_section_ = false, in_list_ = false;
  CallObject object_;
  bool begun_ = false;
  const Tool* call_ = nullptr;
  int parameters_ = 0;
  size_t searched_ = 0;
};

}  // namespace

std::unique_ptr<AnswerReader::Impl> marked_reader(const ToolFormat& format, const Reasoning& reasoning, ReaderOptions options) {
  return std::make_unique<MarkedReader>(format, reasoning, std::move(options));
}

}  // namespace hearth::server::tools
