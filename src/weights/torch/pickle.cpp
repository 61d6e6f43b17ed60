#include "weights/torch/pickle.h"

#include <charconv>
#include <cstring>

#include "core/error.h"
#include "core/text/utf8.h"

namespace hearth {
namespace {

using Kind = PickleValue::Kind;

}  // namespace

// Python's pickle machine (described in Lib/pickletools.py): a stack with marks, and a memo.
class PickleMachine {
 public:
  PickleMachine(Pickle& pickle, std::string_view bytes, const std::string& where) : pickle_(pickle), bytes_(bytes), where_(where) {}

  void run() {
    for (size_t n = 0;; ++n) {
      if (n == Pickle::max_instructions) refuse("has more than {} instructions", n);
      at_ = position_;
      const auto op = number<uint8_t>();
      if (op == '.') break;
      step(op);
    }
    pickle_.value_ = pop();
    pickle_.bytes_ = position_;
  }

 private:
  template <class... Args> [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail<IoError>("{}: the pickle's instruction at byte {} {}", where_, at_, fmt::format(format, std::forward<Args>(args)...));
  }

  std::string_view take(uint64_t count) {
    if (count > bytes_.size() - position_)
      refuse("needs {} bytes, {} are left: the file is cut off or not a pickle", count, bytes_.size() - position_);
    const std::string_view taken = bytes_.substr(position_, size_t(count));
    position_ += size_t(count);
    return taken;
  }
  template <class T> T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view line() {
    const size_t end = bytes_.find('\n', position_);
    if (end == bytes_.npos) refuse("has no line end: the file is cut off or not a pickle");
    const std::string_view line = bytes_.substr(position_, end - position_);
    position_ = end + 1;
    return line;
  }
  int64_t decimal(std::string_view text) const {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) refuse("has '{}', expected a number", text.substr(0, 20));
    return value;
  }

  PickleValue* make(Kind kind) {
    if (pickle_.values_.size() == Pickle::max_values) refuse("creates more than {} values", Pickle::max_values);
    PickleValue& value = pickle_.values_.emplace_back();
    value.kind = kind;
    return &value;
  }
  PickleValue* make(Kind kind, std::vector<const PickleValue*> items) {
    PickleValue* value = make(kind);
    value->items = std::move(items);
    return value;
  }
  PickleValue* make_text(std::string_view text) {
    PickleValue* value = make(is_utf8(text) ? Kind::text : Kind::bytes);
    value->text = text;
    return value;
  }
  PickleValue* make_global(const PickleValue* module, const PickleValue* name) {
    PickleValue* value = make(Kind::global, {module, name});
    pickle_.globals_.push_back(value);
    return value;
  }
  PickleValue* make_global() {
    const PickleValue* module = make_text(line());
    return make_global(module, make_text(line()));
  }
  PickleValue* make_persistent(const PickleValue* id) {
    PickleValue* value = make(Kind::persistent, {id});
    pickle_.persistents_.push_back(value);
    return value;
  }

  void push(PickleValue* value) { stack_.push_back(value); }
  void push_integer(int64_t integer, Kind kind = Kind::integer) { make_and_push(kind)->integer = integer; }
  void push_bytes(uint64_t count) { make_and_push(Kind::bytes)->text = take(count); }
  PickleValue* make_and_push(Kind kind) {
    push(make(kind));
    return stack_.back();
  }

  PickleValue* top() const {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) refuse("needs a value, but the stack is empty");
    return stack_.back();
  }
  PickleValue* pop() {
    PickleValue* value = top();
    stack_.pop_back();
    return value;
  }
  // Removes the values above the last mark, and the mark.
  std::vector<const PickleValue*> pop_mark() {
    if (marks_.empty()) refuse("needs a mark, but the stack has none");
    const auto first = stack_.begin() + ptrdiff_t(marks_.back());
    std::vector<const PickleValue*> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return items;
  }
  void push_tuple(size_t count) {
    std::vector<const PickleValue*> items(count);
    for (size_t i = count; i > 0; --i) items[i - 1] = pop();
    push(make(Kind::tuple, std::move(items)));
  }

  void remember(uint64_t index) {
    if (index >= Pickle::max_instructions) refuse("uses the memo index {}, at most {} are allowed", index, Pickle::max_instructions);
    if (index >= memo_.size()) memo_.resize(size_t(index) + 1);
    memo_size_ += memo_[size_t(index)] == nullptr;
    memo_[size_t(index)] = top();
  }
  void recall(uint64_t index) {
    if (index >= memo_.size() || !memo_[size_t(index)]) refuse("reads the memo entry {}, which does not exist", index);
    push(memo_[size_t(index)]);
  }

  void append(const std::vector<const PickleValue*>& items) {
    PickleValue* list = top();
    if (list->kind != Kind::list && list->kind != Kind::set && list->kind != Kind::call) refuse("appends to {}", list->describe());
    for (const PickleValue* item : items) {
      if (list->kind == Kind::call) list->items.push_back(nullptr);
      list->items.push_back(item);
    }
  }
  void set(const std::vector<const PickleValue*>& items) {
    PickleValue* dict = top();
    if (dict->kind != Kind::dict && dict->kind != Kind::call) refuse("sets an item of {}", dict->describe());
    if (items.size() % 2 != 0) refuse("has a key without a value");
    dict->items.insert(dict->items.end(), items.begin(), items.end());
  }
  void call(const PickleValue* callable, const PickleValue* arguments) { push(make(Kind::call, {callable, arguments})); }

  void step(uint8_t op);
  void step_of_protocol_0(uint8_t op);
  std::string_view unescaped(std::string_view text, bool unicode);

  Pickle& pickle_;
  std::string_view bytes_;
  const std::string& where_;
  size_t position_ = 0, at_ = 0;  // of the next byte; of the current instruction
  std::vector<PickleValue*> stack_, memo_;
  std::vector<size_t> marks_;
  size_t memo_size_ = 0;
};

void PickleMachine::step(uint8_t op) {
  switch (op) {
    case 0x80:  // PROTO
      if (const auto protocol = number<uint8_t>(); protocol > 5)
        fail<UnsupportedError>("{}: is a pickle of protocol {}, expected 0 to 5", where_, protocol);
      return;
    case 0x95: {  // FRAME: the number of bytes that follow
      const auto length = number<uint64_t>();
      if (length > bytes_.size() - position_)
        refuse("announces {} bytes, {} are left: the file is cut off", length, bytes_.size() - position_);
      return;
    }
    case 'N': return push(make(Kind::none));
    case 0x88: return push_integer(1, Kind::boolean);
    case 0x89: return push_integer(0, Kind::boolean);
    case 'J': return push_integer(number<int32_t>());
    case 'K': return push_integer(number<uint8_t>());
    case 'M': return push_integer(number<uint16_t>());
    case 0x8a:    // LONG1
    case 0x8b: {  // LONG4
      const std::string_view bytes = take(op == 0x8a ? number<uint8_t>() : number<uint32_t>());
      if (bytes.size() > 8) {
        make_and_push(Kind::big_integer)->text = bytes;
        return;
      }
      int64_t value = !bytes.empty() && bytes.back() < 0 ? -1 : 0;
      std::memcpy(&value, bytes.data(), bytes.size());
      return push_integer(value);
    }
    case 'G': {  // BINFLOAT, big endian
      const auto bits = __builtin_bswap64(number<uint64_t>());
      std::memcpy(&make_and_push(Kind::real)->real, &bits, sizeof bits);
      return;
    }
    case 'U': return push(make_text(take(number<uint8_t>())));
    case 'T': return push(make_text(take(number<uint32_t>())));
    case 0x8c: return push(make_text(take(number<uint8_t>())));
    case 'X': return push(make_text(take(number<uint32_t>())));
    case 0x8d: return push(make_text(take(number<uint64_t>())));
    case 'C': return push_bytes(number<uint8_t>());
    case 'B': return push_bytes(number<uint32_t>());
    case 0x8e:  // BINBYTES8
    case 0x96: return push_bytes(number<uint64_t>());
    case ')': return push(make(Kind::tuple));
    case 0x85:
    case 0x86:
    case 0x87: return push_tuple(op - 0x84u);
    case 't': return push(make(Kind::tuple, pop_mark()));
    case ']': return push(make(Kind::list));
    case 'l': return push(make(Kind::list, pop_mark()));
    case 'a': return append({pop()});
    case 'e': return append(pop_mark());
    case 0x8f: return push(make(Kind::set));
    case 0x90: return append(pop_mark());
    case 0x91: return push(make(Kind::set, pop_mark()));
    case '}': return push(make(Kind::dict));
    case 's': {
      const PickleValue *value = pop(), *key = pop();
      return set({key, value});
    }
    case 'u': return set(pop_mark());
    case 'd': {
      auto items = pop_mark();
      push(make(Kind::dict));
      return set(items);
    }
    case '(': return marks_.push_back(stack_.size());
    case '0':  // POP also removes a mark if there is no value above it
      if (!marks_.empty() && marks_.back() == stack_.size()) marks_.pop_back();
      else pop();
      return;
    case '1': pop_mark(); return;
    case '2': return push(top());
    case 'q': return remember(number<uint8_t>());
    case 'r': return remember(number<uint32_t>());
    case 0x94: return remember(memo_size_);
    case 'h': return recall(number<uint8_t>());
    case 'j': return recall(number<uint32_t>());
    case 'c': return push(make_global());
    case 0x93: {
      const PickleValue *name = pop(), *module = pop();
      const auto is_name = [](const PickleValue* v) { return v->kind == Kind::text || v->kind == Kind::bytes; };
      if (!is_name(name) || !is_name(module)) refuse("names a global by {} and {}", module->describe(), name->describe());
      return push(make_global(module, name));
    }
    case 'R':     // REDUCE
    case 0x81: {  // NEWOBJ
      const PickleValue *arguments = pop(), *callable = pop();
      if (arguments->kind != Kind::tuple) refuse("calls with {}, expected a tuple", arguments->describe());
      return call(callable, arguments);
    }
    case 0x92: {  // NEWOBJ_EX
      const PickleValue *named = pop(), *arguments = pop(), *callable = pop();
      return call(callable, make(Kind::tuple, {arguments, named}));
    }
    case 'o': {  // OBJ
      auto items = pop_mark();
      if (items.empty()) refuse("calls nothing");
      const PickleValue* callable = items.front();
      items.erase(items.begin());
      return call(callable, make(Kind::tuple, std::move(items)));
    }
    case 'i': {  // INST
      const PickleValue* callable = make_global();
      return call(callable, make(Kind::tuple, pop_mark()));
    }
    case 'b': {  // BUILD
      const PickleValue* state = pop();
      if (PickleValue* object = top(); object->kind == Kind::call) object->items.insert(object->items.end(), {nullptr, state});
      return;
    }
    case 'Q': return push(make_persistent(pop()));
    case 0x82:
    case 0x83:
    case 0x84: fail<UnsupportedError>("{}: the pickle uses an extension code, which only the program that wrote it knows", where_);
    case 0x97:
    case 0x98: fail<UnsupportedError>("{}: the pickle stores data outside the file, which is not supported", where_);
    default: return step_of_protocol_0(op);
  }
}

// The instructions that are lines of text.
void PickleMachine::step_of_protocol_0(uint8_t op) {
  switch (op) {
    case 'I': {
      const std::string_view text = line();
      return text == "00" || text == "01" ? push_integer(text == "01", Kind::boolean) : push_integer(decimal(text));
    }
    case 'L': {
      std::string_view text = line();
      if (text.ends_with('L')) text.remove_suffix(1);
      if (text.size() < 19) return push_integer(decimal(text));
      if (text.find_first_not_of("0123456789", text[0] == '-') != text.npos) refuse("has '{}', expected a number", text.substr(0, 20));
      make_and_push(Kind::big_integer)->text = text;
      return;
    }
    case 'F': {
      const std::string_view text = line();
      double value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size()) refuse("has '{}', expected a number", text.substr(0, 20));
      make_and_push(Kind::real)->real = value;
      return;
    }
    case 'S': {
      const std::string_view text = line();
      if (text.size() < 2 || text.front() != text.back() || (text.front() != '\'' && text.front() != '"'))
        refuse("has a text without quotes");
      return push(make_text(unescaped(text.substr(1, text.size() - 2), false)));
    }
    case 'V': return push(make_text(unescaped(line(), true)));
    case 'P': return push(make_persistent(make_text(line())));
    case 'p': return remember(uint64_t(decimal(line())));
    case 'g': return recall(uint64_t(decimal(line())));
    default: refuse("has the code 0x{:02x}, which does not exist: the file is damaged or not a pickle", op);
  }
}

// A text with Python's escapes: 'S' has those of a string literal, 'V' only \u and \U, with Latin-1 for everything else.
std::string_view PickleMachine::unescaped(std::string_view text, bool unicode) {
  std::string& plain = pickle_.texts_.emplace_back();
  for (size_t i = 0; i < text.size(); ++i) {
    const char code = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    const size_t digits = code == 'x' && !unicode ? 2 : code == 'u' && unicode ? 4 : code == 'U' && unicode ? 8 : 0;
    if (digits > 0) {
      uint32_t value = 0;
      const std::string_view hex = text.substr(i + 2, digits);
      const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
      if (hex.size() != digits || error != std::errc() || end != hex.data() + digits || value > 0x10ffff) refuse("has a broken escape");
      if (unicode) append_utf8(plain, value);
      else plain += char(value);
      i += 1 + digits;
    } else if (!unicode && code != '\0') {
      constexpr std::string_view codes = "nrtabfv", values = "\n\r\t\a\b\f\v";
      const size_t known = codes.find(code);
      plain += known == codes.npos ? code : values[known];
      ++i;
    } else if (unicode) {
      append_utf8(plain, uint8_t(text[i]));
    } else {
      plain += text[i];
    }
  }
  return plain;
}

Pickle Pickle::read(std::string_view bytes, const std::string& where) {
  Pickle pickle;
  PickleMachine(pickle, bytes, where).run();
  return pickle;
}

}  // namespace hearth
