// Settings of an image request as fields of a JSON object: every setting of `hearth generate` under its name (hearth/settings.h) or the
// name of a flag with underscores: "cfg_scale" for "guidance".
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hearth/hearth.h"
#include "server/fields.h"
#include "server/http/request.h"

namespace hearth::server {

// The fields of a request, and its images.
struct ImageBody {
  Json fields = Json::object();
  struct Upload {
    std::string param;  // "image[0]", for messages
    std::string bytes;  // of the file
  };
  std::map<std::string, std::vector<Upload>> images;  // by field: "image", "mask", "depth_map", "control_image", "references"

  const std::vector<Upload>& of(const std::string& field) const;
};
// A JSON object, or multipart/form-data. In JSON an image is base64 text, a data URL, or {"image_url": a data URL}; "image" and
// "references" may be lists; "images" and "image[]" are "image". ApiError 400.
ImageBody read_image_body(const http::Request& request);

// Sets what the request names, except the prompt and the names in `handled`. ApiError 400 for a value that is not valid, for a setting that
// is named twice, and for one whose value is a file: clients cannot name files of the server.
void set_image_settings(const ImageBody& body, std::span<const std::string_view> handled, int64_t most_pixels, Request& request);

// ApiError 400 if sides are not multiples of `unit`, with the nearest size that is one.
void check_size(const Fields& fields, std::string_view field, std::optional<int64_t> width, std::optional<int64_t> height, int64_t unit);

}  // namespace hearth::server
