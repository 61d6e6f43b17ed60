#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/debug_text.h"
#include "cli/editing_flags.h"
#include "cli/open_flags.h"
#include "cli/outputs.h"
#include "cli/progress_line.h"
#include "cli/sampler_flag.h"
#include "cli/size_flags.h"
#include "core/error.h"
#include "core/file.h"

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* notes =
    "One picture goes to the file that --output names. Several go beside it, numbered in order: house.png becomes house-1.png, "
    "house-2.png, "
    "…, first the pictures of the first batch. Files that are there are replaced. The folder must exist.\n"
    "Picture k of all, counted from 0, is drawn from the seed plus k and comes out the same alone as in a batch. With --compat diffusers "
    "and comfyui one generator, seeded by the seed plus the number of pictures in earlier batches, draws the noise of a whole batch, as "
    "those programs do.\n"
    "Ctrl-C ends the run; finished pictures stay. Exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted.";

struct GenerateFlags {
  OpenFlags open;
  EditingFlags editing;
  std::string preview;
  Request request;
  SaveOptions save;
  std::string output = "hearth.png", noise, save_latents, resume, vae_tiling;
  int64_t memory_limit = 0;
  std::vector<std::string> guidance_options, sampler_options, schedule_options;
  std::optional<int64_t> steps;
  std::optional<Compat> compat;
  int64_t batch_count = 1;
  bool prompt_given = false, json = false;

  void add_to(Flags& flags);
  void settle_steps();
};

void GenerateFlags::add_to(Flags& flags) {
  flags.add("-p,--prompt", "TEXT", "What to draw; needed, may be empty", "", [this](const std::string& t) {
    request.prompt = t;
    prompt_given = true;
  });
  flags.text("-n,--negative-prompt", "TEXT", "What to keep away from; acts with --cfg-scale above 1", request.negative_prompt, "nothing");
  flags.text("--prompt-2", "TEXT", "The prompt of Stable Diffusion XL's second text encoder", request.prompt_2, "--prompt");
  flags.text("--negative-prompt-2", "TEXT", "Its negative prompt", request.negative_prompt_2, "--negative-prompt");
  flags.choice("--prompt-syntax",
               "How prompts are read: A1111's (a:1.3), [b], [from:to:when], [a|b], AND, BREAK; ComfyUI's; or as plain text",
               request.prompt_syntax, "plain; with --compat a1111 and comfyui that program's");
  flags.choice("--emphasis", "What weights do in A1111's syntax; no-norm does without restoring the mean", request.emphasis, "original");
  flags.integer("--clip-skip", "Layer of the text encoder whose states are used, from its end: 2 is the last but one", request.clip_skip,
                "1; of Stable Diffusion XL 2");
  flags.integer("--clip-skip-2", "The same of Stable Diffusion XL's second text encoder", request.clip_skip_2,
                "--clip-skip; with --compat a1111 2");
  add_embeddings(flags, request.embeddings);
  flags.path("-m,--model", "Checkpoint: a folder in the diffusers layout, or a single file (.safetensors, .ckpt)", open.model,
             "the demo model");
  flags.text("-o,--output", "FILE", "The picture, .png, .jpg, .jpeg or .webp", output);
  flags.add("--quality", "N", "Of a JPEG, 1 to 100, or a WebP, 0 to 100 or the word lossless", "90", [this](const std::string& t) {
    if (t == "lossless") save.lossless = true;
    else save.quality = int(parse_integer(t, 0, 100));
  });
  flags.add("--chroma", "NAME", "Resolution of a JPEG's colours, 4:2:0 or 4:4:4", "4:2:0", [this](const std::string& t) {
    save.jpeg_chroma = check_word(t, std::vector<std::string>{"4:2:0", "4:4:4"}) == "4:4:4" ? JpegChroma::full : JpegChroma::half;
  });
  flags.add("--png-bits", "N", "Bits of each colour of a PNG, 8 or 16", "8", [this](const std::string& t) {
    save.png_bits = int(parse_integer(t, 1, 16));
    request.deep_colour = save.png_bits == 16;
  });
  flags.integer("-W,--width", "Pixels, a multiple of 8", request.width, "the checkpoint's native size");
  flags.integer("-H,--height", "Pixels, a multiple of 8", request.height, "the checkpoint's native size");
  add_size_flags(flags, request.sizes);
  flags.integer("--steps", "Sampler steps; --sigmas brings its own number", steps, "50");
  flags.number("--cfg-scale,--guidance", "Strength of classifier-free guidance; 1: none; less, too, but with --compat comfyui and a1111",
               request.guidance);
  flags.choice("--guidance-method", "NAME", "See hearth list guidance", request.guidance_method, choice_of(list_guidance()), "cfg");
  flags.list("--guidance-opt", "NAME=VALUE",
             "An option of the method; start, stop (parts of the run), space (answer, x0, v), threshold and threshold_most belong to all",
             guidance_options);
  flags.number("--guidance-rescale", "How far the guided answer takes on the deviation of the prompt's: 0 not, 1 all of it",
               request.guidance_rescale);
  flags.add("--guidance-interval", "LOW,HIGH", "Guide only at noise levels from LOW to HIGH", "all levels",
            [this](const std::string& t) { request.guidance_interval = parse_interval(t); });
  add_sampler(flags, "See hearth list samplers; a schedule's name may stand behind it, as in \"DPM++ 2M Karras\"", request.sampler);
  flags.list("--sampler-opt", "NAME=VALUE", "An option of the sampler, as eta=0.5; hearth list samplers has them", sampler_options);
  flags.choice("--schedule", "NAME", "See hearth list schedules", request.schedule, choice_of(list_schedules()), "the checkpoint's own");
  flags.list("--schedule-opt", "NAME=VALUE", "An option of the schedule, as rho=5", schedule_options);
  flags.add("--sigmas", "LIST", "Noise levels in place of a schedule: falling numbers with commas between them, the last 0",
            "the schedule's", [this](const std::string& t) { request.sigmas = parse_numbers(t); });
  flags.toggle("--discard-penultimate",
               "Make one noise level more and leave out the last but one: A1111's setting \"Always discard next-to-last sigma\"",
               request.discard_penultimate);
  flags.add("--seed", "N", "Of the first picture's noise", "random", [this](const std::string& t) { request.seed = parse_seed(t); });
  editing.add_to(flags);
  flags.integer("--batch-size", "Pictures drawn together", request.batch_size);
  flags.integer("--batch-count", "Batches drawn one after another", batch_count);
  flags.choice("--compat", "Draw the noise, and take the levels of the steps, as this program does", compat,
               "hearth's own: noise picture by picture");
  flags.choice("--rng", "Where noise is drawn: PyTorch's CPU generator, or A1111's Philox (stable-diffusion.cpp's cuda)", request.rng,
               "cpu; with --compat a1111 nv");
  flags.integer("--ensd", "A1111's eta noise seed delta: the noise of the steps comes from seeds so much higher",
                request.eta_noise_seed_delta, {.low = std::numeric_limits<int64_t>::min()});
  flags.integer("--batch-index", "ComfyUI: the pictures are those from this number on of a larger batch", request.batch_index, {.low = 0});
  flags.text("--noise", "FILE",
             "The first noise, instead of the seed's: safetensors, key noise, standard normal, [pictures, channels, height/8, width/8]",
             noise, "drawn from the seed");
  flags.text("--save-latents", "FILE",
             "Write safetensors of all pictures: noise, and latents before division by the autoencoder's scaling factor", save_latents,
             "not written");
  flags.text("--preview", "FILE", "Show the running picture in this file, as far as its latents tell; of a batch numbered like --output",
             preview, "not shown");
  flags.text("--preview-decoder", "PATH", "Make previews with this small autoencoder, TAESD or TAESDXL: its decoder's file, or a folder",
             open.preview_decoder, "a colour for each latent pixel");
  flags.integer("--preview-every", "Steps between two previews", request.preview.every);
  flags.add("--stop-after", "K", "Stop after K sampler steps; --save-latents then holds what --resume goes on from", "at the end",
            [this](const std::string& t) { request.stop_after = parse_integer(t, 1, 1 << 20); });
  flags.text("--resume", "FILE", "Go on from a file of --stop-after, with the same flags: the picture is that of the whole run", resume,
             "from the first step");
  flags.text("--refiner", "PATH", "A second checkpoint, Stable Diffusion XL's refiner, that does the last steps", open.refiner, "none");
  flags.add("--refiner-start", "X", "The part of the noise schedule after which it goes on, between 0 and 1", "0.8",
            [this](const std::string& t) { request.refiner_start = parse_number(t); });
  open.add_parts(flags);
  open.add_place(flags);
  open.add_components(flags);
  open.add_session(flags);
  flags.add("--memory-limit", "SIZE",
            "Most memory that the run may take, as 3G, 2500M or 2.6GB: networks are loaded one after another, then the picture decoded "
            "in tiles, where it needs that; refused where nothing helps",
            "none", [this](const std::string& t) { memory_limit = parse_size(t); });
  flags.choice("--vae-tiling", "", "Decode the picture in tiles that overlap: less memory, not quite the same picture", vae_tiling,
               {.names = {"auto", "on", "off"}}, "auto: where --memory-limit asks for it");
  flags.integer("--vae-tile-size", "Side of a tile in pixels, a multiple of 32", request.vae_tile, "the checkpoint's own");
  add_debug(flags, request.debug);
  flags.toggle("--json", "Print one JSON object on stdout: files, seeds, warnings, and a report of every batch", json);
}

void GenerateFlags::settle_steps() {
  for (const auto& [name, value] : named_values("--schedule-opt", schedule_options)) request.schedule_options[name] = parse_number(value);
  const auto given = int64_t(request.sigmas.size()) - 1;
  if (!request.sigmas.empty() && steps && *steps != given) fail<UsageError>("--steps: {}, but --sigmas makes {}", *steps, given);
  request.steps = steps.value_or(request.sigmas.empty() ? request.steps : given);
}

// Everything that can fail without the model does so before the model is loaded.
std::vector<fs::path> check_outputs(const GenerateFlags& f) {
  constexpr int64_t most = 1 << 20;  // each is a name in memory and a place that is tried
  if (f.request.batch_size > most / f.batch_count)
    fail<UsageError>("--batch-size: {} times --batch-count {} is too many pictures, needed at most {}", f.request.batch_size, f.batch_count,
                     most);
  check_save(f.output, f.save, f.request);
  const std::vector<fs::path> files = output_names(f.output, f.request.batch_size * f.batch_count);
  if ((f.request.stop_after > 0 || !f.resume.empty()) && f.batch_count > 1)
    fail<UsageError>("--batch-count: {} batches cannot be stopped and resumed, needed 1", f.batch_count);
  if (f.request.stop_after > 0 && f.save_latents.empty())
    fail<UsageError>("--stop-after: what --resume needs would be lost; --save-latents names the file for it");
  for (const fs::path& file : files) check_writable(file);
  if (!f.save_latents.empty()) check_writable(f.save_latents);
  if (f.preview.empty() && !f.open.preview_decoder.empty()) fail<UsageError>("--preview-decoder: acts with --preview only");
  if (!f.preview.empty()) {
    check_save(f.preview, {}, f.request);
    for (const fs::path& file : output_names(f.preview, f.request.batch_size)) check_writable(file);
  }
  return files;
}

std::optional<Array> load_noise(const GenerateFlags& f) {
  if (f.noise.empty()) return std::nullopt;
  Array noise = load_array(f.noise, "noise");
  const int64_t pictures = f.request.batch_size * f.batch_count;
  if (noise.shape.size() != 4 || noise.shape[0] != pictures)
    fail<UsageError>("--noise: {} has shape [{}], needed [{}, channels, height/8, width/8]", f.noise, fmt::join(noise.shape, ", "),
                     pictures);
  return noise;
}

void run_generate(std::span<const std::string> arguments) {
  GenerateFlags f;
  Flags flags("generate", "Draws pictures from a prompt.", notes);
  f.add_to(flags);
  if (!flags.parse(arguments)) return;
  f.settle_steps();
  f.request.compat = f.compat.value_or(Compat::hearth);
  if (!f.prompt_given) fail<UsageError>("generate: --prompt is missing; --prompt \"\" draws without one");
  f.editing.apply(f.request);
  const std::vector<fs::path> files = check_outputs(f);
  const std::optional<Array> noise = load_noise(f);

  ProgressLine line;
  const OnProgress progress = [&line](const Progress& p) { line.update(p); };
  OpenOptions open = f.open.options();
  open.progress = progress;
  open.load_when_needed = true;
  open.memory_limit = f.memory_limit;
  Model model = f.open.model.empty() ? Model::open_demo(open) : Model::open(f.open.model, open);

  Request request = f.request;
  request.sampler_options = named_values("--sampler-opt", f.sampler_options);
  if (!f.resume.empty()) request.resume = load_state(f.resume);
  request.guidance_options = named_values("--guidance-opt", f.guidance_options);
  if (f.vae_tiling == "on") request.vae_tiling = VaeTiling::on;
  if (f.vae_tiling == "off") request.vae_tiling = VaeTiling::off;
  if (!f.preview.empty())
    request.preview.show = [&f](const std::vector<Image>& pictures, int64_t, int64_t) {
      const std::vector<fs::path> shown = output_names(f.preview, int64_t(pictures.size()));
      for (size_t k = 0; k < pictures.size(); ++k) pictures[k].save(shown[k]);
    };
  request.progress = progress;
  request.cancel = &cancelled;
  Json pictures = Json::array(), reports = Json::array(), warnings = Json::array();
  std::map<std::string, Array> arrays;
  std::map<std::string, std::string> metadata;
  size_t next = 0;
  for (int64_t batch = 0; batch < f.batch_count; ++batch) {
    if (noise) request.noise = slice(*noise, batch * request.batch_size, (batch + 1) * request.batch_size);
    request.last = batch + 1 == f.batch_count;
    if (batch == 0) {
      const Model::Prediction memory = model.predict_memory(request);
      line.say(fmt::format("hearth: memory: {:.2f} GB expected, {}", double(memory.bytes) * 1e-9, memory.mode));
    }
    const Generation made = model.generate(request);
    Json report = Json::parse(made.report);
    const auto seed = report.at("request").at("seed").get<uint64_t>();
    for (const std::string& warning : made.warnings)
      if (std::find(warnings.begin(), warnings.end(), Json(warning)) == warnings.end()) {
        line.say("hearth: warning: " + warning);
        warnings.push_back(warning);
      }
    line.finish();
    for (size_t k = 0; k < made.images.size(); ++k) {
      const Image& image = made.images[k];
      const fs::path& file = files.at(next++);
      image.save(file, f.save);
      const bool own = (request.compat == Compat::hearth || request.compat == Compat::a1111) && request.variation.strength == 0;
      const uint64_t own_seed = own ? seed + k : seed;
      pictures.push_back({{"file", file.string()}, {"width", image.width}, {"height", image.height}, {"seed", own_seed}});
      if (!f.json) fmt::print("{}: {}×{}, seed {}\n", file.string(), image.width, image.height, own_seed);
    }
    if (!f.save_latents.empty()) {
      append(arrays["noise"], made.noise);
      append(arrays["latents"], made.latents);
    }
    if (made.state) {
      arrays.insert(made.state->arrays.begin(), made.state->arrays.end());
      metadata["hearth_state"] = made.state->json;
    }
    if (!f.json && report.contains("debug")) fmt::print("{}\n", debug_text(report["debug"]));
    if (request.variation.strength > 0)
      request.variation.seed = report.at("request").at("variation_seed").get<uint64_t>() + uint64_t(request.batch_size);
    reports.push_back(std::move(report));
    request.seed = request.variation.strength > 0 ? seed : seed + uint64_t(request.batch_size);
  }
  if (!f.save_latents.empty()) save_arrays(f.save_latents, arrays, metadata);
  if (f.json)
    fmt::print("{}\n", Json{{"hearth", version()},
                            {"pictures", pictures},
                            {"latents", f.save_latents.empty() ? Json() : Json(f.save_latents)},
                            {"warnings", warnings},
                            {"runs", reports}}
                           .dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

const Command generate = {"generate", "draw pictures from a prompt", run_generate};

}  // namespace hearth::cli
