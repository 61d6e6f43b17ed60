#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/open_flags.h"
#include "cli/progress_line.h"

namespace hearth::cli {
namespace {

void run_bench(std::span<const std::string> arguments) {
  OpenFlags open;
  BenchOptions options;
  bool json = false;
  Flags flags("bench", "Measures load, text, denoiser step and decode, and the machine's own ceilings in the same run.");
  const std::vector<std::string> image = image_benchmarks(), language = language_benchmarks();
  Flags::Choice what{.names = {"ops", "blocks"}};
  what.names.insert(what.names.end(), image.begin(), image.end());
  what.names.insert(what.names.end(), {"vae", "clip", "threads", "paths", "samplers"});
  flags.choice(
      "what", "",
      fmt::format("Whole model ({}), one part of it (vae, clip), its blocks, the step by threads or by kernel paths, samplers beside it, "
                  "or operations",
                  fmt::join(image, ", ")),
      options.what, what, image.front());
  flags.text("-m,--model", "NAME",
             fmt::format("Of all but ops: {}, {} (generated weights of full size), demo, or a checkpoint", fmt::join(image, ", "),
                         fmt::join(language, ", ")),
             options.model, image.front());
  flags.text("--weights", "TYPE", fmt::format("Of {}: f16, bf16, q8_0, q4_0, q4_k, …", fmt::join(language, " and ")), options.weights,
             "f16");
  flags.text("--keep", "PATH", "Of generated weights of a whole model: keep them in this new folder, or, of a language model, GGUF file",
             options.keep);
  flags.integer("-W,--width", "Pixels, a multiple of 8; of all but ops and clip", options.width, "what the model is made for");
  flags.integer("-H,--height", "Pixels, a multiple of 8; of all but ops and clip", options.height, "what the model is made for");
  flags.integer("--repeats", "Times that each part is measured; the median is told", options.repeats, {.low = 1, .high = 1000});
  flags.text("--only", "WORD", "ops: those with this in their name", options.only, "all");
  flags.choice("--hold", "", "ops: hold weights so and multiply f32", options.hold, {.names = {"f32", "f16", "bf16"}}, "by --precision");
  flags.choice("--path", "", "Kernel path", options.path, {.names = {"avx2", "avx512", "avx512bf16", "amx"}}, "the best");
  open.add_place(flags);
  flags.toggle("--json", "Print one JSON object on stdout", json);
  if (!flags.parse(arguments)) return;

  const OpenOptions place = open.options();
  options.variant = place.variant;
  options.device = place.device;
  options.threads = place.threads;
  options.precision = place.precision;
  options.cancel = &cancelled;
  Bench measured;
  {
    ProgressLine line;
    options.progress = [&line](const Progress& p) { line.update(p); };
    measured = hearth::bench(options);
  }
  fmt::print("{}{}", json ? measured.json : measured.text, json ? "\n" : "");
}

}  // namespace

const Command bench = {"bench", "measure speed and memory", run_bench};

}  // namespace hearth::cli
