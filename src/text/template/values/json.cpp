#include "text/template/values/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text/utf8.h"
#include "text/template/values/operations.h"
#include "text/template/values/printing.h"

namespace hearth::text::jinja {

namespace {

constexpr size_t max_levels = 100;

// Builds values while nlohmann's parser reads.
class Reader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Reader(const std::string& where) : where_(where) {}

  bool null() override { return add(Value::none()); }
  bool boolean(bool v) override { return add(v); }
  bool number_integer(int64_t v) override { return add(v); }
  bool number_unsigned(uint64_t v) override { return add(Value::whole(fmt::format("{}", v))); }
  bool number_float(double v, const std::string& digits) override {
    if (digits.find_first_of(".eE") != std::string::npos) return add(v);
    return add(Value::whole(digits));
  }
  bool string(std::string& v) override { return add(Value(std::move(v))); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(size_t) override { return open(true); }
  bool start_array(size_t) override { return open(false); }
  bool key(std::string& name) override {
    levels_.back().key = std::move(name);
    return true;
  }
  bool end_object() override {
    Value v = Value::dict(std::move(levels_.back().dict));
    levels_.pop_back();
    return add(std::move(v));
  }
  bool end_array() override {
    Value v = Value::list(std::move(levels_.back().list));
    levels_.pop_back();
    return add(std::move(v));
  }
  bool parse_error(size_t position, const std::string& last, const nlohmann::json::exception& e) override {
    if (e.id == 406) fail<IoError>("{}: {} is no number that fits", where_, last.size() > 40 ? last.substr(0, 40) + "…" : last);
    fail<IoError>("{}: no JSON at byte {}, near '{}'", where_, position, last.substr(last.size() > 40 ? last.size() - 40 : 0));
  }

  Value result;

 private:
  struct Level {
    bool is_object;
    std::string key;
    Dict dict;
    List list;
  };

  bool open(bool is_object) {
    if (levels_.size() >= max_levels) fail<IoError>("{}: more than {} levels", where_, max_levels);
    levels_.push_back({is_object, {}, {}, {}});
    return true;
  }

  bool add(Value v) {
    if (levels_.empty()) result = std::move(v);
    else if (levels_.back().is_object) levels_.back().dict.set(Value(levels_.back().key), std::move(v));
    else levels_.back().list.push_back(std::move(v));
    return true;
  }

  const std::string& where_;
  std::vector<Level> levels_;
};

class Writer {
 public:
  explicit Writer(const JsonStyle& style)
      : style_(style), item_(style.item_separator.value_or(style.indent ? "," : ", ")), key_(style.key_separator.value_or(": ")) {}

  void value(const Value& v) {
    count_steps();
    const Deeper deeper;
    switch (v.kind()) {
      case Kind::none: return add("null");
      case Kind::boolean: return add(v.boolean() ? "true" : "false");
      case Kind::integer: return add(fmt::format("{}", v.integer()));
      case Kind::wide: return add(v.text());
      case Kind::real: return add(real(v.real()));
      case Kind::text: return quoted(v.text());
      case Kind::list:
      case Kind::tuple: return list(v.items());
      case Kind::dict: return dict(v.entries());
      default: refuse(Failure::type, "Object of type {} is not JSON serializable", v.type_name());
    }
  }

  std::string text;

 private:
  void add(std::string_view s) {
    text += s;
    count_steps(s.size() / 256);
    expect_bytes(text.size());
  }

  static std::string real(double v) {
    if (std::isnan(v)) return "NaN";
    if (std::isinf(v)) return v < 0 ? "-Infinity" : "Infinity";
    return repr_real(v);
  }

  void quoted(const std::string& s) {
    std::string out = "\"";
    const auto unit = [&](uint32_t u) { out += fmt::format("\\u{:04x}", u); };
    const auto plain = [&](char c) {
      switch (c) {
        case '"': out += "\\\""; break;
        case '\\': out += "\\\\"; break;
        case '\n': out += "\\n"; break;
        case '\r': out += "\\r"; break;
        case '\t': out += "\\t"; break;
        case '\b': out += "\\b"; break;
        case '\f': out += "\\f"; break;
        default:
          if (static_cast<unsigned char>(c) < 0x20) unit(uint32_t(c));
          else out += c;
      }
    };
    if (!style_.escape_unicode) {
      for (const char c : s) plain(c);
    } else {
      for (const char32_t c : decode_utf8(s)) {
        if (c < 0x7f) plain(char(c));
        else if (c < 0x10000) unit(c);
        else unit(0xd800 + ((c - 0x10000) >> 10)), unit(0xdc00 + ((c - 0x10000) & 0x3ff));
      }
    }
    add(out += '"');
  }

  void new_line() {
    if (!style_.indent) return;
    add("\n");
    for (int i = 0; i < level_; ++i) add(*style_.indent);
  }

  template <class Items, class Write> void sequence(const char* open, const Items& items, const char* close, Write write) {
    add(open);
    ++level_;
    bool first = true;
    for (const auto& item : items) {
      if (!first) add(item_);
      first = false;
      new_line();
      write(item);
    }
    --level_;
    if (!first) new_line();
    add(close);
  }

  void list(const List& items) {
    sequence("[", items, "]", [&](const Value& v) { value(v); });
  }

  static std::string key_text(const Value& key) {
    switch (key.kind()) {
      case Kind::text:
      case Kind::wide: return key.text();
      case Kind::none: return "null";
      case Kind::boolean: return key.boolean() ? "true" : "false";
      case Kind::integer: return fmt::format("{}", key.integer());
      case Kind::real: return real(key.real());
      default: refuse(Failure::type, "keys must be str, int, float, bool or None, not {}", key.type_name());
    }
  }

  void dict(const Dict& dict) {
    std::vector<Dict::Entry> entries = dict.entries();
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(),
                       [](const auto& a, const auto& b) { return compare(Comparison::less, a.first, b.first); });
    }
    sequence("{", entries, "}", [&](const Dict::Entry& entry) {
      quoted(key_text(entry.first));
      add(key_);
      value(entry.second);
    });
  }

  const JsonStyle& style_;
  std::string item_, key_;
  int level_ = 0;
};

}  // namespace

Value read_json(std::string_view text, const std::string& where) {
  Reader reader(where);
  if (!nlohmann::json::sax_parse(text, &reader)) fail<IoError>("{}: no JSON", where);
  return std::move(reader.result);
}

std::string write_json(const Value& value, const JsonStyle& style) {
  Writer writer(style);
  writer.value(value);
  return std::move(writer.text);
}

}  // namespace hearth::text::jinja
