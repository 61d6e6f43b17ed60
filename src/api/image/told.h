// What reports and metadata tell of a run: the request as it was used.
#pragma once

#include "hearth/hearth.h"
#include "models/image_model.h"

namespace hearth::api {

// ResolvedImage::request without what had no effect. That an image or noise was given is told, so they are there, but empty. `tile`: side
// in pixels of what the codec decoded at once.
Request told_request(const Request& asked, const models::ResolvedImage& resolved, std::optional<int64_t> tile);

// The same for image `index` of its batch: with the seed that draws it alone, or, where one generator draws all of them, the batch.
Request told_of_image(Request told, int64_t index);

}  // namespace hearth::api
