#include "server/api/openapi.h"

#include <cmath>

namespace hearth::server {
namespace {

Json schema_of(const FieldDoc& field) {
  Json made = Json::object();
  if (field.type != "any") made["type"] = field.type;
  if (!field.summary.empty()) made["description"] = field.summary;
  if (field.least && std::isfinite(*field.least)) made[field.above_least ? "exclusiveMinimum" : "minimum"] = *field.least;
  if (field.most && std::isfinite(*field.most)) made[field.below_most ? "exclusiveMaximum" : "maximum"] = *field.most;
  return made;
}

Json operation(const RouteDoc& route) {
  Json made{{"summary", route.summary}, {"tags", {route.tag}}};
  Json parameters = Json::array();
  for (size_t at = 0; (at = route.path.find('{', at)) != route.path.npos; ++at) {
    const std::string name = route.path.substr(at + 1, route.path.find('}', at) - at - 1);
    parameters.push_back({{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
  }
  if (!parameters.empty()) made["parameters"] = parameters;
  if (!route.fields.empty()) {
    Json properties = Json::object();
    for (const FieldDoc& field : route.fields) properties[field.name] = schema_of(field);
    Json schema{{"type", "object"}, {"properties", properties}};
    if (!route.required.empty()) schema["required"] = route.required;
    made["requestBody"] = {{"required", true}, {"content", {{"application/json", {{"schema", schema}}}}}};
  }
  made["responses"] = {{"200", {{"description", "The answer"}}},
                       {"400", {{"description", "The request is wrong; the message names the field"}}},
                       {"429", {{"description", "Too many requests wait; see Retry-After"}}}};
  return made;
}

}  // namespace

Json openapi_document(const std::string& version) {
  Json paths = Json::object();
  for (const RouteDoc& route : route_docs()) {
    std::string method;
    for (const char c : route.method) method += char(std::tolower(c));
    paths[route.path][method] = operation(route);
  }
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "hearth"}, {"version", version}, {"description", "Text and images from open-weight models on your own machine."}}},
          {"paths", paths},
          {"components", {{"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

}  // namespace hearth::server
