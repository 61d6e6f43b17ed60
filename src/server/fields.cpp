#include "server/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/text/utf8.h"

namespace hearth::server {
namespace {

constexpr int most_nesting = 200;

std::string type_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::object: return "an object";
    case Json::value_t::array: return "a list";
    case Json::value_t::string: return "a text";
    case Json::value_t::boolean: return value.get<bool>() ? "true" : "false";
    case Json::value_t::null: return "null";
    default: return value.dump();
  }
}

// Stops at the depth limit, before the parser's own recursion could matter to later code.
class DepthLimit : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return ++depth_ <= most_nesting; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return --depth_, true; }
  bool start_array(size_t) override { return ++depth_ <= most_nesting; }
  bool end_array() override { return --depth_, true; }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    const std::string message = e.what();  // "[json.exception.parse_error.101] parse error at line 1, column 3: …"
    const size_t begin = message.find("at line");
    problem = fmt::format("the body is not JSON: {}", begin == message.npos ? fmt::format("at byte {}", position) : message.substr(begin));
    return false;
  }
  std::string problem = fmt::format("the body is nested more than {} deep", most_nesting);

 private:
  int depth_ = 0;
};

}  // namespace

Json parse_body(std::string_view body) {
  DepthLimit check;
  if (!Json::sax_parse(body, &check)) throw ApiError(400, valid_utf8(check.problem), "", "invalid_json");
  Json parsed = Json::parse(body);
  if (!parsed.is_object()) throw ApiError(400, fmt::format("the body is {}, expected an object", type_of(parsed)), "", "invalid_json");
  return parsed;
}

Fields::Fields(const Json& object, std::string path) : object_(&object), path_(std::move(path)) {
  if (!object.is_object()) throw ApiError(400, fmt::format("{} is {}, expected an object", path_, type_of(object)), path_);
}

std::string Fields::path_of(std::string_view name) const { return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name); }
std::string Fields::path_of(size_t index) const { return fmt::format("{}[{}]", path_, index); }

void Fields::refuse(std::string_view name, const std::string& message, const std::string& code) const {
  throw ApiError(400, fmt::format("{}: {}", path_of(name), message), path_of(name), code);
}

const Json* Fields::value(std::string_view name) const {
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

bool Fields::has(std::string_view name) const { return value(name) != nullptr; }

std::optional<std::string> Fields::text(std::string_view name) const {
  const Json* v = value(name);
  if (!v) return {};
  if (!v->is_string()) refuse(name, fmt::format("{}, expected a text", type_of(*v)));
  return v->get<std::string>();
}

std::optional<bool> Fields::flag(std::string_view name) const {
  const Json* v = value(name);
  if (!v) return {};
  if (!v->is_boolean()) refuse(name, fmt::format("{}, expected true or false", type_of(*v)));
  return v->get<bool>();
}

std::optional<int64_t> Fields::integer(std::string_view name, int64_t least, int64_t most) const {
  const Json* v = value(name);
  if (!v) return {};
  const auto refused = [&] { refuse(name, fmt::format("{}, expected an integer from {} to {}", type_of(*v), least, most)); };
  if (v->is_number_unsigned() && v->get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max())) refused();
  if (v->is_number_float() && (std::abs(v->get<double>()) > 9e15 || v->get<double>() != std::floor(v->get<double>()))) refused();
  if (!v->is_number()) refused();
  const auto i = v->get<int64_t>();
  if (i < least || i > most) refused();
  return i;
}

std::optional<double> Fields::number(std::string_view name, double least, double most) const {
  const Json* v = value(name);
  if (!v) return {};
  if (!v->is_number() || !(v->get<double>() >= least && v->get<double>() <= most))
    refuse(name, std::isfinite(most) ? fmt::format("{}, expected a number from {} to {}", type_of(*v), least, most)
                                     : fmt::format("{}, expected a number of at least {}", type_of(*v), least));
  return v->get<double>();
}

std::optional<std::string> Fields::word(std::string_view name, std::span<const std::string_view> allowed) const {
  const auto w = text(name);
  if (w && std::ranges::find(allowed, *w) == allowed.end())
    refuse(name, fmt::format("'{}', expected one of {}", *w, fmt::join(allowed, ", ")));
  return w;
}

std::optional<std::vector<std::string>> Fields::texts(std::string_view name) const {
  const Json* v = value(name);
  if (!v) return {};
  if (v->is_string()) return std::vector{v->get<std::string>()};
  const bool all = v->is_array() && std::ranges::all_of(*v, [](const Json& t) { return t.is_string(); });
  if (!all) refuse(name, fmt::format("{}, expected a text or a list of texts", type_of(*v)));
  return v->get<std::vector<std::string>>();
}

const Json* Fields::list(std::string_view name) const {
  const Json* v = value(name);
  if (v && !v->is_array()) refuse(name, fmt::format("{}, expected a list", type_of(*v)));
  return v;
}

std::optional<Fields> Fields::object(std::string_view name) const {
  const Json* v = value(name);
  if (!v) return {};
  return Fields(*v, path_of(name));
}

std::string Fields::need_text(std::string_view name) const {
  auto t = text(name);
  if (!t) refuse(name, "is missing, expected a text");
  return *t;
}

const Json& Fields::need(std::string_view name) const {
  const Json* v = value(name);
  if (!v) refuse(name, "is missing");
  return *v;
}

}  // namespace hearth::server
