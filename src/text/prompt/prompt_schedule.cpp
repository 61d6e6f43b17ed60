#include "text/prompt/prompt_schedule.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "core/text/utf8.h"
#include "text/prompt/words.h"

namespace hearth::text {
namespace {

// A pair of brackets, or a span of text.
struct Node {
  enum class Kind { text, brackets, edit, alternatives } kind = Kind::text;
  std::string_view text;                    // of text
  char open = 0;                            // of brackets
  std::vector<std::vector<size_t>> fields;  // nodes, between delimiters
  int64_t when = 0;                         // of an edit
};

// An opening bracket that has not been closed yet.
struct Frame {
  char open = 0;
  std::vector<std::vector<size_t>> fields = {{}};
  std::string delimiters;  // ':' and '|', one between two fields each
  size_t last_field = 0;   // start of the last field in the source
};

// Parses brackets in one pass with an explicit stack, because the nesting depth is bounded only by the length of the text. If a bracket
// turns out to be text, so are all open brackets around it, because their contents must not contain a bracket that is text.
class Tree {
 public:
  Tree(std::string_view source, int64_t steps, int64_t before) : source_(source), steps_(steps), before_(before) {
    for (size_t at = 0; at < source.size() && whole_; at = next(at)) {}
    give_up_open();
  }

  bool whole() const { return whole_; }
  const std::vector<Node>& nodes() const { return nodes_; }

  std::string at(int64_t step) const {
    struct Place {
      const std::vector<size_t>* list;
      size_t i = 0;
      const Node* of = nullptr;
      size_t field = 0;
    };
    std::string out;
    std::vector<Place> stack = {{&top_}};
    while (!stack.empty()) {
      Place& place = stack.back();
      if (place.i < place.list->size()) {
        const Node& node = nodes_[(*place.list)[place.i++]];
        if (node.kind == Node::Kind::text) out += node.text;
        if (node.kind == Node::Kind::brackets) {
          out += node.open;
          stack.push_back({&node.fields[0], 0, &node});
        }
        if (node.kind == Node::Kind::edit) {
          const bool before = step <= node.when;
          if (!before) stack.push_back({&node.fields.back()});
          else if (node.fields.size() == 2) stack.push_back({&node.fields.front()});
        }
        if (node.kind == Node::Kind::alternatives) stack.push_back({&node.fields[size_t(step - 1) % node.fields.size()]});
        continue;
      }
      if (place.of && place.field + 1 < place.of->fields.size()) {
        out += ':';
        place = {&place.of->fields[place.field + 1], 0, place.of, place.field + 1};
        continue;
      }
      if (place.of) out += place.of->open == '(' ? ')' : ']';
      stack.pop_back();
    }
    return out;
  }

 private:
  std::vector<size_t>& current() { return open_.empty() ? top_ : open_.back().fields.back(); }

  void add(Node node) {
    nodes_.push_back(std::move(node));
    current().push_back(nodes_.size() - 1);
  }
  void add_text(std::string_view text) {
    if (!text.empty()) add({.text = text});
  }

  size_t next(size_t at) {
    const char c = source_[at];
    if (c == '(' || c == '[') {
      open_.push_back({.open = c, .last_field = at + 1});
    } else if (c == ')' || c == ']') {
      close(c, at);
    } else if (c == ':' || c == '|') {
      if (open_.empty() && c == '|') whole_ = false;
      else if (open_.empty()) add_text(source_.substr(at, 1));
      else delimit(c, at);
    } else {
      return text_from(at);
    }
    return at + 1;
  }

  void delimit(char c, size_t at) {
    Frame& frame = open_.back();
    frame.delimiters += c;
    frame.fields.emplace_back();
    frame.last_field = at + 1;
  }

  size_t text_from(size_t begin) {
    size_t at = begin;
    while (at < source_.size() && std::string_view("()[]:|").find(source_[at]) == std::string_view::npos) {
      if (source_[at] == '\\' && (++at == source_.size() || source_[at] == '\n')) {
        whole_ = false;
        return source_.size();
      }
      ++at;
    }
    add_text(source_.substr(begin, at - begin));
    return at;
  }

  void close(char c, size_t at) {
    std::optional<Node> node;
    if (!open_.empty()) node = c == ')' ? round(open_.back()) : square(open_.back(), at);
    if (!node) {
      give_up_open();
      add_text(source_.substr(at, 1));
      return;
    }
    open_.pop_back();
    add(std::move(*node));
  }

  static std::optional<Node> round(Frame& frame) {
    if (frame.open != '(' || (!frame.delimiters.empty() && frame.delimiters != ":")) return std::nullopt;
    return Node{.kind = Node::Kind::brackets, .open = '(', .fields = std::move(frame.fields)};
  }

  std::optional<Node> square(Frame& frame, size_t end) const {
    if (frame.open != '[') return std::nullopt;
    if (frame.delimiters.empty()) return Node{.kind = Node::Kind::brackets, .open = '[', .fields = std::move(frame.fields)};
    if (frame.delimiters.find(':') == std::string::npos) return Node{.kind = Node::Kind::alternatives, .fields = std::move(frame.fields)};
    if (frame.delimiters != ":" && frame.delimiters != "::") return std::nullopt;
    const auto step = when(source_.substr(frame.last_field, end - frame.last_field));
    if (!step) return std::nullopt;
    frame.fields.pop_back();
    return Node{.kind = Node::Kind::edit, .fields = std::move(frame.fields), .when = *step};
  }

  // The step that "0.4" or "10" means, with white space around it.
  std::optional<int64_t> when(std::string_view field) const {
    const std::string number = encode_utf8(strip_python(decode_utf8(field)));
    const size_t sign = !number.empty() && (number[0] == '+' || number[0] == '-') ? 1 : 0;
    if (number.find_first_not_of("0123456789.eE+-") != number.npos || number.find_first_not_of("0123456789.", sign) == sign ||
        sign == number.size())
      return std::nullopt;
    const auto value = python_float(decode_utf8(number));
    if (!value) return std::nullopt;
    const bool part = number.find('.') != number.npos;
    const double step = part ? (*value - (before_ > 0 ? 1 : 0)) * double(steps_) : *value - double(before_);
    return step >= double(steps_) ? steps_ : step < 1 ? 0 : int64_t(step);
  }

  // All open brackets become text.
  void give_up_open() {
    std::vector<Frame> frames = std::move(open_);
    open_.clear();
    for (Frame& frame : frames) {
      add({.text = frame.open == '(' ? "(" : "["});
      for (size_t f = 0; f < frame.fields.size(); ++f) {
        if (f > 0 && frame.delimiters[f - 1] == '|') whole_ = false;
        if (f > 0) add({.text = ":"});
        top_.insert(top_.end(), frame.fields[f].begin(), frame.fields[f].end());
      }
    }
  }

  std::string_view source_;
  int64_t steps_, before_;
  bool whole_ = true;
  std::vector<Node> nodes_;
  std::vector<size_t> top_;
  std::vector<Frame> open_;
};

}  // namespace

std::vector<ScheduledText> prompt_schedule(std::string_view prompt, int64_t steps, int64_t before) {
  const std::string source = valid_utf8(prompt);
  const Tree tree(source, steps, before);
  if (!tree.whole()) return {{steps, source}};
  std::set<int64_t> ends = {steps};
  for (const Node& node : tree.nodes()) {
    if (node.kind == Node::Kind::edit && node.when >= 1) ends.insert(node.when);
    if (node.kind == Node::Kind::alternatives)
      for (int64_t step = int64_t(ends.size()) == steps ? steps : 1; step <= steps; ++step) ends.insert(step);
  }
  std::vector<ScheduledText> schedule;
  for (const int64_t end : ends) schedule.push_back({end, tree.at(end)});
  return schedule;
}

}  // namespace hearth::text
