#include "api/settings/table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/settings/a1111.h"
#include "api/settings/again.h"
#include "api/settings/members.h"
#include "api/settings/names.h"
#include "core/utf8.h"
#include "sampling/guidance.h"
#include "sampling/samplers.h"

namespace hearth::api {
namespace {

// Headings of the help.
constexpr const char *prompt = "Prompt", *image = "Image", *steps = "Steps", *guidance = "Guidance", *noise = "Noise",
                     *start = "Starting from an image", *second = "Second pass", *decoding = "Decoding";

constexpr double most_steps = 1 << 20;

// A row whose values are checked before they are taken.
Row checked(Row row, void (*check)(const std::string&)) {
  row.set = [check, set = std::move(row.set)](Request& r, const std::string& text) {
    check(text);
    set(r, text);
  };
  return row;
}

// A row that is told in another way.
Row valued(Row row, Json (*value)(const Request&)) {
  row.value = value;
  return row;
}

Row with_image(Setting shown, std::optional<Image> Editing::*member, std::string Editing::*name) {
  shown.type = "FILE";
  return {.shown = std::move(shown),
          .set =
              [=](Request& r, const std::string& text) {
                r.edit.*member = Image::load(text);
                r.edit.*name = text;
              },
          .value = [=](const Request& r) { return r.edit.*member ? told(r.edit.*name) : nothing(); },
          .image = [=](const Request& r) -> const std::optional<Image>& { return r.edit.*member; },
          .told = {.report = Report::among_flags}};
}

// Those that differ from their defaults.
Json changed(const std::map<std::string, std::string>& values, std::span<const sampling::Option> options) {
  std::map<std::string, std::string> others = values;
  for (const sampling::Option& o : options)
    if (const auto found = others.find(std::string(o.name)); found != others.end() && found->second == sampling::text_of(o, o.standard))
      others.erase(found);
  return others;
}

Row embeddings() {
  return {.shown = {.name = "embeddings",
                    .flags = "--embedding",
                    .type = "[NAME=]FILE",
                    .help = "Textual inversion, .safetensors or .pt: prompts name it NAME, or embedding:NAME in ComfyUI's syntax",
                    .standard = "none; NAME is the file's name without its ending",
                    .group = prompt,
                    .repeatable = true},
          .form = Form::names,
          .set = [](Request& r, const std::string& text) { r.embeddings.push_back(read_embedding(text)); },
          .value =
              [](const Request& r) {
                Json list = Json::array();
                for (const Embedding& e : r.embeddings)
                  list.push_back({{"name", valid_utf8(e.name)}, {"file", valid_utf8(e.file.string())}});
                return list;
              },
          .told = {.keep = Keep::always,
                   .kept =
                       [](const Request& r) {
                         Json names = Json::array();
                         for (const Embedding& e : r.embeddings) names.push_back(valid_utf8(e.name));
                         return names;
                       },
                   .earlier = "",
                   .again = embeddings_again}};
}

Row hires() {
  return {.shown = {.name = "hires",
                    .flags = "--hires",
                    .type = "SCALE",
                    .help = "A second pass on the image made larger, 1 to 64",
                    .standard = "none",
                    .group = second},
          .form = Form::number,
          .set = [](Request& r, const std::string& text) { r.hires = Hires{.scale = read<double>(text, {})}; },
          .value = [](const Request& r) { return r.hires ? told(r.hires->scale) : nothing(); },
          .told = {.report = Report::among_flags, .a1111 = "Hires upscale"}};
}

std::vector<Row> of_prompts() {
  return {
      row({.name = "prompt", .flags = "-p,--prompt", .type = "TEXT", .help = "What to draw; needed, may be empty", .group = prompt},
          at(&Request::prompt), {.keep = Keep::always}),
      row({.name = "negative_prompt",
           .flags = "-n,--negative-prompt",
           .type = "TEXT",
           .help = "What to keep away from; acts with --cfg-scale above 1",
           .standard = "nothing",
           .group = prompt},
          at(&Request::negative_prompt),
          {.keep = Keep::always, .left_open = [](const Request& r) { return !r.negative_prompt; }, .again = again_unless_left_open}),
      row({.name = "prompt_syntax",
           .flags = "--prompt-syntax",
           .help = "How prompts are read: A1111's (a:1.3), [b], [from:to:when], [a|b], AND, BREAK; ComfyUI's; or as plain text",
           .standard = "plain; with --compat a1111 and comfyui that program's",
           .group = prompt},
          at(&Request::prompt_syntax), {.keep = Keep::always, .earlier = "plain"}),
      row({.name = "emphasis",
           .flags = "--emphasis",
           .help = "What weights do in A1111's syntax; no-norm does without restoring the mean",
           .standard = "original",
           .group = prompt},
          at(&Request::emphasis),
          {.keep = Keep::always, .unsaid = {{"original"}}, .earlier = "", .a1111 = "Emphasis", .a1111_value = a1111_emphasis}),
      embeddings(),
  };
}

std::vector<Row> of_image_and_steps() {
  return {
      row({.name = "width",
           .flags = "-W,--width",
           .help = "Pixels, a multiple of 8",
           .standard = "the checkpoint's native size",
           .group = image,
           .least = 1},
          at(&Request::width),
          {.keep = Keep::always,
           .left_open = [](const Request& r) { return !r.width; },
           .a1111 = "Size",
           .a1111_value = [](const Request& r) { return fmt::format("{}x{}", r.width.value_or(0), r.height.value_or(0)); }}),
      row({.name = "height",
           .flags = "-H,--height",
           .help = "Pixels, a multiple of 8",
           .standard = "the checkpoint's native size",
           .group = image,
           .least = 1},
          at(&Request::height), {.keep = Keep::always, .left_open = [](const Request& r) { return !r.height; }}),
      row({.name = "refiner_start",
           .flags = "--refiner-start",
           .help = "The part of the noise schedule after which the refiner goes on, between 0 and 1",
           .standard = "0.8",
           .group = steps},
          at(&Request::refiner_start),
          {.keep = Keep::given, .object = "refiner", .key = "start", .a1111 = "Refiner switch at", .again = refiner_again}),
      row({.name = "steps", .flags = "--steps", .help = "Sampler steps; --sigmas brings its own number", .group = steps, .least = 1},
          at(&Request::steps), {.keep = Keep::always, .a1111 = "Steps", .again = steps_again}),
  };
}

std::vector<Row> of_guidance() {
  return {
      row({.name = "guidance",
           .flags = "--cfg-scale,--guidance",
           .help = "Strength of classifier-free guidance; 1: none; less, too, but with --compat comfyui and a1111",
           .group = guidance},
          at(&Request::guidance), {.keep = Keep::always, .a1111 = "CFG scale"}),
      checked(row({.name = "guidance_method",
                   .flags = "--guidance-method",
                   .type = "NAME",
                   .help = "See hearth list guidance",
                   .standard = "cfg",
                   .group = guidance,
                   .choices = names_of(list_guidance())},
                  at(&Request::guidance_method),
                  {.keep = Keep::beside, .object = "guidance_settings", .key = "method", .late = 1, .unsaid = {{"cfg"}}}),
              check_guidance),
      row({.name = "guidance_rescale",
           .flags = "--guidance-rescale",
           .help = "How far the guided answer takes on the deviation of the prompt's: 0 not, 1 all of it",
           .group = guidance},
          at(&Request::guidance_rescale), {.keep = Keep::beside, .object = "guidance_settings", .key = "rescale", .late = 1}),
      row({.name = "guidance_interval",
           .flags = "--guidance-interval",
           .type = "LOW,HIGH",
           .help = "Guide only at noise levels from LOW to HIGH",
           .standard = "all levels",
           .group = guidance},
          at(&Request::guidance_interval), {.keep = Keep::given, .object = "guidance_settings", .key = "interval", .late = 1}),
      row({.name = "guidance_options",
           .flags = "--guidance-opt",
           .help =
               "An option of the method; start, stop (parts of the run), space (answer, x0, v), threshold and threshold_most belong to all",
           .group = guidance},
          at(&Request::guidance_options),
          {.keep = Keep::beside,
           .object = "guidance_settings",
           .key = "options",
           .late = 1,
           .kept = [](const Request& r) { return changed(r.guidance_options, sampling::find_guidance(r.guidance_method).options); }}),
  };
}

std::vector<Row> of_sampler() {
  return {
      checked(row({.name = "sampler",
                   .flags = "--sampler",
                   .type = "NAME",
                   .help = "See hearth list samplers; a schedule's name may stand behind it, as in \"DPM++ 2M Karras\"",
                   .standard = "the checkpoint's own",
                   .group = steps,
                   .choices = names_of(list_samplers())},
                  at(&Request::sampler),
                  {.keep = Keep::always,
                   .left_open = [](const Request& r) { return r.sampler.empty(); },
                   .a1111 = "Sampler",
                   .a1111_value = a1111_sampler}),
              check_sampler),
      row({.name = "sampler_options",
           .flags = "--sampler-opt",
           .help = "An option of the sampler, as eta=0.5; hearth list samplers has them",
           .group = steps},
          at(&Request::sampler_options),
          {.keep = Keep::given,
           .kept = [](const Request& r) { return changed(r.sampler_options, sampling::find_sampler(r.sampler).options); }}),
      checked(row({.name = "schedule",
                   .flags = "--schedule",
                   .type = "NAME",
                   .help = "See hearth list schedules",
                   .standard = "the checkpoint's own",
                   .group = steps,
                   .choices = names_of(list_schedules())},
                  at(&Request::schedule),
                  {.keep = Keep::always,
                   .left_open = [](const Request& r) { return r.schedule.empty() && r.sigmas.empty(); },
                   .a1111 = "Schedule type",
                   .a1111_value = a1111_schedule,
                   .again = schedule_again}),
              check_schedule),
      row({.name = "schedule_options", .flags = "--schedule-opt", .help = "An option of the schedule, as rho=5", .group = steps},
          at(&Request::schedule_options)),
      row({.name = "sigmas",
           .flags = "--sigmas",
           .type = "LIST",
           .help = "Noise levels in place of a schedule: falling numbers with commas between them, the last 0",
           .standard = "the schedule's",
           .group = steps},
          at(&Request::sigmas)),
  };
}

std::vector<Row> of_noise() {
  return {
      row({.name = "seed", .flags = "--seed", .help = "Of the first image's noise", .standard = "random", .group = noise},
          at(&Request::seed), {.keep = Keep::always, .left_open = [](const Request& r) { return !r.seed; }, .a1111 = "Seed"}),
      row({.name = "variation_seed",
           .flags = "--variation-seed",
           .help = "The seed whose noise --variation-strength goes towards",
           .standard = "random",
           .group = noise},
          at(&Request::variation, &Variation::seed),
          {.keep = Keep::beside,
           .object = "variation",
           .key = "seed",
           .late = 3,
           .unsaid = {{"0"}},
           .a1111 = "Variation seed",
           .a1111_value = [](const Request& r) { return r.variation.strength > 0 ? fmt::format("{}", r.variation.seed.value_or(0)) : ""; },
           .again = again_whatever_it_is}),
      row({.name = "variation_strength",
           .flags = "--variation-strength",
           .help = "How far the noise lies on the way to that of --variation-seed, 0 to 1",
           .group = noise,
           .least = 0,
           .most = 1},
          at(&Request::variation, &Variation::strength),
          {.keep = Keep::given, .object = "variation", .key = "strength", .late = 3, .a1111 = "Variation seed strength"}),
  };
}

std::vector<Row> among_flags() {
  const Telling flag{.report = Report::among_flags};
  const auto as_a1111 = [](std::string_view name) { return Telling{.report = Report::among_flags, .a1111 = name}; };
  const auto edit = [](auto Editing::*member) { return at(&Request::edit, member); };
  const auto pass = [](auto Hires::*member) { return at(&Request::hires, member); };
  return {
      row({.name = "discard_penultimate",
           .flags = "--discard-penultimate",
           .help = "Make one noise level more and leave out the last but one: A1111's setting \"Always discard next-to-last sigma\"",
           .group = steps},
          at(&Request::discard_penultimate),
          {.report = Report::among_flags,
           .a1111 = "Discard penultimate sigma",
           .a1111_value = [](const Request& r) { return r.discard_penultimate ? "True" : ""; }}),
      with_image({.name = "init_image",
                  .flags = "-i,--init-image",
                  .help = "Start from this image, PNG, JPEG or WebP; without -W and -H the run has its size",
                  .standard = "from noise",
                  .group = start},
                 &Editing::picture, &Editing::picture_name),
      row({.name = "strength",
           .flags = "--strength,--denoise",
           .help = "How much of the run is done on the image, 0 to 1",
           .standard = "0.8, with a mask 1; of a refiner alone 0.3; with --compat diffusers the pipeline's",
           .group = start,
           .least = 0,
           .most = 1},
          edit(&Editing::strength), as_a1111("Denoising strength")),
      row({.name = "resize_mode",
           .flags = "--resize-mode",
           .help = "Into a size of another shape: both sides stretched; cropped; or filled up by its edges",
           .group = start},
          edit(&Editing::resize), flag),
      with_image({.name = "mask",
                  .flags = "--mask",
                  .help = "Paint only where this image is white, of the same size as the other",
                  .standard = "everywhere",
                  .group = start},
                 &Editing::mask, &Editing::mask_name),
      row({.name = "mask_from_alpha", .flags = "--mask-from-alpha", .help = "Paint where the image is transparent", .group = start},
          edit(&Editing::mask_from_alpha), flag),
      row({.name = "mask_invert", .flags = "--mask-invert", .help = "Paint where the mask is black instead", .group = start},
          edit(&Editing::mask_invert), flag),
      row({.name = "mask_blur", .flags = "--mask-blur", .help = "Blur the mask: standard deviation in pixels", .group = start},
          edit(&Editing::mask_blur), as_a1111("Mask blur")),
      row({.name = "inpaint_fill",
           .flags = "--inpaint-fill",
           .help = "Under the mask at first: the image, the colours around it, noise, or nothing",
           .standard = "original; with --outpaint fill",
           .group = start},
          edit(&Editing::fill), as_a1111("Masked content")),
      row({.name = "only_masked",
           .flags = "--only-masked",
           .help = "Draw the masked region alone, in the run's size, and put it back into the image",
           .group = start},
          edit(&Editing::only_masked),
          {.report = Report::among_flags,
           .a1111 = "Inpaint area",
           .a1111_value = [](const Request& r) { return r.edit.only_masked ? "Only masked" : ""; }}),
      row({.name = "mask_padding",
           .flags = "--mask-padding",
           .help = "Pixels around that region which are seen with it",
           .group = start,
           .least = 0},
          edit(&Editing::mask_padding), as_a1111("Masked area padding")),
      row({.name = "outpaint",
           .flags = "--outpaint",
           .type = "L,T,R,B",
           .help = "Paint so many pixels beyond the left, top, right and bottom of the image",
           .standard = "none",
           .group = start},
          edit(&Editing::outpaint), flag),
      with_image({.name = "depth_map",
                  .flags = "--depth-map",
                  .help = "For models that are told it: how near things are, the nearer the lighter",
                  .standard = "none",
                  .group = start},
                 &Editing::depth_map, &Editing::depth_map_name),
      row({.name = "image_guidance",
           .flags = "--image-guidance",
           .help = "Models that edit as they are told: how near they stay to the image, 1 and more",
           .standard = "1.5",
           .group = start},
          edit(&Editing::image_guidance), as_a1111("Image CFG scale")),
      hires(),
      row({.name = "hires_upscaler",
           .flags = "--hires-upscaler",
           .type = "NAME",
           .help = "How it is made larger: latent, latent-antialiased, latent-bicubic, latent-bicubic-antialiased, latent-nearest, "
                   "latent-nearest-exact; or decoded: nearest, bilinear, bicubic, lanczos",
           .standard = Hires().upscaler,
           .group = second},
          pass(&Hires::upscaler), as_a1111("Hires upscaler"), "--hires"),
      row({.name = "hires_steps",
           .flags = "--hires-steps",
           .help = "Steps of the second pass, all of which are done",
           .standard = "those of the first",
           .group = second,
           .least = 1,
           .most = most_steps},
          pass(&Hires::steps), {.report = Report::among_flags, .unsaid = {{"0"}}, .a1111 = "Hires steps"}, "--hires"),
      row({.name = "hires_strength",
           .flags = "--hires-strength",
           .help = "How far back in the noise the second pass begins, 0 to 1",
           .standard = fmt::format("{}", Hires().strength),
           .group = second,
           .least = 0,
           .most = 1},
          pass(&Hires::strength), as_a1111("Denoising strength"), "--hires"),
      row({.name = "vae_tiling",
           .flags = "--vae-tiling",
           .help = "Decode the image in tiles that overlap: less memory, not quite the same image",
           .standard = "auto: where --memory-limit asks for it",
           .group = decoding},
          at(&Request::vae_tiling), flag),
      row({.name = "vae_tile_size",
           .flags = "--vae-tile-size",
           .help = "Side of a tile in pixels, a multiple of 32",
           .standard = "the checkpoint's own",
           .group = decoding,
           .least = 1},
          at(&Request::vae_tile), flag),
  };
}

std::vector<Row> of_batches_and_programs() {
  return {
      row({.name = "batch_size", .flags = "--batch-size", .help = "Images drawn together", .group = image, .least = 1},
          at(&Request::batch_size), {.keep = Keep::always, .again = batch_size_again}),
      row({.name = "compat",
           .flags = "--compat",
           .help = "Draw the noise, and take the levels of the steps, as this program does",
           .standard = "hearth's own: noise image by image",
           .group = noise},
          at(&Request::compat), {.keep = Keep::always, .late = 1, .unsaid = {{""}}}),
      valued(row({.name = "rng",
                  .flags = "--rng",
                  .help = "Where noise is drawn: PyTorch's CPU generator, or A1111's Philox (stable-diffusion.cpp's cuda)",
                  .standard = "cpu; with --compat a1111 nv",
                  .group = noise},
                 at(&Request::rng), {.report = Report::both, .unsaid = {{""}}, .a1111 = "RNG", .a1111_value = a1111_rng}),
             [](const Request& r) { return told(r.rng ? name_of(*r.rng) : ""); }),
      row({.name = "eta_noise_seed_delta",
           .flags = "--ensd",
           .help = "A1111's eta noise seed delta: the noise of the steps comes from seeds so much higher",
           .group = noise},
          at(&Request::eta_noise_seed_delta), {.keep = Keep::given, .late = 2, .a1111 = "ENSD"}),
      row({.name = "batch_index",
           .flags = "--batch-index",
           .help = "ComfyUI: the images are those from this number on of a larger batch",
           .group = noise,
           .least = 0},
          at(&Request::batch_index), {.keep = Keep::always, .again = batch_index_again}),
  };
}

}  // namespace

std::vector<Row> shared_rows() {
  std::vector<Row> all;
  for (auto part : {of_prompts, of_image_and_steps, of_guidance, of_sampler, of_noise, among_flags, of_batches_and_programs})
    for (Row& row : part()) all.push_back(std::move(row));
  return all;
}

}  // namespace hearth::api
