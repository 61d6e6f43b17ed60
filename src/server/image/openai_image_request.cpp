#include "server/image/openai_image_request.h"

#include <fmt/format.h>

#include <charconv>

#include "server/image/image_adapters.h"

namespace hearth::server {
namespace {

constexpr int64_t most_side = int64_t(1) << 20;  // check_size() says what is possible

struct Quality {
  std::string_view name;
  int64_t steps;  // 0: the default
};
constexpr Quality qualities[] = {{"auto", 0},  {"standard", 0}, {"low", 15},   {"medium", 30},
                                 {"high", 50}, {"hd", 50},      {"xhigh", 75}, {"max", 100}};

std::string one_of(const Fields& fields, std::string_view name, std::initializer_list<std::string_view> allowed) {
  return fields.word(name, {allowed.begin(), allowed.size()}).value_or(std::string(*allowed.begin()));
}

void refuse_what_is_not_honored(const Fields& fields) {
  if (one_of(fields, "background", {"auto", "opaque", "transparent"}) == "transparent")
    fields.refuse("background", "transparent images are not supported, expected auto or opaque", "unsupported");
  if (one_of(fields, "style", {"vivid", "natural"}) == "natural")
    fields.refuse("style", "natural is not supported; describe the style in the prompt", "unsupported");
  if (one_of(fields, "input_fidelity", {"low", "high"}) == "high")
    fields.refuse("input_fidelity", "high is not supported; strength sets how much an image may change", "unsupported");
  one_of(fields, "moderation", {"auto", "low"});  // nothing is moderated
  for (const char* name : {"complexity", "frame_count", "frame_duration_ms", "svg", "markup", "prompt_rewriter"})
    if (fields.has(name)) fields.refuse(name, "is not supported", "unsupported");
}

// "1024x768"
void read_size(const Fields& fields, int64_t unit, Request& request) {
  const std::string text = fields.text("size").value_or("auto");
  if (text == "auto") {
    for (const char* side : {"width", "height"})
      if (const auto value = side == std::string_view("width") ? request.width : request.height)
        check_size(fields, side, value, value, unit);
    return;
  }
  if (request.width || request.height) fields.refuse("size", "is given with width or height, expected one of them");
  int64_t width = 0, height = 0;
  const char* const end = text.data() + text.size();
  const auto w = std::from_chars(text.data(), end, width);
  const bool separated = w.ec == std::errc() && w.ptr != end && *w.ptr == 'x';
  const auto h = separated ? std::from_chars(w.ptr + 1, end, height) : w;
  if (!separated || h.ec != std::errc() || h.ptr != end || width < 1 || height < 1 || width > most_side || height > most_side)
    fields.refuse("size", fmt::format("'{}', expected auto or WIDTHxHEIGHT in pixels", text), "invalid_size");
  check_size(fields, "size", width, height, unit);
  request.width = width, request.height = height;
}

void read_form(const Fields& fields, OpenAiImageRequest& read) {
  constexpr std::string_view formats[] = {"png", "jpeg", "webp"};
  read.form.format = fields.word("output_format", formats).value_or("png");
  const auto compression = fields.integer("output_compression", 0, 100);
  if (compression && read.form.format == "png") {
    if (*compression != 100) fields.refuse("output_compression", "PNG is lossless, expected output_format jpeg or webp");
  } else if (compression) {
    if (read.form.format == "jpeg" && *compression == 0) fields.refuse("output_compression", "0, expected 1 to 100 for jpeg");
    read.form.quality = int(*compression);
  }
  read.links = one_of(fields, "response_format", {"b64_json", "url"}) == "url";
  read.stream = fields.flag("stream").value_or(false);
  read.partial_images = fields.integer("partial_images", 0, 3).value_or(0);
  if (read.partial_images > 0 && !read.stream) fields.refuse("partial_images", "requires stream");
  if (read.stream && read.links) fields.refuse("response_format", "links cannot be streamed, expected b64_json");
}

void read_quality(const Fields& fields, OpenAiImageRequest& read) {
  std::vector<std::string_view> names;
  for (const Quality& q : qualities) names.push_back(q.name);
  read.quality = fields.word("quality", names).value_or("auto");
  for (const Quality& q : qualities) {
    if (q.name != read.quality || q.steps == 0) continue;
    if (fields.has("steps") || fields.has("sigmas")) fields.refuse("quality", "sets the steps, which are given, too; expected one of them");
    read.task.request.steps = q.steps;
  }
}

void read_count(const Fields& fields, const ImageService::Limits& limits, ImageTask& task) {
  const int64_t n = fields.integer("n", 1, limits.images).value_or(task.request.batch_size);
  if (n % task.request.batch_size != 0)
    fields.refuse("n", fmt::format("{}, expected a multiple of the batch_size of {}", n, task.request.batch_size));
  task.batches = n / task.request.batch_size;
}

// Images to edit, and the mask, whose transparent pixels are regenerated.
void read_edit(const ImageBody& body, const Fields& fields, const ImageService& service, bool references, Request& request) {
  const auto& images = body.of("image");
  const int64_t most_pixels = service.limits().input_pixels;
  if (images.empty()) fields.refuse("image", "is missing, expected an image");
  const auto& masks = body.of("mask");
  if (masks.size() > 1) fields.refuse("mask", fmt::format("{} images, expected one", masks.size()));
  const bool starts = !references || !masks.empty();
  if (images.size() > 1 && !references)
    fields.refuse("image", fmt::format("{} images, but this model edits one", images.size()), "unsupported");
  for (size_t i = 0; i < images.size(); ++i) {
    Image image = read_image(images[i].bytes, images[i].param, most_pixels);
    if (i == 0 && starts) request.edit.image = std::move(image);
    else request.references.push_back({.image = std::move(image), .name = {}});
  }
  if (masks.empty()) return;
  const Image mask = read_image(masks[0].bytes, masks[0].param, most_pixels);
  if (mask.alpha.empty())
    fields.refuse("mask", "the image has no transparency, expected one that is transparent where the image is to be regenerated");
  request.edit.mask = mask_of_transparency(mask);
}

}  // namespace

OpenAiImageRequest read_openai_image_request(ImageEndpoint endpoint, const ImageBody& body, const ImageService& service) {
  constexpr std::string_view handled[] = {"n",     "size",       "quality",   "stream",        "style",    "mask",
                                          "image", "references", "depth_map", "control_image", "controls", "image_prompts"};
  const Fields fields(body.fields);
  OpenAiImageRequest read;
  Request& request = read.task.request;
  refuse_what_is_not_honored(fields);
  const auto prompt = fields.text("prompt");
  if (!prompt && endpoint != ImageEndpoint::variations) fields.refuse("prompt", "is missing, expected a text");
  request.prompt = prompt.value_or("");
  read_form(fields, read);
  set_image_settings(body, handled, service.limits().input_pixels, request);
  if (!request.sigmas.empty()) {
    const auto steps = int64_t(request.sigmas.size()) - 1;
    if (fields.has("steps") && request.steps != steps)
      fields.refuse("steps", fmt::format("contradicts sigmas, which make {} steps", steps));
    request.steps = steps;
  }
  read_quality(fields, read);
  read_count(fields, service.limits(), read.task);
  const Model::Traits traits = service.traits();
  read_size(fields, traits.side_unit, request);
  request.controls = read_controls(fields, service.limits());
  request.image_prompts = read_image_prompts(fields, service.limits());
  if (endpoint == ImageEndpoint::edits) read_edit(body, fields, service, traits.edits_references, request);
  if (endpoint == ImageEndpoint::variations) read_edit(body, fields, service, traits.references_as_prompt, request);
  if (endpoint == ImageEndpoint::generations && (!body.of("image").empty() || !body.of("mask").empty()))
    fields.refuse(body.of("image").empty() ? "mask" : "image", "is for /v1/images/edits", "unsupported");
  if (read.partial_images > 0) read.task.preview_every = 1;
  SaveOptions how;
  if (read.form.format != "png") how.quality = read.form.quality;
  check_save("image." + read.form.format, how, request);
  return read;
}

}  // namespace hearth::server
