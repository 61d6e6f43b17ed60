#include "api/settings/report.h"

#include <nlohmann/json.hpp>

namespace hearth::api {
namespace {

// The given settings of the object, sorted by name.
Json given_in(std::string_view object, const Request& requested) {
  std::map<std::string, Json> given;
  for (const Row& row : rows())
    if (row.reporting.report == Report::in_object && row.reporting.object == object)
      if (Json value = row.value(requested); !value.is_null()) given[row.setting.name] = std::move(value);
  return given;
}

}  // namespace

Json settings_json(const Request& requested, const Request& used, const std::map<std::string, std::string>& flags,
                   const ComputedValue& computed) {
  Json json = Json::object();
  for (const Row& row : rows()) {
    const bool by_name = row.reporting.report == Report::by_name || row.reporting.report == Report::both;
    if (row.reporting.report == Report::in_object) {
      const std::string object(row.reporting.object);
      if (!json.contains(object)) json[object] = given_in(object, requested);
    }
    if (by_name) json[row.setting.name] = row.value(used);
    else if (row.reporting.report == Report::among_flags) json["flags"] = flags;
    if (row.setting.name == computed.after) json[std::string(computed.name)] = computed.value;
  }
  return json;
}

}  // namespace hearth::api
