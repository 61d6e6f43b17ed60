#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/generate_flags.h"
#include "cli/json_text.h"
#include "cli/outputs.h"
#include "cli/progress_line.h"
#include "core/error.h"
#include "core/file.h"

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* notes =
    "One image goes to the file that --output names. Several go beside it, numbered in order: house.png becomes house-1.png, "
    "house-2.png, "
    "…, first the images of the first batch. Files that are there are replaced. The folder must exist.\n"
    "Image k of all, counted from 0, is drawn from the seed plus k and comes out the same alone as in a batch. With --compat diffusers "
    "and comfyui one generator, seeded by the seed plus the number of images in earlier batches, draws the noise of a whole batch, as "
    "those programs do.\n"
    "Ctrl-C ends the run; finished images stay. Exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted.";

// What is written, found not to fail before the model is loaded.
std::vector<fs::path> check_outputs(const GenerateFlags& f) {
  check_save(f.output, f.save, f.request);
  const std::vector<fs::path> files = output_names(f.output, f.request.batch_size * f.batch_count);
  for (const fs::path& file : files) check_writable(file);
  if (!f.save_latents.empty()) check_writable(f.save_latents);
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

Model open_model(const GenerateFlags& f, const OnProgress& progress) {
  OpenOptions open = f.open.options();
  open.progress = progress;
  open.load_when_needed = true;
  open.memory_limit = f.memory_limit;
  return f.open.model.empty() ? Model::open_demo(open) : Model::open(f.open.model, open);
}

// What has been drawn so far, told and written.
class Drawn {
 public:
  Drawn(const GenerateFlags& f, std::vector<fs::path> files, ProgressLine& line) : f_(f), files_(std::move(files)), line_(line) {}

  void add(const Generation& made) {
    for (const std::string& warning : made.warnings)
      if (std::ranges::find(warnings_, warning) == warnings_.end()) {
        line_.say("hearth: warning: " + warning);
        warnings_.push_back(warning);
      }
    line_.finish();
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
    const Json all{{"hearth", version()}, {"pictures", pictures_}, {"latents", latents}, {"warnings", warnings_}};
    fmt::print("{}\n", with_member(all, "runs", fmt::format("[{}]", fmt::join(reports_, ","))));
  }

 private:
  void add(const Image& image, uint64_t seed) {
    const fs::path& file = files_.at(pictures_.size());
    image.save(file, f_.save);
    pictures_.push_back({{"file", file.string()}, {"width", image.width}, {"height", image.height}, {"seed", seed}});
    if (!f_.json) fmt::print("{}: {}×{}, seed {}\n", file.string(), image.width, image.height, seed);
  }

  const GenerateFlags& f_;
  std::vector<fs::path> files_;
  ProgressLine& line_;
  Json pictures_ = Json::array();
  std::vector<std::string> warnings_, reports_;
  std::map<std::string, Array> arrays_;
  std::map<std::string, std::string> metadata_;
};

// The seeds of the batch that follows.
void go_on(Request& request, const Generation& made) {
  const auto drawn = uint64_t(request.batch_size);
  if (request.variation.strength > 0) request.seed = made.seed, request.variation.seed = made.variation_seed + drawn;
  else request.seed = made.seed + drawn;
}

void run_generate(std::span<const std::string> arguments) {
  GenerateFlags f;
  Flags flags("generate", "Draws images from a prompt.", notes);
  f.add_to(flags);
  if (!flags.parse(arguments)) return;
  f.settle(flags);
  const std::vector<fs::path> files = check_outputs(f);
  const std::optional<Array> noise = load_noise(f);

  ProgressLine line;
  const OnProgress progress = [&line](const Progress& p) { line.update(p); };
  Model model = open_model(f, progress);
  Request request = f.request;
  if (!f.resume.empty()) request.resume = load_state(f.resume);
  if (!f.preview.empty())
    request.preview.show = [&f](const std::vector<Image>& pictures, int64_t, int64_t) {
      const std::vector<fs::path> shown = output_names(f.preview, int64_t(pictures.size()));
      for (size_t k = 0; k < pictures.size(); ++k) pictures[k].save(shown[k]);
    };
  request.progress = progress;
  request.cancel = &cancelled;

  Drawn drawn(f, files, line);
  for (int64_t batch = 0; batch < f.batch_count; ++batch) {
    if (noise) request.noise = slice(*noise, batch * request.batch_size, (batch + 1) * request.batch_size);
    request.last = batch + 1 == f.batch_count;
    Job job = model.prepare(request);
    if (batch == 0) line.say(fmt::format("hearth: memory: {:.2f} GB expected, {}", double(job.memory().bytes) * 1e-9, job.memory().mode));
    const Generation made = job.run();
    drawn.add(made);
    go_on(request, made);
  }
  drawn.finish();
}

}  // namespace

const Command generate = {"generate", "draw images from a prompt", run_generate};

}  // namespace hearth::cli
