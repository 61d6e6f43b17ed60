// The request as the run used it, for reports and metadata.
#pragma once

#include "hearth/hearth.h"
#include "models/image_model.h"

namespace hearth::api {

// ResolvedImage::request without settings that had no effect. Given images and noise are present but empty, because only their presence is
// reported. `tile`: side in pixels of the tiles that the VAE decoded; absent: no tiling.
Request used_request(const Request& requested, const models::ResolvedImage& resolved, std::optional<int64_t> tile);

// The same for image `index` of its batch: with the seed that generates it alone or, if one generator draws noise for all, with the batch.
Request used_by_image(Request used, int64_t index);

}  // namespace hearth::api
