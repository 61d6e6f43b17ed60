// text % arguments.
#include <cmath>

#include "core/text/utf8.h"
#include "text/template/values/format.h"
#include "text/template/values/operations.h"
#include "text/template/values/printing.h"
#include "text/template/values/python_text.h"

namespace hearth::text::jinja {

namespace {

constexpr int64_t max_width = int64_t(1) << 31;

struct Field {
  bool left = false, plus = false, space = false, alternate = false, zero = false;
  int64_t width = 0;
  std::optional<int64_t> precision;
};

// repr with everything above ASCII escaped.
std::string ascii(const std::string& text) {
  std::string out;
  for (const char32_t c : decode_utf8(text)) {
    if (c < 0x80) out += char(c);
    else if (c < 0x100) out += fmt::format("\\x{:02x}", uint32_t(c));
    else if (c < 0x10000) out += fmt::format("\\u{:04x}", uint32_t(c));
    else out += fmt::format("\\U{:08x}", uint32_t(c));
  }
  return out;
}

class Percent {
 public:
  Percent(const Value& format, const Value& arguments)
      : format_(format.text()), safe_(format.is_safe()), all_(arguments), tuple_(arguments.is(Kind::tuple)) {}

  std::string run() {
    while (at_ < format_.size()) {
      const size_t percent = std::min(format_.find('%', at_), format_.size());
      out_.append(format_, at_, percent - at_);
      at_ = percent;
      if (at_ < format_.size()) field();
      expect_bytes(out_.size());
    }
    const bool mapping = all_.is_dict() || all_.is(Kind::list) || all_.is_undefined() || all_.is(Kind::range);
    if (tuple_ ? used_ < all_.items().size() : used_ == 0 && !mapping)
      refuse(Failure::type, "not all arguments converted during string formatting");
    return std::move(out_);
  }

 private:
  char get() {
    if (at_ >= format_.size()) refuse(Failure::value, "incomplete format");
    return format_[at_++];
  }

  Value argument() {
    if (named_) return *std::exchange(named_, std::nullopt);
    if (tuple_ ? used_ >= all_.items().size() : used_ > 0) refuse(Failure::type, "not enough arguments for format string");
    ++used_;
    return tuple_ ? all_.items()[used_ - 1] : all_;
  }

  void name() {
    if (!all_.is_dict()) refuse(Failure::type, "format requires a mapping");
    const size_t start = at_;
    for (int open = 1; open > 0;) {
      if (at_ >= format_.size()) refuse(Failure::value, "incomplete format key");
      if (format_[at_] == '(') ++open;
      if (format_[at_] == ')') --open;
      ++at_;
    }
    const std::string key = format_.substr(start, at_ - 1 - start);
    const Value* value = all_.entries().named(key);
    if (!value) refuse(Failure::value, "{}", repr_text(key));
    named_ = *value;
  }

  int64_t count(const char* what) {
    if (at_ < format_.size() && format_[at_] == '*') {
      ++at_;
      const Value v = argument();
      if (!v.is_integer()) refuse(Failure::type, "* wants int");
      if (std::abs(v.integer()) > max_width) refuse(Failure::value, "{} too big", what);
      return v.integer();
    }
    int64_t n = 0;
    while (at_ < format_.size() && format_[at_] >= '0' && format_[at_] <= '9') {
      n = n * 10 + (format_[at_++] - '0');
      if (n > max_width) refuse(Failure::value, "{} too big", what);
    }
    return n;
  }

  void field() {
    ++at_;
    if (at_ < format_.size() && format_[at_] == '(') {
      ++at_;
      name();
    }
    Field f;
    for (bool flags = true; flags && at_ < format_.size();) {
      switch (format_[at_]) {
        case '-': f.left = true; break;
        case '+': f.plus = true; break;
        case ' ': f.space = true; break;
        case '#': f.alternate = true; break;
        case '0': f.zero = true; break;
        default: flags = false; continue;
      }
      ++at_;
    }
    f.width = count("width");
    if (f.width < 0) {
      f.left = true;
      f.width = -f.width;
    }
    if (at_ < format_.size() && format_[at_] == '.') {
      ++at_;
      f.precision = std::max<int64_t>(count("precision"), 0);
    }
    if (at_ < format_.size() && (format_[at_] == 'l' || format_[at_] == 'h' || format_[at_] == 'L')) ++at_;
    const char type = get();
    if (type == '%') {
      out_ += '%';
      return;
    }
    convert(type, f);
  }

  void convert(char type, const Field& f) {
    switch (type) {
      case 's':
      case 'r':
      case 'a': {
        const Value v = argument();
        std::string s = type == 's' ? str(v) : type == 'r' ? repr(v) : ascii(repr(v));
        if (safe_ && !(type == 's' && v.is_safe())) s = escape_html(s);
        if (f.precision) s = s.substr(0, byte_of(s, size_t(*f.precision)));
        return pad(s, f);
      }
      case 'c': return pad(character(argument()), f);
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o': return integer(argument(), type, f);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G': return real(argument(), type, f);
      default:
        refuse(Failure::value, "unsupported format character '{}' (0x{:x}) at index {}", type, static_cast<unsigned char>(type), at_ - 1);
    }
  }

  static std::string character(const Value& v) {
    if (v.is_text() && v.characters() == 1) return v.text();
    if (!v.is_integer()) refuse(Failure::type, "%c requires int or char");
    if (v.integer() < 0 || v.integer() > 0x10ffff) refuse(Failure::overflow, "%c arg not in range(0x110000)");
    std::string s;
    append_utf8(s, char32_t(v.integer()));
    return s;
  }

  void integer(const Value& v, char type, const Field& f) {
    const bool decimal = type == 'd' || type == 'i' || type == 'u';
    int64_t n = 0;
    if (v.is_undefined()) fail_undefined(v);
    if (v.is_integer()) n = v.integer();
    else if (decimal && v.is(Kind::real) && std::abs(v.real()) < 9.2e18) n = int64_t(v.real());
    else if (decimal && v.is(Kind::real)) refuse(Failure::overflow, "cannot convert {} to an integer of 64 bits", repr(v));
    else if (decimal) refuse(Failure::type, "%{} format: a real number is required, not {}", type, v.type_name());
    else refuse(Failure::type, "%{} format: an integer is required, not {}", type, v.type_name());
    const uint64_t size = n < 0 ? 0 - uint64_t(n) : uint64_t(n);
    std::string digits = decimal       ? fmt::format("{}", size)
                         : type == 'x' ? fmt::format("{:x}", size)
                         : type == 'X' ? fmt::format("{:X}", size)
                                       : fmt::format("{:o}", size);
    if (f.precision) digits = padded(digits, *f.precision, "0", Side::left);
    const std::string prefix = !f.alternate || decimal ? "" : fmt::format("0{}", type);
    number(n < 0, prefix, digits, f, f.zero && !f.left);
  }

  void real(const Value& v, char type, const Field& f) {
    if (v.is_undefined()) fail_undefined(v);
    if (!v.is_number()) refuse(Failure::type, "must be real number, not {}", v.type_name());
    const double x = v.as_real();
    expect_bytes(size_t(f.precision.value_or(6)));
    const std::string digits = format_real(std::abs(x), type, int(f.precision.value_or(6)), f.alternate);
    number(std::signbit(x), "", digits, f, f.zero && !f.left && std::isfinite(x));
  }

  void number(bool negative, const std::string& prefix, const std::string& digits, const Field& f, bool zeros) {
    const std::string head = (negative ? "-" : f.plus ? "+" : f.space ? " " : "") + prefix;
    pad(zeros ? head + padded(digits, f.width - int64_t(head.size()), "0", Side::left) : head + digits, f);
  }

  void pad(const std::string& s, const Field& f) { out_ += padded(s, f.width, " ", f.left ? Side::right : Side::left); }

  const std::string& format_;
  bool safe_;
  Value all_;
  bool tuple_;
  size_t at_ = 0, used_ = 0;
  std::optional<Value> named_;
  std::string out_;
};

}  // namespace

Value format_percent(const Value& text, const Value& arguments) { return Value(Percent(text, arguments).run(), text.is_safe()); }

}  // namespace hearth::text::jinja
