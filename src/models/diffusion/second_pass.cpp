#include "models/diffusion/second_pass.h"

#include <algorithm>

#include "core/on_host.h"
#include "models/diffusion/upscale.h"

namespace hearth::models::diffusion {

ImageTask first_of_two(const ImageTask& task) {
  ImageTask first = task;
  first.request.hires.reset();
  first.request.decode = false, first.request.last = false;
  first.decode_if_ended = task.request.decode;
  first.one_of_two = true;
  return first;
}

ImageTask second_of_two(const Facts& model, const ImageTask& task, const ResolvedImage& first, Backend& host) {
  const Request& asked = task.request;
  const Hires& hires = *asked.hires;
  if (!(hires.scale >= 1 && hires.scale <= 64)) fail<UsageError>("hires: scale is {}, expected 1 to 64", hires.scale);
  if (hires.steps < 0) fail<UsageError>("hires: steps is {}, expected at least 1, or 0 for as many as in the first pass", hires.steps);
  if (model.own_latents) fail<UnsupportedError>("hires: a second pass cannot be combined with a model that has a second network");
  if (!task.edit.mask.values.empty()) fail<UnsupportedError>("hires: a second pass cannot be combined with a mask");
  if (model.beside == Beside::image || model.beside == Beside::mask_and_image || model.beside == Beside::image_and_mask)
    fail<UnsupportedError>("hires: a second pass cannot be combined with a model that has an input image");
  if (task.noise) fail<UnsupportedError>("hires: given noise is supported only for a single pass, expected a seed");
  if (!asked.sigmas.empty()) fail<UnsupportedError>("hires: given sigmas are supported only for a single pass, expected a schedule");
  if (asked.stop_after > 0) fail<UnsupportedError>("hires: two passes do not support stopping and resuming");
  const int64_t factor = model.codec.factor, unit = model.side_unit();
  const auto side = [&](int64_t of_first) { return int64_t(double(of_first) * hires.scale) / unit * unit; };
  const int64_t width = side(first.width), height = side(first.height);
  ImageTask second = task;
  second.request.hires.reset();
  second.one_of_two = true;
  second.request.width = width, second.request.height = height;
  if (hires.steps > 0) second.request.steps = hires.steps;
  second.steps_before = asked.steps;
  second.edit = {.strength = hires.strength, .all_steps = true, .depth = task.edit.depth, .control = task.edit.control};
  if (find_upscaler(hires.upscaler).of_latents)
    second.edit.latents = Tensor::empty(host, {asked.batch_size, height / factor, width / factor, first.latents[3]});
  else second.edit.images.assign(size_t(asked.batch_size), {.width = width, .height = height, .rgb = {}});
  return second;
}

void begin_second(Pass& second, const Hires& hires, const Tensor& latents, const std::function<Tensor(const Tensor&)>& decode) {
  ImageEdit& edit = second.task.edit;
  if (edit.latents) {
    edit.latents = upscaled_latents(latents, edit.latents.size(1), edit.latents.size(2), hires.upscaler);
    return;
  }
  for (size_t b = 0; b < edit.images.size(); ++b) {
    const Tensor image = decode(latents.slice(0, int64_t(b), int64_t(b) + 1));
    Pixels& larger = edit.images[b];
    unless_dry(image.backend(), [&] {
      const Pixels pixels = to_pixels(image.view({image.size(1), image.size(2), image.size(3)}), PixelRange::minus_one_to_one);
      larger = upscaled(pixels, larger.width, larger.height, hires.upscaler);
    });
  }
}

ResolvedImage both(const Pass& first, const Pass& second) {
  ResolvedImage combined = second;
  combined.request = first.request;
  combined.steps = first.steps;
  combined.first_pass = {first.width, first.height};
  combined.network_calls = first.network_calls > 0 && second.network_calls > 0 ? first.network_calls + second.network_calls : 0;
  combined.strength = first.strength;  // the strength of the second pass is reported separately
  return combined;
}

ImageResult both(const ImageResult& first, ImageResult second) {
  second.step_seconds.insert(second.step_seconds.begin(), first.step_seconds.begin(), first.step_seconds.end());
  second.load_seconds += first.load_seconds;
  second.encode_seconds += first.encode_seconds;
  second.sample_seconds += first.sample_seconds;
  for (const auto& [component, largest] : first.largest) second.largest[component] = std::max(second.largest[component], largest);
  return second;
}

}  // namespace hearth::models::diffusion
