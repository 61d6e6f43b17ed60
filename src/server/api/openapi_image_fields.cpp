// Fields of image requests: the settings of the command, and those that the APIs have themselves.
#include <algorithm>

#include "api/settings/setting.h"
#include "server/api/openapi.h"

namespace hearth::server {
namespace {

using api::Form, api::Row;

constexpr double most_images = 64, most_side = 16384;

std::string type_of(const Row& row) {
  switch (row.form) {
    case Form::text: return "string";
    case Form::whole: return "integer";
    case Form::number: return "number";
    case Form::toggle: return "boolean";
    default: return "any";  // a list or a text, an object or a text
  }
}

// Every setting that is not a file: a request cannot name files of the server.
std::vector<FieldDoc> setting_docs(std::initializer_list<std::string_view> apart_from) {
  std::vector<FieldDoc> all;
  for (const Row& row : api::rows()) {
    const bool is_file = row.image || row.form == Form::files || row.form == Form::names;
    if (is_file || std::ranges::find(apart_from, row.setting.name) != apart_from.end()) continue;
    all.push_back({row.setting.name, type_of(row), row.setting.help, row.setting.minimum, row.setting.maximum});
  }
  return all;
}

std::vector<FieldDoc> joined(std::vector<FieldDoc> all, const std::vector<FieldDoc>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

std::vector<FieldDoc> openai_image_docs(bool edits) {
  std::vector<FieldDoc> all{
      {"model", "string", "Id of a model; default: the first that draws", {}, {}},
      {"prompt", "string", "What the image shows", {}, {}},
      {"n", "integer", "Images, whose seeds follow each other", 1, most_images},
      {"size", "string", "WIDTHxHEIGHT in pixels, or auto", {}, {}},
      {"quality", "string", "Denoising steps: auto, standard, low, medium, high, hd, xhigh or max", {}, {}},
      {"response_format", "string", "b64_json or url", {}, {}},
      {"output_format", "string", "png, jpeg or webp", {}, {}},
      {"output_compression", "integer", "Quality of jpeg and webp", 0, 100},
      {"stream", "boolean", "Server-sent events as the image is drawn", {}, {}},
      {"partial_images", "integer", "With stream: previews of each image", 0, 3},
      {"background", "string", "auto or opaque", {}, {}},
      {"controls", "array", "Control networks: objects with network, image, mask, scale, start, end, mode, guess, preprocess", {}, {}},
      {"image_prompts", "array", "Images as prompts: objects with adapter, image or face, scale, mask, shortcut", {}, {}},
  };
  if (edits) {
    all.push_back({"image", "any", "The image, or several: base64, a data URL, or {image_url}", {}, {}});
    all.push_back({"mask", "any", "The same; it is transparent where the image is to be regenerated", {}, {}});
  }
  return joined(std::move(all), setting_docs({"prompt", "mask", "image", "stream"}));
}

std::vector<FieldDoc> a1111_docs(bool from_image) {
  std::vector<FieldDoc> all{
      {"prompt", "string", "What the image shows", {}, {}},
      {"negative_prompt", "string", "What it does not show", {}, {}},
      {"seed", "integer", "-1: a random one", -1, {}},
      {"subseed", "integer", "Seed of the variation; -1: a random one", -1, {}},
      {"subseed_strength", "number", "How much of the noise is that of subseed", 0, 1},
      {"sampler_name", "string", "A name of /sdapi/v1/samplers", {}, {}},
      {"scheduler", "string", "A name of /sdapi/v1/schedulers", {}, {}},
      {"steps", "integer", "Denoising steps; default 50", 1, 1000},
      {"cfg_scale", "number", "Guidance scale; default 7", 0, {}},
      {"distilled_cfg_scale", "number", "Guidance scale that the network takes as input", 0, {}},
      {"width", "integer", "In pixels; default 512", 1, most_side},
      {"height", "integer", "In pixels; default 512", 1, most_side},
      {"batch_size", "integer", "Images at once", 1, most_images},
      {"n_iter", "integer", "Batches, one after the other", 1, most_images},
      {"denoising_strength", "number", "How much of the image changes; default 0.75", 0, 1},
      {"eta", "number", "Noise that the sampler adds", 0, {}},
      {"s_churn", "number", "Option of the sampler", 0, {}},
      {"s_tmin", "number", "Option of the sampler", 0, {}},
      {"s_tmax", "number", "Option of the sampler", 0, {}},
      {"s_noise", "number", "Option of the sampler", 0, {}},
      {"override_settings", "object", "Options of /sdapi/v1/options for this request", {}, {}},
      {"send_images", "boolean", "The response has the images; default true", {}, {}},
      {"alwayson_scripts", "object", "Extensions: controlnet with its units in args", {}, {}},
  };
  if (!from_image)
    return joined(std::move(all), {
                                      {"enable_hr", "boolean", "Enlarge the image and denoise it again", {}, {}},
                                      {"hr_scale", "number", "How much larger; default 2", 1, most_images},
                                      {"hr_resize_x", "integer", "Width after it, in place of hr_scale", 0, {}},
                                      {"hr_resize_y", "integer", "Height after it, in place of hr_scale", 0, {}},
                                      {"hr_upscaler", "string", "A name of /sdapi/v1/upscalers or latent-upscale-modes", {}, {}},
                                      {"hr_second_pass_steps", "integer", "Denoising steps of it; 0: steps", 0, {}},
                                  });
  return joined(std::move(all), {
                                    {"init_images", "array", "One image in base64", {}, {}},
                                    {"resize_mode", "integer", "0: stretch, 1: crop, 2: fill", 0, 2},
                                    {"image_cfg_scale", "number", "Guidance scale of the image, of models that edit by instruction", 0, {}},
                                    {"mask", "string", "An image in base64; it is white where the image is to be regenerated", {}, {}},
                                    {"mask_blur", "number", "In pixels; default 4", 0, 4096},
                                    {"inpainting_fill", "integer",
                                     "What is under the mask at first; 0: its surroundings, 1: the image, 2: noise, 3: zeros", 0, 3},
                                    {"inpainting_mask_invert", "any", "1 or true: regenerate what is not masked", {}, {}},
                                    {"inpaint_full_res", "any", "Denoise the masked region alone, enlarged; default true", {}, {}},
                                    {"inpaint_full_res_padding", "integer", "Pixels around that region", 0, 65536},
                                    {"include_init_images", "boolean", "The response repeats them", {}, {}},
                                });
}

}  // namespace hearth::server
