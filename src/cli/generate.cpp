#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/generate_flags.h"
#include "cli/json_text.h"
#include "cli/log.h"
#include "cli/outputs.h"
#include "cli/progress_line.h"
#include "core/error.h"
#include "core/files/file.h"
#include "hearth/preprocess.h"

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* notes =
    "One image is written to --output. Several are numbered: house.png becomes house-1.png, house-2.png, … Existing files are "
    "replaced; the folder must exist.\n"
    "Image k, counted from 0, has the seed plus k, and is the same image alone or in a batch. With --compat diffusers or comfyui one "
    "generator draws the noise of a whole batch, as those programs do; it is seeded with the seed plus the number of images in earlier "
    "batches.\n"
    "Ctrl-C ends the run and keeps finished images. Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.";

// Checks that outputs can be written, before the model is loaded.
std::vector<fs::path> check_outputs(const GenerateFlags& f) {
  check_save(f.output, f.save, f.request);
  const std::vector<fs::path> files = output_names(f.output, f.request.batch_size * f.batch_count);
  for (const fs::path& file : files) check_writable(file);
  if (!f.save_latents.empty()) check_writable(f.save_latents);
  if (!f.save_control.empty()) {
    check_save(f.save_control, {}, f.request);
    for (const fs::path& file : output_names(f.save_control, int64_t(f.request.controls.size()))) check_writable(file);
  }
  if (!f.preview.empty()) {
    check_save(f.preview, {}, f.request);
    for (const fs::path& file : output_names(f.preview, f.request.batch_size)) check_writable(file);
  }
  return files;
}

void save_controls(const GenerateFlags& f) {
  if (f.save_control.empty()) return;
  const std::vector<Control>& controls = f.request.controls;
  const std::vector<fs::path> files = output_names(f.save_control, int64_t(controls.size()));
  for (size_t k = 0; k < controls.size(); ++k) preprocess(controls[k].image, controls[k].preprocess).save(files[k]);
}

std::optional<Array> load_noise(const GenerateFlags& f) {
  if (f.noise.empty()) return std::nullopt;
  Array noise = load_array(f.noise, "noise");
  const int64_t images = f.request.batch_size * f.batch_count;
  if (noise.shape.size() != 4 || noise.shape[0] != images)
    fail<UsageError>("--noise: {} has shape [{}], expected [{}, channels, height/8, width/8]", f.noise, fmt::join(noise.shape, ", "),
                     images);
  return noise;
}

Model open_model(const GenerateFlags& f, const OnProgress& progress) {
  OpenOptions open = f.open.options();
  open.progress = progress;
  open.load_when_needed = true;
  open.memory_limit = f.memory_limit;
  return f.open.model.empty() ? Model::open_demo(open) : Model::open(f.open.model, open);
}

// With --verbose: what the run used.
void log_run(const Generation& made) {
  if (verbosity() != Verbosity::verbose) return;
  const Json report = Json::parse(made.report);
  const Json &request = report.at("request"), &seconds = report.at("seconds"), &memory = report.at("memory");
  for (const Json& c : report.at("components")) {
    log_detail(fmt::format("{}: {}, {} parameters, {} in memory, {}, on {}", c.at("name").get<std::string>(),
                           c.at("class").get<std::string>(), c.at("parameters").get<int64_t>(), format_bytes(c.at("bytes").get<int64_t>()),
                           c.at("held").get<std::string>(), c.at("device").get<std::string>()));
    if (const Json blocks = c.value("blocks", Json::object()); blocks.value("loads", 0) > 0)
      log_detail(fmt::format("{}: {} of {} blocks stay in memory; {} loads took {}, waited {}", c.at("name").get<std::string>(),
                             blocks.at("in_memory").get<int64_t>(), blocks.at("count").get<int64_t>(), blocks.at("loads").get<int64_t>(),
                             format_time(blocks.at("load_seconds").get<double>()), format_time(blocks.at("wait_seconds").get<double>())));
    if (c.contains("gpu"))
      log_detail(fmt::format("{}: {} of {} blocks on the GPU, {}", c.at("name").get<std::string>(), c["gpu"].at("blocks").get<int64_t>(),
                             c["gpu"].at("of_blocks").get<int64_t>(), format_bytes(c["gpu"].at("bytes").get<int64_t>())));
  }
  log_detail(fmt::format("settings: {}×{}, {} steps, sampler {}, schedule {}, guidance scale {}, seed {}, {} denoiser calls",
                         request.at("width").get<int64_t>(), request.at("height").get<int64_t>(), request.at("steps").get<int64_t>(),
                         request.at("sampler").get<std::string>(), request.at("schedule").get<std::string>(),
                         request.at("guidance").get<double>(), request.at("seed").get<uint64_t>(),
                         report.at("network_calls").get<int64_t>()));
  log_detail(fmt::format("time: load {}, prompts {}, steps {}, decode {}, total {}", format_time(seconds.at("load").get<double>()),
                         format_time(seconds.at("encode").get<double>()), format_time(seconds.at("sample").get<double>()),
                         format_time(seconds.at("decode").get<double>()), format_time(seconds.at("total").get<double>())));
  log_detail(fmt::format("memory: peak {}, planned {} of weights and {} of activations",
                         format_bytes(memory.at("measured").at("process_peak").get<int64_t>()),
                         format_bytes(memory.at("planned").at("weights").get<int64_t>()),
                         format_bytes(memory.at("planned").at("activations").get<int64_t>())));
  if (memory.contains("gpu"))
    log_detail(fmt::format("memory of the GPU: peak {}, planned {}", format_bytes(memory["gpu"].at("measured").at("peak").get<int64_t>()),
                           format_bytes(memory["gpu"].at("planned").at("peak").get<int64_t>())));
}

// How much of each adapter the model has.
void log_adapters(const Generation& made) {
  for (const Json& adapter : Json::parse(made.report).value("adapters", Json::array())) log_info(adapter.at("text").get<std::string>());
}

// Writes and reports the images.
class Results {
 public:
  Results(const GenerateFlags& f, std::vector<fs::path> files, ProgressLine& line) : f_(f), files_(std::move(files)), line_(line) {}

  void add(const Generation& made) {
    for (const std::string& warning : made.warnings)
      if (std::ranges::find(warnings_, warning) == warnings_.end()) {
        log_warning(warning);
        warnings_.push_back(warning);
      }
    line_.finish();
    if (reports_.empty()) log_adapters(made);
    log_run(made);
    for (size_t k = 0; k < made.images.size(); ++k) add(made.images[k], made.seeds[k]);
    if (!f_.save_latents.empty()) {
      append(arrays_["noise"], made.noise);
      append(arrays_["latents"], made.latents);
    }
    if (made.state) {
      arrays_.insert(made.state->arrays.begin(), made.state->arrays.end());
      metadata_["hearth_state"] = made.state->json;
    }
    if (!f_.json && !made.debug_text.empty()) fmt::print("{}\n", made.debug_text);
    reports_.push_back(made.report);
  }

  void finish() const {
    if (!f_.save_latents.empty()) save_arrays(f_.save_latents, arrays_, metadata_);
    if (!f_.json) return;
    const Json latents = f_.save_latents.empty() ? Json() : Json(f_.save_latents);
    Json all{{"hearth", version()}, {"images", images_}, {"latents", latents}, {"warnings", warnings_}};
    all["pictures"] = images_;  // the name of "images" before 0.2
    fmt::print("{}\n", with_member(all, "runs", fmt::format("[{}]", fmt::join(reports_, ","))));
  }

 private:
  void add(const Image& image, uint64_t seed) {
    const fs::path& file = files_.at(images_.size());
    image.save(file, f_.save);
    images_.push_back({{"file", file.string()}, {"width", image.width}, {"height", image.height}, {"seed", seed}});
    if (!f_.json) fmt::print("{}: {}×{}, seed {}\n", file.string(), image.width, image.height, seed);
  }

  const GenerateFlags& f_;
  std::vector<fs::path> files_;
  ProgressLine& line_;
  Json images_ = Json::array();
  std::vector<std::string> warnings_, reports_;
  std::map<std::string, Array> arrays_;
  std::map<std::string, std::string> metadata_;
};

// Sets the seeds of the next batch.
void advance_seeds(Request& request, const Generation& made) {
  const auto images = uint64_t(request.batch_size);
  if (request.variation.strength > 0) request.seed = made.seed, request.variation.seed = made.variation_seed + images;
  else request.seed = made.seed + images;
}

void run_generate(std::span<const std::string> arguments) {
  GenerateFlags f;
  Flags flags("generate", "Generate images from a prompt: text-to-image, image-to-image, inpainting and outpainting.", notes);
  f.add_to(flags);
  flags.example("hearth generate -p \"a red house at sunset\" --seed 4 -o house.png", "Generate an image with the demo model");
  flags.example("hearth generate -m stable-diffusion-v1-5 -p \"a lighthouse at dawn\" --steps 25 --sampler dpmpp_2m --schedule karras",
                "Run a checkpoint with the sampler DPM++ 2M Karras");
  flags.example("hearth generate -m sd_xl_base_1.0.safetensors -p \"a lighthouse\" -W 1024 -H 1024 --memory-limit 6G",
                "Run a large checkpoint within 6 GB of memory");
  flags.example("hearth generate -m stable-diffusion-v1-5 -p \"oil painting\" -i photo.jpg --strength 0.6 -o painting.png",
                "Image-to-image");
  if (!flags.parse(arguments)) return;
  f.check(flags);
  const std::vector<fs::path> files = check_outputs(f);
  const std::optional<Array> noise = load_noise(f);
  save_controls(f);

  ProgressLine line;
  const OnProgress progress = [&line](const Progress& p) { line.update(p); };
  Model model = open_model(f, progress);
  Request request = f.request;
  if (!f.resume.empty()) request.resume = load_state(f.resume);
  if (!f.preview.empty())
    request.preview.show = [&f](const std::vector<Image>& images, int64_t, int64_t) {
      const std::vector<fs::path> shown = output_names(f.preview, int64_t(images.size()));
      for (size_t k = 0; k < images.size(); ++k) images[k].save(shown[k]);
    };
  request.progress = progress;
  request.cancel = &canceled;

  Results results(f, files, line);
  for (int64_t batch = 0; batch < f.batch_count; ++batch) {
    if (noise) request.noise = slice(*noise, batch * request.batch_size, (batch + 1) * request.batch_size);
    request.last = batch + 1 == f.batch_count;
    Job job = model.prepare(request);
    if (batch == 0 && f.open.model.empty())
      log_info("no --model: using the built-in demo model, a toy; hearth pull ORG/NAME downloads a checkpoint, -m PATH runs it");
    if (batch == 0) {
      const Model::Prediction memory = job.memory();
      const std::string gpu = memory.gpu_bytes ? fmt::format(" and {} of the GPU", format_bytes(*memory.gpu_bytes)) : "";
      log_info(fmt::format("memory: {:.2f} GB{} planned, {}", double(memory.bytes) * 1e-9, gpu, memory.mode));
    }
    const Generation made = job.run();
    results.add(made);
    advance_seeds(request, made);
  }
  results.finish();
}

}  // namespace

const Command generate = {"generate", "Generate images from a prompt", run_generate, "Images"};

}  // namespace hearth::cli
