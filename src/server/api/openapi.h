// The document of all routes (OpenAPI 3.1), from the tables by which requests are read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/fields.h"

namespace hearth::server {

// A field of a request's body.
struct FieldDoc {
  std::string name, type;  // type: of JSON schema: "string", "integer", "number", "boolean", "array", "object", or "any"
  std::string summary;
  std::optional<double> least, most;
  bool above_least = false, below_most = false;  // the bounds themselves are excluded
};

struct RouteDoc {
  std::string method, path, tag, summary;
  std::vector<FieldDoc> fields;  // of the body
  std::vector<std::string> required = {};
};

std::vector<FieldDoc> generation_docs();              // generation_fields.cpp
std::vector<FieldDoc> openai_image_docs(bool edits);  // openapi_image_fields.cpp
std::vector<FieldDoc> a1111_docs(bool from_image);    // the same
const std::vector<RouteDoc>& route_docs();            // openapi_routes.cpp
Json openapi_document(const std::string& version);

}  // namespace hearth::server
