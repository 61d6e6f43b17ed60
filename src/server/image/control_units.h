// Control networks in requests. Clients name networks that the server offers, and send the images.
#pragma once

#include "server/fields.h"
#include "server/image/image_service.h"

namespace hearth::server {

// The field "controls" of a request: [{"network": NAME, "image": …, "scale": 1, "start": 0, "end": 1, "mode": …, "guess": false,
// "preprocess": …}], images as in ImageBody. ApiError 400.
std::vector<Control> read_controls(const Fields& request, const ImageService::Limits& limits);

// `units` of A1111's extension, alwayson_scripts.controlnet.args, at the path `where`. A unit without an image uses `init`, the image that
// the run starts from. Modules are preprocessors under their names there; weights of the modes other than balanced are not supported.
// ApiError 400 or 422.
std::vector<Control> read_control_units(const Json& units, const std::string& where, const std::optional<Image>& init, int64_t width,
                                        int64_t height, const ImageService::Limits& limits);

}  // namespace hearth::server
