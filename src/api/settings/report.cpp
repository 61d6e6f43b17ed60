#include "api/settings/report.h"

#include <nlohmann/json.hpp>

namespace hearth::api {
namespace {

// Those of the object that were given, in the order of the alphabet.
Json given_in(std::string_view object, const Request& asked) {
  std::map<std::string, Json> given;
  for (const Row& row : rows())
    if (row.told.report == Report::in_object && row.told.object == object)
      if (Json value = row.value(asked); !value.is_null()) given[row.shown.name] = std::move(value);
  return given;
}

}  // namespace

Json told_settings(const Request& asked, const Request& told, const std::map<std::string, std::string>& flags, const Finding& finding) {
  Json json = Json::object();
  for (const Row& row : rows()) {
    const bool by_name = row.told.report == Report::by_name || row.told.report == Report::both;
    if (row.told.report == Report::in_object) {
      const std::string object(row.told.object);
      if (!json.contains(object)) json[object] = given_in(object, asked);
    }
    if (by_name) json[row.shown.name] = row.value(told);
    else if (row.told.report == Report::among_flags) json["flags"] = flags;
    if (row.shown.name == finding.after) json[std::string(finding.name)] = finding.value;
  }
  return json;
}

}  // namespace hearth::api
