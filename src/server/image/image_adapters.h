// Control networks and image prompts in requests. Clients name adapters that the server offers, and send the images.
#pragma once

#include "server/fields.h"
#include "server/image/image_service.h"

namespace hearth::server {

// The fields "controls" and "image_prompts" of a request, with images as in ImageBody. ApiError 400.
//   controls:      [{"network": NAME, "image": …, "mask": …, "scale": 1, "start": 0, "end": 1, "mode": …, "guess": false, "preprocess": …}]
//   image_prompts: [{"adapter": NAME, "image": …, "face": [numbers], "shortcut": false, "scale": 1, "mask": …}]
std::vector<Control> read_controls(const Fields& request, const ImageService::Limits& limits);
std::vector<ImagePrompt> read_image_prompts(const Fields& request, const ImageService::Limits& limits);

// `units` of A1111's extension, alwayson_scripts.controlnet.args, at the path `where`, for a request that has its size and its image: adds
// control networks and image prompts. A unit without an image uses the one that the run starts from. Modules are preprocessors under
// their names there; control modes other than balanced are not supported. Units of image prompts have the fields face and shortcut, too.
// ApiError 400 or 422.
void add_control_units(const Json& units, const std::string& where, const ImageService::Limits& limits, Request& request);
std::vector<std::string_view> control_module_names();

}  // namespace hearth::server
