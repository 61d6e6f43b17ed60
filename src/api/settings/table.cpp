#include "api/settings/table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/settings/a1111.h"
#include "api/settings/loras.h"
#include "api/settings/members.h"
#include "api/settings/names.h"
#include "api/settings/rerun_arguments.h"
#include "core/text/utf8.h"
#include "sampling/guidance/guidance.h"
#include "sampling/samplers.h"

namespace hearth::api {
namespace {

// A row whose values are checked before they are set.
Row checked(Row row, void (*check)(const std::string&)) {
  row.set = [check, set = std::move(row.set)](Request& r, const std::string& text) {
    check(text);
    set(r, text);
  };
  return row;
}

// A row whose value is read in another way.
Row with_value(Row row, Json (*value)(const Request&)) {
  row.value = value;
  return row;
}

// The options that differ from their defaults.
Json changed(const std::map<std::string, std::string>& values, std::span<const sampling::Option> options) {
  std::map<std::string, std::string> others = values;
  for (const sampling::Option& o : options)
    if (const auto found = others.find(std::string(o.name)); found != others.end() && found->second == sampling::text_of(o, o.standard))
      others.erase(found);
  return others;
}

Row embeddings() {
  return {
      .setting = {.name = "embeddings",
                  .flags = "--embedding",
                  .aliases = {"--textual-inversion"},
                  .type = "[NAME=]FILE",
                  .help =
                      "Textual inversion file, .safetensors or .pt; prompts refer to it as NAME, or as embedding:NAME in ComfyUI's syntax",
                  .default_text = "none; NAME is the file name without its extension",
                  .group = group::adapters,
                  .repeatable = true},
      .form = Form::names,
      .set = [](Request& r, const std::string& text) { r.embeddings.push_back(read_embedding(text)); },
      .value =
          [](const Request& r) {
            Json list = Json::array();
            for (const Embedding& e : r.embeddings) list.push_back({{"name", valid_utf8(e.name)}, {"file", valid_utf8(e.file.string())}});
            return list;
          },
      .reporting = {.keep = Keep::always,
                    .metadata_value =
                        [](const Request& r) {
                          Json names = Json::array();
                          for (const Embedding& e : r.embeddings) names.push_back(valid_utf8(e.name));
                          return names;
                        },
                    .value_if_missing = "",
                    .rerun = rerun_embeddings}};
}

std::vector<Row> prompt_rows() {
  return {
      row({.name = "prompt",
           .flags = "-p,--prompt",
           .type = "TEXT",
           .help = "What the image shows; may be empty",
           .default_text = "required",
           .group = group::prompt,
           .basic = true},
          at(&Request::prompt), {.keep = Keep::always}),
      row({.name = "negative_prompt",
           .flags = "-n,--negative-prompt",
           .type = "TEXT",
           .help = "What the image must not show; acts if --cfg-scale is above 1",
           .default_text = "empty",
           .group = group::prompt,
           .basic = true},
          at(&Request::negative_prompt),
          {.keep = Keep::always, .is_default = [](const Request& r) { return !r.negative_prompt; }, .rerun = rerun_unless_default}),
      row({.name = "prompt_syntax",
           .flags = "--prompt-syntax",
           .help = "How prompts are parsed: plain text, A1111's (a:1.3), [b], [from:to:when], [a|b], AND, BREAK, or ComfyUI's",
           .default_text = "plain; with --compat a1111 or comfyui that program's",
           .group = group::prompt},
          at(&Request::prompt_syntax), {.keep = Keep::always, .value_if_missing = "plain"}),
      row({.name = "emphasis",
           .flags = "--emphasis",
           .help = "How weights act in A1111's syntax: original, no-norm (does not restore the mean), ignore (drops the weights), none "
                   "(brackets are text)",
           .default_text = "original",
           .group = group::prompt},
          at(&Request::emphasis),
          {.keep = Keep::always,
           .omitted_value = {{"original"}},
           .value_if_missing = "",
           .a1111 = "Emphasis",
           .a1111_value = a1111_emphasis}),
      embeddings(),
      loras(),
      lora_folder(),
  };
}

std::vector<Row> image_and_step_rows() {
  return {
      row({.name = "width",
           .flags = "-W,--width",
           .help = "Width in pixels, a multiple of 8 (of 16 for transformers)",
           .default_text = "the model's native size",
           .group = group::image,
           .minimum = 1,
           .basic = true},
          at(&Request::width),
          {.keep = Keep::always,
           .is_default = [](const Request& r) { return !r.width; },
           .a1111 = "Size",
           .a1111_value = [](const Request& r) { return fmt::format("{}x{}", r.width.value_or(0), r.height.value_or(0)); }}),
      row({.name = "height",
           .flags = "-H,--height",
           .help = "Height in pixels, a multiple of 8 (of 16 for transformers)",
           .default_text = "the model's native size",
           .group = group::image,
           .minimum = 1,
           .basic = true},
          at(&Request::height), {.keep = Keep::always, .is_default = [](const Request& r) { return !r.height; }}),
      row({.name = "refiner_start",
           .flags = "--refiner-start",
           .aliases = {"--refiner-switch-at"},
           .help = "Share of the noise schedule after which the refiner takes over, between 0 and 1",
           .default_text = "0.8",
           .group = group::sampling},
          at(&Request::refiner_start),
          {.keep = Keep::given, .object = "refiner", .key = "start", .a1111 = "Refiner switch at", .rerun = rerun_refiner}),
      row({.name = "steps",
           .flags = "--steps",
           .help = "Number of denoising steps; more take longer and rarely help beyond 50. --sigmas sets its own number",
           .default_text = "the model's own, usually 50",
           .group = group::sampling,
           .minimum = 1,
           .basic = true},
          at(&Request::steps),
          {.keep = Keep::always,
           .is_default = [](const Request& r) { return r.steps == 0 && r.sigmas.empty(); },
           .a1111 = "Steps",
           .rerun = rerun_steps}),
  };
}

std::vector<Row> guidance_rows() {
  return {
      row({.name = "guidance",
           .flags = "--cfg-scale",
           .aliases = {"--guidance-scale", "--guidance", "--cfg"},
           .help = "Guidance scale: how strongly the image follows the prompt. 1 turns classifier-free guidance off and halves the time; "
                   "so do smaller values, except with --compat comfyui and a1111. Some models receive it as input instead",
           .default_text = "the model's own, usually 7.5",
           .group = group::guidance,
           .basic = true},
          at(&Request::guidance), {.keep = Keep::always, .is_default = [](const Request& r) { return !r.guidance; }, .a1111 = "CFG scale"}),
      checked(row({.name = "guidance_method",
                   .flags = "--guidance-method",
                   .type = "NAME",
                   .help = "Guidance method; hearth list guidance describes them",
                   .default_text = "cfg",
                   .group = group::guidance,
                   .choices = names_of(list_guidance())},
                  at(&Request::guidance_method),
                  {.keep = Keep::beside, .object = "guidance_settings", .key = "method", .order = 1, .omitted_value = {{"cfg"}}}),
              check_guidance),
      row({.name = "guidance_rescale",
           .flags = "--guidance-rescale",
           .help = "Rescale the guided prediction towards the standard deviation of the conditional one, 0 to 1; use about 0.7 against "
                   "overexposure at high guidance scales",
           .group = group::guidance},
          at(&Request::guidance_rescale), {.keep = Keep::beside, .object = "guidance_settings", .key = "rescale", .order = 1}),
      row({.name = "guidance_interval",
           .flags = "--guidance-interval",
           .type = "LOW,HIGH",
           .help = "Apply guidance only at noise levels (sigma) from LOW to HIGH",
           .default_text = "all noise levels",
           .group = group::guidance},
          at(&Request::guidance_interval), {.keep = Keep::given, .object = "guidance_settings", .key = "interval", .order = 1}),
      row({.name = "guidance_options",
           .flags = "--guidance-opt",
           .help = "Option of the guidance method; all methods have start and stop (shares of the run), space (answer, x0 or v), threshold "
                   "and threshold_most",
           .default_text = "those of the method",
           .group = group::guidance},
          at(&Request::guidance_options),
          {.keep = Keep::beside,
           .object = "guidance_settings",
           .key = "options",
           .order = 1,
           .metadata_value =
               [](const Request& r) { return changed(r.guidance_options, sampling::find_guidance(r.guidance_method).options); }}),
  };
}

std::vector<Row> sampler_rows() {
  return {
      checked(row({.name = "sampler",
                   .flags = "--sampler",
                   .aliases = {"--sampling-method"},
                   .type = "NAME",
                   .help = "Sampler, such as euler, dpmpp_2m or \"DPM++ 2M Karras\"; hearth list samplers describes them",
                   .default_text = "the checkpoint's own",
                   .group = group::sampling,
                   .choices = names_of(list_samplers()),
                   .basic = true},
                  at(&Request::sampler),
                  {.keep = Keep::always,
                   .is_default = [](const Request& r) { return r.sampler.empty(); },
                   .a1111 = "Sampler",
                   .a1111_value = a1111_sampler}),
              check_sampler),
      row({.name = "sampler_options",
           .flags = "--sampler-opt",
           .help = "Option of the sampler, such as eta=0.5; hearth list samplers prints them",
           .default_text = "those of the sampler",
           .group = group::sampling},
          at(&Request::sampler_options),
          {.keep = Keep::given,
           .metadata_value = [](const Request& r) { return changed(r.sampler_options, sampling::find_sampler(r.sampler).options); }}),
      checked(row({.name = "schedule",
                   .flags = "--schedule",
                   .aliases = {"--scheduler"},
                   .type = "NAME",
                   .help = "Noise schedule, such as karras; hearth list schedules describes them",
                   .default_text = "the checkpoint's own",
                   .group = group::sampling,
                   .choices = names_of(list_schedules())},
                  at(&Request::schedule),
                  {.keep = Keep::always,
                   .is_default = [](const Request& r) { return r.schedule.empty() && r.sigmas.empty(); },
                   .a1111 = "Schedule type",
                   .a1111_value = a1111_schedule,
                   .rerun = rerun_schedule}),
              check_schedule),
      row({.name = "schedule_options",
           .flags = "--schedule-opt",
           .help = "Option of the schedule, such as rho=5",
           .default_text = "those of the schedule",
           .group = group::sampling},
          at(&Request::schedule_options)),
      row({.name = "sigmas",
           .flags = "--sigmas",
           .type = "LIST",
           .help = "Explicit noise levels instead of a schedule: decreasing numbers separated by commas, the last 0",
           .default_text = "the schedule's",
           .group = group::sampling},
          at(&Request::sigmas)),
  };
}

std::vector<Row> noise_rows() {
  return {
      row({.name = "seed",
           .flags = "--seed",
           .aliases = {"-s"},
           .help = "Seed of the first image; the next images count up from it",
           .default_text = "random",
           .group = group::sampling,
           .basic = true},
          at(&Request::seed), {.keep = Keep::always, .is_default = [](const Request& r) { return !r.seed; }, .a1111 = "Seed"}),
      row({.name = "variation_seed",
           .flags = "--variation-seed",
           .aliases = {"--subseed"},
           .help = "Seed whose noise --variation-strength blends in",
           .default_text = "random",
           .group = group::sampling},
          at(&Request::variation, &Variation::seed),
          {.keep = Keep::beside,
           .object = "variation",
           .key = "seed",
           .order = 3,
           .omitted_value = {{"0"}},
           .a1111 = "Variation seed",
           .a1111_value = [](const Request& r) { return r.variation.strength > 0 ? fmt::format("{}", r.variation.seed.value_or(0)) : ""; },
           .rerun = rerun_always}),
      row({.name = "variation_strength",
           .flags = "--variation-strength",
           .aliases = {"--subseed-strength"},
           .help = "Blend the noise towards that of --variation-seed, 0 to 1; small values make variations of an image",
           .group = group::sampling,
           .minimum = 0,
           .maximum = 1},
          at(&Request::variation, &Variation::strength),
          {.keep = Keep::given, .object = "variation", .key = "strength", .order = 3, .a1111 = "Variation seed strength"}),
  };
}

std::vector<Row> batch_and_program_rows() {
  return {
      row({.name = "batch_size",
           .flags = "--batch-size",
           .help = "Number of images generated together; faster than --batch-count, but takes more memory",
           .group = group::image,
           .minimum = 1},
          at(&Request::batch_size), {.keep = Keep::always, .rerun = rerun_batch_size}),
      row({.name = "compat",
           .flags = "--compat",
           .help = "Reproduce the images of this program: use its noise, its noise schedule and its starting point",
           .default_text = "hearth's own noise, image by image",
           .group = group::sampling},
          at(&Request::compat), {.keep = Keep::always, .order = 1, .omitted_value = {{""}}}),
      with_value_aliases(
          with_value(row({.name = "rng",
                          .flags = "--rng",
                          .help = "Noise generator: cpu is PyTorch's on the CPU, nv is A1111's Philox (cuda in stable-diffusion.cpp)",
                          .default_text = "cpu; with --compat a1111 nv",
                          .group = group::sampling},
                         at(&Request::rng), {.report = Report::both, .omitted_value = {{""}}, .a1111 = "RNG", .a1111_value = a1111_rng}),
                     [](const Request& r) { return json_of(r.rng ? name_of(*r.rng) : ""); }),
          {{"cuda", "nv"}}),
      row({.name = "eta_noise_seed_delta",
           .flags = "--ensd",
           .aliases = {"--eta-noise-seed-delta"},
           .help = "A1111's eta noise seed delta: offset of the seed for the noise that samplers add",
           .group = group::sampling},
          at(&Request::eta_noise_seed_delta), {.keep = Keep::given, .order = 2, .a1111 = "ENSD"}),
      row({.name = "batch_index",
           .flags = "--batch-index",
           .help = "With --compat comfyui: generate the images of a larger batch from this index on",
           .group = group::sampling,
           .minimum = 0},
          at(&Request::batch_index), {.keep = Keep::always, .rerun = rerun_batch_index}),
  };
}

}  // namespace

Row with_value_aliases(Row row, std::map<std::string, std::string> aliases) {
  row.set = [aliases = std::move(aliases), set = std::move(row.set)](Request& r, const std::string& text) {
    const auto found = aliases.find(text);
    set(r, found == aliases.end() ? text : found->second);
  };
  return row;
}

std::vector<Row> shared_rows() {
  std::vector<Row> all;
  for (auto part : {prompt_rows, image_and_step_rows, guidance_rows, sampler_rows, noise_rows, editing_rows, batch_and_program_rows})
    for (Row& row : part()) all.push_back(std::move(row));
  return all;
}

}  // namespace hearth::api
