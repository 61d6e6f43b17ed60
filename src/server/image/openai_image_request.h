// Requests of OpenAI's image API as jobs.
#pragma once

#include "server/image/image_fields.h"
#include "server/image/image_service.h"
#include "server/image/pictures.h"

namespace hearth::server {

enum class ImageEndpoint { generations, edits, variations };

struct OpenAiImageRequest {
  ImageTask task;
  ImageForm form;
  std::string quality = "auto";  // as given
  bool links = false;            // the response has links, not base64
  bool stream = false;
  int64_t partial_images = 0;
};

// Standard fields, and the settings of the table as further ones. `quality` chooses the steps: low 15, medium 30, high and hd 50, xhigh 75,
// max 100; auto and standard those of `hearth generate`. ApiError 400 for what is not honored: a transparent background, the style natural,
// input_fidelity high, formats of other models.
OpenAiImageRequest read_openai_image_request(ImageEndpoint endpoint, const ImageBody& body, const ImageService& service);

}  // namespace hearth::server
