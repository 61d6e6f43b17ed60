// Requests of A1111's txt2img and img2img as jobs. They run under compat a1111, so that a seed gives A1111's image.
#pragma once

#include "server/image/a1111_options.h"
#include "server/image/image_service.h"

namespace hearth::server {

struct A1111Request {
  ImageTask task;
  ImageForm form;
  std::string sampler;  // A1111's label, or as given
  bool send_images = true;
  int64_t clip_skip = 1;
  std::string task_id;  // force_task_id: the client's name for the run in /sdapi/v1/progress
  Json echo;            // `parameters` of the response: the request with A1111's defaults
};

// `options`: with the request's override_settings applied. What A1111 has and hearth lacks is refused unless it is at its default: ApiError
// 400, for scripts 422 as A1111 does.
A1111Request read_a1111_request(const Fields& request, bool from_image, const A1111Options& options, const ImageService& service);

// `info` of the response, in JSON: settings, seeds and generation parameters of all images.
struct A1111Results {
  std::vector<Image> images;  // without pixels: their sizes and parameters
  std::vector<uint64_t> seeds, variation_seeds;
};
std::string a1111_info(const A1111Request& request, const A1111Results& results, const std::string& model, const std::string& timestamp);

}  // namespace hearth::server
