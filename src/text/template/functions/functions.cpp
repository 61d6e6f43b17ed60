#include "text/template/functions/functions.h"

#include <chrono>

#include "text/template/functions/arguments.h"
#include "text/template/values/operations.h"
#include "text/template/values/printing.h"

namespace hearth::text::jinja {

namespace {

Value make_range(Arguments& arguments) {
  const auto& given = arguments.positional;
  if (!arguments.named.empty()) refuse(Failure::type, "range() takes no keyword arguments");
  if (given.empty() || given.size() > 3) refuse(Failure::type, "range expected 1 to 3 arguments, got {}", given.size());
  const int64_t start = given.size() == 1 ? 0 : as_index(given[0]), stop = as_index(given[given.size() == 1 ? 0 : 1]);
  const int64_t step = given.size() == 3 ? as_index(given[2]) : 1;
  if (step == 0) refuse(Failure::value, "range() arg 3 must not be zero");
  // Far apart, so that no difference below overflows.
  constexpr int64_t far = int64_t(1) << 61;
  for (const int64_t n : {start, stop, step})
    if (n > far || n < -far) refuse(Failure::overflow, "range() of {}", n);
  const auto range = std::make_shared<RangeObject>(start, stop, step);
  if (range->size() > Limits::range)
    refuse(Failure::overflow, "Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).", int(Limits::range));
  return {Kind::range, range};
}

// dict(mapping or pairs, name=value …)
Dict make_dict(const char* function, Arguments& arguments) {
  Dict dict;
  if (arguments.positional.size() > 1)
    refuse(Failure::type, "{} expected at most 1 argument, got {}", function, arguments.positional.size());
  if (!arguments.positional.empty()) {
    const Value& from = arguments.positional[0];
    if (from.is_dict()) {
      dict = from.entries();
    } else {
      int64_t i = 0;
      const Next next = iterate(from);
      for (Value pair; next(pair); ++i) {
        if (!is_iterable(pair)) refuse(Failure::type, "cannot convert dictionary update sequence element #{} to a sequence", i);
        const List parts = to_list(pair);
        if (parts.size() != 2)
          refuse(Failure::value, "dictionary update sequence element #{} has length {}; 2 is required", i, parts.size());
        dict.set(parts[0], parts[1]);
      }
    }
  }
  for (auto& [name, value] : arguments.named) dict.set(Value(name), value);
  return dict;
}

LocalTime machine_time() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  LocalTime local;
  localtime_r(&seconds, &local.time);
  local.microseconds = int(std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() % 1'000'000);
  return local;
}

// Python's strftime of a time without zone: %f are the microseconds, %z and %Z are empty.
std::string format_time(const std::string& format, LocalTime local) {
  std::string c_format;
  for (size_t i = 0; i < format.size(); ++i) {
    const char next = format[i] == '%' && i + 1 < format.size() ? format[i + 1] : ' ';
    if (next == 'f') c_format += fmt::format("{:06d}", local.microseconds);
    else if (format[i] == '%' && i + 1 < format.size() && next != 'z' && next != 'Z') (c_format += '%') += next;
    else if (format[i] == '%' && i + 1 == format.size()) c_format += "%%";
    else if (format[i] != '%') c_format += format[i];
    i += format[i] == '%' ? 1 : 0;
  }
  std::tm time = local.time;
  const std::tm given = time;
  timegm(&time);  // works out the days of week and year
  time.tm_hour = given.tm_hour;
  time.tm_isdst = -1;
  c_format += ' ';  // so that an empty result is distinguishable from one that did not fit
  std::string out(64 * c_format.size() + 1024, '\0');
  const size_t size = std::strftime(out.data(), out.size(), c_format.c_str(), &time);
  if (size == 0) refuse(Failure::value, "strftime_now: the format {} gives a text that is too long", repr_text(format));
  return out.substr(0, size - 1);
}

}  // namespace

Dict global_functions(std::function<LocalTime()> now, std::function<void(std::shared_ptr<SpaceObject>)> keep) {
  Dict globals;
  const auto add = [&](const char* name, FunctionObject::Body body) { globals.set(name, make_function(name, std::move(body))); };
  add("range", make_range);
  add("dict", [](Arguments& a) { return Value::dict(make_dict("dict", a)); });
  add("namespace", [keep = std::move(keep)](Arguments& a) {
    auto space = std::make_shared<SpaceObject>(make_dict("namespace", a));
    keep(space);
    return Value(Kind::space, std::move(space));
  });
  add("raise_exception", [](Arguments& a) -> Value {
    const Bound bound("raise_exception", a, {"message"}, 1);
    throw TemplateError(Failure::raised, str(bound[0]));
  });
  add("strftime_now", [now = now ? std::move(now) : machine_time](Arguments& a) {
    const Bound bound("strftime_now", a, {"format"}, 1);
    const std::string format = bound.text(0, "");
    if (format.find('\0') != std::string::npos) refuse(Failure::value, "embedded null character");
    return Value(format_time(format, now()));
  });
  for (const char* name : {"cycler", "joiner", "lipsum"})  // known to Jinja2, used by no chat template
    add(name, [name](Arguments&) -> Value { throw Unsupported{fmt::format("{}()", name)}; });
  return globals;
}

}  // namespace hearth::text::jinja
