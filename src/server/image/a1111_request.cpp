#include "server/image/a1111_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "media/metadata/parameters.h"
#include "sampling/compat/sampler_names.h"
#include "sampling/options.h"
#include "server/image/a1111_names.h"
#include "server/image/image_adapters.h"
#include "server/image/image_fields.h"

namespace hearth::server {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr int64_t most_side = 1 << 20;  // check_size() says what is possible
constexpr int64_t most_seed = std::numeric_limits<int64_t>::max();

std::string shown(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Fields that hearth has at certain values only.
struct Only {
  const char *name, *values;  // in JSON: a list
};
constexpr Only shared_only[] = {
    {"restore_faces", "[false]"},
    {"tiling", "[false]"},
    {"styles", "[[]]"},
    {"script_name", "[\"\", \"None\"]"},
    {"infotext", "[\"\"]"},
    {"refiner_checkpoint", "[\"\", \"None\", \"none\"]"},
    {"s_min_uncond", "[0]"},
    {"seed_resize_from_h", "[0, -1]"},
    {"token_merging_ratio", "[0]"},
    {"seed_resize_from_w", "[0, -1]"},
    {"token_merging_ratio_hr", "[0]"},
    {"firstpass_image", "[\"\"]"},
    {"save_images", "[false]"},
};
constexpr Only text_only[] = {{"firstphase_width", "[0]"}, {"firstphase_height", "[0]"}};
constexpr Only image_only[] = {{"initial_noise_multiplier", "[1]"}, {"latent_mask", "[\"\"]"}};

void check_only(const Fields& fields, std::span<const Only> rows) {
  for (const Only& row : rows) {
    const Json* value = fields.value(row.name);
    const Json allowed = Json::parse(row.values);
    if (value && std::ranges::find(allowed, *value) == allowed.end())
      fields.refuse(row.name, fmt::format("{} is not supported, expected {}", shown(*value), shown(allowed[0])), "unsupported");
  }
}

// Whether a unit of a script does nothing.
bool is_off(const Json& unit) {
  if (unit.is_null() || unit == false) return true;
  return unit.is_object() && unit.value("enabled", Json(true)) == false;
}

// The scripts: ControlNet's units, and others that do nothing.
void read_scripts(const Fields& fields, const ImageService::Limits& limits, Request& request) {
  const auto scripts = fields.object("alwayson_scripts");
  if (!scripts) return;
  for (const auto& [name, script] : scripts->json().items()) {
    const Json args = script.is_object() ? script.value("args", Json::array()) : script;
    if ((name == "controlnet" || name == "ControlNet") && args.is_array()) {
      add_control_units(args, scripts->path_of(name) + ".args", limits, request);
      continue;
    }
    if (!(args.is_array() && std::ranges::all_of(args, is_off)))
      throw ApiError(422, fmt::format("{}: the script is not supported", scripts->path_of(name)), scripts->path_of(name), "unsupported");
  }
}

std::optional<uint64_t> seed_of(const Fields& fields, std::string_view name) {
  const int64_t seed = fields.integer(name, -1, most_seed).value_or(-1);
  if (seed < 0) return {};
  return uint64_t(seed);
}

void read_seeds(const Fields& fields, Request& request) {
  request.seed = seed_of(fields, "seed");
  const auto subseed = seed_of(fields, "subseed");
  request.variation.strength = fields.number("subseed_strength", 0, 1).value_or(0);
  if (request.variation.strength > 0) request.variation.seed = subseed;
}

void set_option(const Fields& fields, std::string_view field, const sampling::Sampler& sampler, const char* name,
                std::optional<double> value, bool is_standard, Request& request) {
  if (!value) return;
  const bool has = std::ranges::find(sampler.options, name, &sampling::Option::name) != sampler.options.end();
  if (has) request.sampler_options[name] = fmt::format("{}", *value);
  else if (!is_standard) fields.refuse(field, fmt::format("{} has no effect on the sampler {}", *value, sampler.name), "unsupported");
}

// Sampler, schedule, and the options of the sampler. A1111 passes eta to samplers that have it and drops it for others.
void read_sampler(const Fields& fields, const A1111Options& options, A1111Request& read) {
  Request& request = read.task.request;
  std::string field = "sampler_name";
  auto name = fields.text("sampler_name");
  if (!name || name->empty()) field = "sampler_index", name = fields.text("sampler_index");
  if (!name || name->empty()) name = "Euler";
  const auto named = sampling::known_sampler_name(*name);
  if (!named) fields.refuse(field, fmt::format("the sampler '{}' is unknown; /sdapi/v1/samplers lists them", *name));
  const sampling::Sampler& sampler = *named->sampler;
  const std::string scheduler = fields.text("scheduler").value_or("");
  const auto schedule = schedule_of_a1111(scheduler);
  if (!schedule) fields.refuse("scheduler", fmt::format("'{}' is unknown; /sdapi/v1/schedulers lists them", scheduler));
  request.sampler = read.sampler = *name;
  request.schedule = *schedule;

  const bool times = sampler.name.starts_with("ddim") || sampler.name == "plms" || sampler.name.starts_with("uni_pc");
  const auto given = [&](const char* key, double option, double standard) {
    const auto value = fields.number(key, 0, infinite);
    return value ? value : option != standard ? std::optional(option) : std::nullopt;
  };
  auto eta = fields.number("eta", 0, infinite);
  if (!eta && times && options.eta_ddim != 0) eta = options.eta_ddim;
  if (!eta && !times && options.eta_ancestral != 1) eta = options.eta_ancestral;
  set_option(fields, "eta", sampler, "eta", eta, true, request);
  const auto churn = given("s_churn", options.s_churn, 0), tmin = given("s_tmin", options.s_tmin, 0);
  auto tmax = given("s_tmax", options.s_tmax, 0);
  const auto noise = given("s_noise", options.s_noise, 1);
  if (tmax == 0.0) tmax.reset();  // no limit
  set_option(fields, "s_churn", sampler, "s_churn", churn, churn == 0.0, request);
  set_option(fields, "s_tmin", sampler, "s_tmin", tmin, tmin == 0.0, request);
  set_option(fields, "s_tmax", sampler, "s_tmax", tmax, false, request);
  set_option(fields, "s_noise", sampler, "s_noise", noise, noise == 1.0, request);
}

double hires_scale(const Fields& fields, const Request& request) {
  const auto x = fields.integer("hr_resize_x", 0, most_side).value_or(0), y = fields.integer("hr_resize_y", 0, most_side).value_or(0);
  if (x == 0 && y == 0) return fields.number("hr_scale", 1, 64).value_or(2);
  const double width = double(*request.width), height = double(*request.height);
  const double by_x = double(x) / width, by_y = double(y) / height;
  if (x > 0 && y > 0 && x * *request.height != y * *request.width)
    fields.refuse("hr_resize_x", fmt::format("{}x{} has another aspect ratio than {}x{}, which is not supported", x, y, width, height),
                  "unsupported");
  return x > 0 ? by_x : by_y;
}

void read_hires(const Fields& fields, Request& request) {
  if (!fields.flag("enable_hr").value_or(false)) return;
  // The second pass has the prompts, the sampler and the checkpoint of the first.
  for (const auto& [name, of_first] : {std::pair{"hr_prompt", request.prompt},
                                       {"hr_negative_prompt", request.negative_prompt.value_or("")},
                                       {"hr_sampler_name", request.sampler},
                                       {"hr_scheduler", fields.text("scheduler").value_or("")},
                                       {"hr_checkpoint_name", ""}}) {
    const std::string text = fields.text(name).value_or("");
    if (!text.empty() && text != of_first && text != "None" && !text.starts_with("Use same "))
      fields.refuse(name, fmt::format("'{}' differs from the first pass, which is not supported", text), "unsupported");
  }
  Hires hires{.scale = hires_scale(fields, request)};
  const std::string upscaler = fields.text("hr_upscaler").value_or("Latent");
  const auto known = upscaler_of_a1111(upscaler);
  if (!known)
    fields.refuse("hr_upscaler",
                  fmt::format("'{}' is not supported, expected one of {}", upscaler, fmt::join(a1111_upscaler_names(), ", ")),
                  "unsupported");
  hires.upscaler = *known;
  hires.steps = fields.integer("hr_second_pass_steps", 0, 1 << 20).value_or(0);
  hires.strength = fields.number("denoising_strength", 0, 1).value_or(0.75);
  request.hires = hires;
}

// White where A1111 regenerates: the mask's opaque pixels if it has transparent ones, else its white ones.
Image mask_of(Image mask) {
  const bool transparent = std::ranges::any_of(mask.alpha, [](uint8_t a) { return a < 255; });
  for (size_t i = 0; transparent && i < mask.alpha.size(); ++i)
    for (size_t c = 0; c < 3; ++c) mask.rgb[3 * i + c] = mask.alpha[i] > 128 ? 255 : 0;
  mask.alpha.clear();
  mask.rgb16.clear();
  return mask;
}

double mask_blur(const Fields& fields) {
  const double blur = fields.number("mask_blur", 0, 4096).value_or(4);
  const double x = fields.number("mask_blur_x", 0, 4096).value_or(blur), y = fields.number("mask_blur_y", 0, 4096).value_or(blur);
  if (x != y) fields.refuse("mask_blur_x", fmt::format("{} differs from mask_blur_y, {}, which is not supported", x, y), "unsupported");
  return x;
}

void read_images(const Fields& fields, int64_t most_pixels, Request& request) {
  const Json* images = fields.list("init_images");
  if (!images || images->empty()) fields.refuse("init_images", "is missing, expected a list with one image");
  if (images->size() > 1)
    fields.refuse("init_images", fmt::format("{} images are not supported, expected one", images->size()), "unsupported");
  const std::string at = fields.path_of("init_images") + "[0]";
  if (!(*images)[0].is_string()) throw ApiError(400, at + ": is no text, expected the image in base64", at);
  Editing& edit = request.edit;
  edit.image = over_white(read_image_text((*images)[0].get<std::string>(), at, most_pixels));
  edit.strength = fields.number("denoising_strength", 0, 1).value_or(0.75);
  constexpr ResizeMode modes[] = {ResizeMode::stretch, ResizeMode::crop, ResizeMode::fill};
  const int64_t mode = fields.integer("resize_mode", 0, 3).value_or(0);
  if (mode == 3) fields.refuse("resize_mode", "3 (latent upscale) is not supported, expected 0, 1 or 2", "unsupported");
  edit.resize = modes[mode];
  // Models that do not edit by instruction ignore it in A1111; 1.5 is what clients send.
  if (const auto scale = fields.number("image_cfg_scale", 0, infinite); scale && *scale != 1.5) edit.image_guidance = scale;

  const std::string mask = fields.text("mask").value_or("");
  if (mask.empty()) return;
  edit.mask = mask_of(read_image_text(mask, fields.path_of("mask"), most_pixels));
  edit.mask_blur = mask_blur(fields);
  constexpr InpaintFill fills[] = {InpaintFill::fill, InpaintFill::original, InpaintFill::noise, InpaintFill::nothing};
  edit.fill = fills[fields.integer("inpainting_fill", 0, 3).value_or(0)];
  const Json* invert = fields.value("inpainting_mask_invert");
  edit.mask_invert = invert && invert->is_boolean() ? invert->get<bool>() : fields.integer("inpainting_mask_invert", 0, 1).value_or(0) == 1;
  const Json* whole = fields.value("inpaint_full_res");  // older clients send 0 and 1
  edit.only_masked = !whole || (whole->is_number() ? fields.integer("inpaint_full_res", 0, 1) == 1 : *fields.flag("inpaint_full_res"));
  edit.mask_padding = fields.integer("inpaint_full_res_padding", 0, 1 << 16).value_or(0);
}

// The request as A1111 echoes it.
Json echo_of(const Fields& fields, bool from_image) {
  Json echo = Json::parse(R"({"prompt": "", "negative_prompt": "", "styles": null, "seed": -1, "subseed": -1, "subseed_strength": 0,
    "seed_resize_from_h": -1, "seed_resize_from_w": -1, "sampler_name": null, "scheduler": null, "batch_size": 1, "n_iter": 1, "steps": 50,
    "cfg_scale": 7.0, "width": 512, "height": 512, "restore_faces": null, "tiling": null, "do_not_save_samples": false,
    "do_not_save_grid": false, "eta": null, "denoising_strength": null, "s_min_uncond": null, "s_churn": null, "s_tmax": null,
    "s_tmin": null, "s_noise": null, "override_settings": null, "override_settings_restore_afterwards": true, "refiner_checkpoint": null,
    "refiner_switch_at": null, "disable_extra_networks": false, "comments": null})");
  const char* const of_text = R"({"enable_hr": false, "firstphase_width": 0, "firstphase_height": 0, "hr_scale": 2.0, "hr_upscaler": null,
    "hr_second_pass_steps": 0, "hr_resize_x": 0, "hr_resize_y": 0, "hr_checkpoint_name": null, "hr_sampler_name": null,
    "hr_scheduler": null, "hr_prompt": "", "hr_negative_prompt": ""})";
  const char* const of_image = R"({"init_images": null, "resize_mode": 0, "image_cfg_scale": null, "mask": null, "mask_blur_x": 4,
    "mask_blur_y": 4, "mask_blur": null, "inpainting_fill": 0, "inpaint_full_res": true, "inpaint_full_res_padding": 0,
    "inpainting_mask_invert": 0, "initial_noise_multiplier": null, "latent_mask": null})";
  echo.update(Json::parse(from_image ? of_image : of_text));
  echo.update(Json::parse(R"({"sampler_index": "Euler", "script_name": null, "script_args": [], "send_images": true, "save_images": false,
    "alwayson_scripts": {}})"));
  echo.update(fields.json());
  if (from_image && !fields.flag("include_init_images").value_or(false)) echo["init_images"] = echo["mask"] = nullptr;
  echo.erase("include_init_images");
  return echo;
}

}  // namespace

A1111Request read_a1111_request(const Fields& fields, bool from_image, const A1111Options& options, const ImageService& service) {
  A1111Request read{.form = options.form(), .clip_skip = options.clip_skip, .echo = echo_of(fields, from_image)};
  const ImageService::Limits& limits = service.limits();
  Request& request = read.task.request;
  check_only(fields, shared_only);
  check_only(fields, from_image ? std::span<const Only>(image_only) : text_only);
  options.apply(request);
  request.prompt = fields.text("prompt").value_or("");
  // An empty one is the family's own: in A1111, too, it is zeros for Stable Diffusion XL.
  if (const auto negative = fields.text("negative_prompt"); negative && !negative->empty()) request.negative_prompt = negative;
  request.width = fields.integer("width", 1, most_side).value_or(512);
  request.height = fields.integer("height", 1, most_side).value_or(512);
  check_size(fields, "width", request.width, request.height, service.traits().side_unit);
  request.steps = fields.integer("steps", 1, limits.steps).value_or(50);
  request.guidance = fields.number("cfg_scale", 0, infinite).value_or(7);
  if (const auto distilled = fields.number("distilled_cfg_scale", 0, infinite)) {  // Forge's, for networks with the scale as input
    request.options["true_cfg_scale"] = *request.guidance;
    request.guidance = distilled;
  }
  request.batch_size = fields.integer("batch_size", 1, limits.images).value_or(1);
  read.task.batches = fields.integer("n_iter", 1, limits.images).value_or(1);
  read_seeds(fields, request);
  read_sampler(fields, options, read);
  if (from_image) read_images(fields, limits.input_pixels, request);
  else read_hires(fields, request);
  read_scripts(fields, limits, request);
  read.send_images = fields.flag("send_images").value_or(true);
  read.task_id = fields.text("force_task_id").value_or("");
  if (options.live_previews) read.task.preview_every = options.preview_every > 0 ? options.preview_every : request.steps;
  if (read.form.format != "png") check_save("image." + read.form.format, {}, request);
  return read;
}

std::string a1111_info(const A1111Request& read, const A1111Results& results, const std::string& model, const std::string& timestamp) {
  const Json& echo = read.echo;
  const std::string prompt = echo.value("prompt", Json()).is_string() ? echo["prompt"].get<std::string>() : "";
  const std::string negative = echo.value("negative_prompt", Json()).is_string() ? echo["negative_prompt"].get<std::string>() : "";
  Json infotexts = Json::array();
  for (const Image& image : results.images) infotexts.push_back(image.parameters);
  const size_t count = results.images.size();
  std::string hash;
  if (count > 0)
    if (const std::string* found = parse_parameters(results.images[0].parameters).find("Model hash")) hash = *found;
  const auto first = [](const std::vector<uint64_t>& seeds) { return seeds.empty() ? Json(-1) : Json(seeds[0]); };
  const Json info{{"prompt", prompt},
                  {"all_prompts", std::vector<std::string>(count, prompt)},
                  {"negative_prompt", negative},
                  {"all_negative_prompts", std::vector<std::string>(count, negative)},
                  {"seed", first(results.seeds)},
                  {"all_seeds", results.seeds},
                  {"subseed", first(results.variation_seeds)},
                  {"all_subseeds", results.variation_seeds},
                  {"subseed_strength", echo["subseed_strength"]},
                  {"width", echo["width"]},
                  {"height", echo["height"]},
                  {"sampler_name", read.sampler},
                  {"cfg_scale", echo["cfg_scale"]},
                  {"steps", echo["steps"]},
                  {"batch_size", echo["batch_size"]},
                  {"restore_faces", false},
                  {"face_restoration_model", nullptr},
                  {"sd_model_name", model},
                  {"sd_model_hash", hash},
                  {"sd_vae_name", nullptr},
                  {"sd_vae_hash", nullptr},
                  {"seed_resize_from_w", -1},
                  {"seed_resize_from_h", -1},
                  {"denoising_strength", echo["denoising_strength"]},
                  {"extra_generation_params", Json::object()},
                  {"index_of_first_image", 0},
                  {"infotexts", infotexts},
                  {"styles", Json::array()},
                  {"job_timestamp", timestamp},
                  {"clip_skip", read.clip_skip},
                  {"is_using_inpainting_conditioning", false}};
  return info.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hearth::server
