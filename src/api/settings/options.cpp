#include "api/settings/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/settings/members.h"
#include "api/settings/rerun_arguments.h"
#include "core/error.h"
#include "models/registry.h"

namespace hearth::api {
namespace {

using models::Option;

// An option with the families that have it.
struct Shared {
  const Option* option;
  double most = option->most;                           // the largest of all families
  std::vector<std::string> families, titles, defaults;  // of each
};

std::vector<Shared> by_name(std::span<const FamilyOptions> families) {
  std::vector<Shared> all;
  for (const FamilyOptions& family : families)
    for (const Option& option : family.options) {
      auto found = std::ranges::find(all, option.name, [](const Shared& s) { return s.option->name; });
      if (found == all.end()) found = all.insert(all.end(), Shared{.option = &option});
      Option other = option;
      other.standard = found->option->standard, other.most = found->option->most;
      if (other != *found->option)
        fail<UsageError>("options: '{}' of {} differs from that of {}", option.name, family.family, found->families[0]);
      found->most = std::max(found->most, option.most);
      found->families.push_back(family.family);
      found->titles.push_back(family.title);
      found->defaults.emplace_back(option.standard);
    }
  return all;
}

// "1; second, third: 2"
std::string default_of(const Shared& shared) {
  std::vector<std::string> parts{shared.defaults[0]};
  std::vector<std::pair<std::string, std::vector<std::string>>> others;
  for (size_t i = 1; i < shared.families.size(); ++i) {
    if (shared.defaults[i] == shared.defaults[0]) continue;
    auto found = std::ranges::find(others, shared.defaults[i], &std::pair<std::string, std::vector<std::string>>::first);
    if (found == others.end()) found = others.insert(others.end(), {shared.defaults[i], {}});
    found->second.push_back(shared.families[i]);
  }
  for (const auto& [text, families] : others) parts.push_back(fmt::format("{}: {}", fmt::join(families, ", "), text));
  return fmt::format("{}", fmt::join(parts, "; "));
}

// The other families of an option that is listed under the title of the first.
std::string other_families(const Shared& shared) {
  const std::vector<std::string> others(shared.titles.begin() + 1, shared.titles.end());
  return others.empty() ? "" : fmt::format("; also for {}", fmt::join(others, ", "));
}

Form form_of(Option::Type type) {
  switch (type) {
    case Option::Type::integer: return Form::whole;
    case Option::Type::number: return Form::number;
    case Option::Type::text: return Form::text;
    case Option::Type::size: return Form::size;
    case Option::Type::point: return Form::list;
    case Option::Type::toggle: return Form::toggle;
  }
  return Form::text;
}

std::string type_of(Option::Type type) {
  switch (type) {
    case Option::Type::integer: return "N";
    case Option::Type::number: return "X";
    case Option::Type::text: return "TEXT";
    case Option::Type::size: return "WxH";
    case Option::Type::point: return "X,Y";
    case Option::Type::toggle: return "";
  }
  return "";
}

std::array<int64_t, 2> read_pair(const std::string& text, std::string_view between, const Setting& setting) {
  const size_t at = text.find_first_of(between);
  if (at == text.npos) fail<UsageError>("'{}' is invalid, expected the form {}", text, setting.type);
  return {read<int64_t>(text.substr(0, at), setting), read<int64_t>(text.substr(at + 1), setting)};
}

OptionValue read_option(Option::Type type, const std::string& text, const Setting& setting) {
  switch (type) {
    case Option::Type::integer: return read<int64_t>(text, setting);
    case Option::Type::number: return read<double>(text, setting);
    case Option::Type::size: return read_pair(text, "xX", setting);
    case Option::Type::point: return read_pair(text, ",", setting);
    case Option::Type::toggle: return int64_t(read<bool>(text, setting));
    case Option::Type::text: break;
  }
  return text;
}

// Numbers, alone or in pairs, as a list: the values in the object of a group.
Json numbers_of(const Json& value) {
  Json list = Json::array();
  for (const Json& number : value.is_array() ? value : Json::array({value})) list.push_back(number.get<double>());
  return list;
}

Row row_of(const Shared& shared, size_t image_families, const std::string& heading) {
  const Option& option = *shared.option;
  const bool of_all = shared.families.size() == image_families, grouped = !option.group.empty();
  std::string flag(option.name);
  std::ranges::replace(flag, '_', '-');
  Row row{.setting = {.name = std::string(option.name),
                      .flags = "--" + flag,
                      .type = type_of(option.type),
                      .help = std::string(option.summary) + (of_all ? "" : other_families(shared)),
                      .default_text = option.type == Option::Type::toggle ? "" : default_of(shared),
                      .group = of_all ? heading : shared.titles[0],
                      .minimum = option.least,
                      .maximum = shared.most,
                      .families = of_all ? std::vector<std::string>() : shared.families},
          .form = form_of(option.type),
          .reporting = {.report = grouped ? Report::in_object : Report::by_name,
                        .keep = option.stated ? Keep::always : Keep::given,
                        .object = option.group,
                        .value_if_missing = "",
                        .a1111 = option.a1111},
          .of_caller = true};
  row.set = [type = option.type, setting = row.setting](Request& r, const std::string& text) {
    r.options[setting.name] = read_option(type, text, setting);
  };
  row.value = [name = row.setting.name, type = option.type, grouped](const Request& r) {
    const auto found = r.options.find(name);
    if (found == r.options.end()) return no_value();
    Json value = std::visit([](const auto& v) { return json_of(v); }, found->second);
    if (type == Option::Type::toggle) value = std::get<int64_t>(found->second) != 0;
    return grouped ? numbers_of(value) : value;
  };
  if (option.stated) row.reporting.rerun = rerun_unless_default;
  if (!option.a1111.empty())
    row.reporting.a1111_value = [row](const Request& r) {
      const std::vector<std::string> texts = typed(row, row.value(r));
      return texts.empty() || texts[0] == "1" ? "" : texts[0];
    };
  return row;
}

}  // namespace

std::vector<FamilyOptions> options_of_families() {
  std::vector<FamilyOptions> all;
  for (const models::Entry& entry : models::entries())
    if (const auto* family = std::get_if<models::ImageFamily>(&entry.task))
      all.push_back({std::string(entry.name), std::string(entry.title.empty() ? entry.name : entry.title), family->options});
  return all;
}

std::vector<Row> with_options(std::vector<Row> shared, std::span<const FamilyOptions> families) {
  const std::vector<Shared> options = by_name(families);
  const size_t size = shared.size() + options.size();
  std::vector<Row> all;
  for (Row& before : shared) {
    all.push_back(std::move(before));
    const std::string name = all.back().setting.name, heading = all.back().setting.group;
    for (const Shared& option : options)
      if (option.option->after == name) all.push_back(row_of(option, families.size(), heading));
  }
  if (all.size() != size) fail<UsageError>("options: {} of model families follow a setting that does not exist", size - all.size());
  return all;
}

}  // namespace hearth::api
