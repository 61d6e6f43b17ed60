// Answers that consist of messages with a header each:
//
//   <|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>
//
// The recipient may also stand in front of the channel: <|start|>assistant to=functions.NAME<|channel|>commentary json<|message|>{…}. The
// prompt ends with <|start|>assistant, so an answer begins inside a header. analysis is reasoning; final, and commentary to nobody, is
// text.
#include "server/tools/answer_reader_impl.h"

namespace hearth::server::tools {
namespace {

constexpr std::string_view start_mark = "<|start|>", channel_mark = "<|channel|>", message_mark = "<|message|>";
constexpr size_t longest_header = 1000;

struct Header {
  std::string channel, recipient;
};

Header header_of(std::string_view text) {
  const auto word_behind = [&](std::string_view mark) {
    const size_t at = text.find(mark);
    if (at == std::string_view::npos) return std::string();
    const std::string_view rest = trimmed(text.substr(at + mark.size()));
    return std::string(rest.substr(0, rest.find_first_of(" \n\r\t<")));
  };
  return {.channel = word_behind(channel_mark), .recipient = word_behind("to=")};
}

class ChannelReader final : public AnswerReader::Impl {
 public:
  ChannelReader(const ToolFormat& format, const Reasoning& reasoning, ReaderOptions options)
      : Impl(format, reasoning, std::move(options)), header_marks_{std::string(message_mark)} {
    // What ends a message, whoever writes it.
    end_marks_ = {"<|end|>", "<|call|>", "<|return|>", std::string(start_mark), std::string(channel_mark)};
    for (const std::string& mark : options_.hidden)
      if (std::ranges::find(end_marks_, mark) == end_marks_.end()) hidden_.push_back(mark);
    body_marks_ = end_marks_;
    body_marks_.insert(body_marks_.end(), hidden_.begin(), hidden_.end());
  }

 private:
  enum class State { first, header, call, json, text, reasoning, raw, between };

  bool go(State to) { return state_ = to, true; }

  bool step() override {
    switch (state_) {
      case State::first: return first();
      case State::header: return read_header();
      case State::call: return begin_call();
      case State::json: return read_json() && go(State::raw);
      case State::text:
      case State::reasoning:
      case State::raw: return read_body();
      case State::between: return between();
    }
    return false;
  }

  void last() override {
    if (state_ == State::json) events_.end_call(false);
    if (state_ == State::call) events_.text(header_);
    if (state_ == State::reasoning) events_.reasoning(buffer_);
    else events_.text(buffer_);
  }

  // An answer without headers is text.
  bool first() {
    Cursor c{buffer_, ended_};
    bool undecided = c.space() == Match::more;
    for (const std::string_view mark : {channel_mark, start_mark, std::string_view("to=")}) {
      const Match m = c.literal(mark);
      if (m == Match::yes) return go(State::header);
      undecided = undecided || m == Match::more;
    }
    return !undecided && go(State::text);
  }

  bool read_header() {
    const FoundMark found = find_mark(buffer_, header_marks_, ended_);
    if (found.size == 0) return buffer_.size() > longest_header && go(State::raw);
    header_ = take(found.at + found.size);
    const Header header = header_of(header_);
    constexpr std::string_view functions = "functions.";
    if (!header.recipient.empty()) {
      const std::string_view to = header.recipient;
      call_ = to.starts_with(functions) ? tool(to.substr(functions.size())) : nullptr;
      if (call_) return go(State::call);
      events_.new_message();
      events_.text(header_);  // to nobody that the request knows
      return go(State::raw);
    }
    const bool thought = header.channel == "analysis" && options_.separate_reasoning;
    events_.new_message();
    return go(thought ? State::reasoning : State::text);
  }

  bool begin_call() {
    Cursor c{buffer_, ended_};
    if (c.space() == Match::more) return false;
    if (c.at == buffer_.size()) return false;
    if (buffer_[c.at] != '{') {
      events_.new_message();
      events_.text(header_);
      return go(State::raw);
    }
    take(c.at);
    events_.call(call_->name, new_call_id(format_, call_->name, events_.calls()));
    scanner_ = {};
    return go(State::json);
  }

  bool read_body() {
    const FoundMark found = find_mark(buffer_, body_marks_, ended_);
    const std::string piece = take(found.at);
    if (state_ == State::reasoning) events_.reasoning(piece);
    else events_.text(piece);
    if (found.size == 0) return false;
    const std::string_view mark = std::string_view(buffer_).substr(0, found.size);
    if (std::ranges::find(hidden_, mark) != hidden_.end()) return take(found.size), true;
    if (state_ == State::reasoning) events_.end_reasoning();
    if (mark == start_mark || mark == channel_mark) return go(State::header);
    take(found.size);
    return go(State::between);
  }

  bool between() {
    Cursor c{buffer_, ended_};
    bool undecided = c.space() == Match::more;
    for (const std::string_view mark : {start_mark, channel_mark}) {
      const Match m = c.literal(mark);
      if (m == Match::yes) return go(State::header);
      undecided = undecided || m == Match::more;
    }
    return !undecided && go(State::raw);
  }

  State state_ = State::first;
  std::vector<std::string> header_marks_, end_marks_, hidden_, body_marks_;
  std::string header_;
  const Tool* call_ = nullptr;
};

}  // namespace

std::unique_ptr<AnswerReader::Impl> channel_reader(const ToolFormat& format, const Reasoning& reasoning, ReaderOptions options) {
  return std::make_unique<ChannelReader>(format, reasoning, std::move(options));
}

}  // namespace hearth::server::tools
