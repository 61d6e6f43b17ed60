#include "hearth/bench.h"

#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/open_flags.h"
#include "cli/progress_line.h"
#include "core/error.h"

namespace hearth::cli {
namespace {

void run_bench(std::span<const std::string> arguments) {
  OpenFlags open;
  BenchOptions options;
  bool json = false;
  Flags flags(
      "bench",
      "Measure speed and memory: loading, text encoding, denoising steps and decoding, or prefill and decode, next to the limits of this "
      "machine measured in the same run.");
  const std::vector<std::string> image = image_benchmarks(), language = language_benchmarks();
  std::vector<std::string> models = image;
  models.insert(models.end(), language.begin(), language.end());
  models.emplace_back("demo");
  Flags::Choice what{.names = {"ops", "blocks"}};
  what.names.insert(what.names.end(), image.begin(), image.end());
  what.names.insert(what.names.end(), {"step", "vae", "clip", "threads", "paths", "samplers", "serve"});
  flags.choice("what", "WHAT",
               fmt::format("What to measure: a whole model ({}), one component (a denoising step, vae, clip), its blocks, a step per "
                           "thread count (threads) or kernel path (paths), the overhead of samplers, a server under load (serve), or "
                           "single operations (ops)",
                           fmt::join(image, ", ")),
               options.what, what, image.front());
  flags.group("Model");
  flags
      .text(
          "-m,--model", "NAME",
          fmt::format("Model: {} or {} (full size with generated weights), demo, or a checkpoint; ops measures those of all of these image "
                      "models unless one is named",
                      fmt::join(image, ", "), fmt::join(language, ", ")),
          options.model, image.front())
      .completes(models);
  open.add_variant(flags);
  flags
      .text("--weight-type", "TYPE",
            "Data type of generated weights, of an image model's denoiser and text encoders: f16, bf16, q8_0, q4_0, q4_k, …",
            options.weights, "f16, or that of --precision")
      .also("--weights");
  flags
      .text("--save-weights", "PATH", "Keep the generated weights of a whole model: a new folder, or a GGUF file of a language model",
            options.keep, "not kept")
      .also("--keep");
  flags.group("Image");
  flags.integer("-W,--width", "Width in pixels, a multiple of 8 (of 16 for transformers); not for ops and clip", options.width,
                "the model's native size");
  flags.integer("-H,--height", "Height in pixels, a multiple of 8 (of 16 for transformers); not for ops and clip", options.height,
                "the model's native size");
  flags.group("Options");
  flags
      .integer("-r,--repetitions", "Number of measurements of each part; the median is reported", options.repeats, {.low = 1, .high = 1000})
      .also("--repeats");
  flags.text("--filter", "TEXT", "ops: only those with this text in their names", options.only, "all").also("--only");
  flags
      .choice("--ops-weight-type", "", "ops: hold weights in this type and multiply in f32", options.hold,
              {.names = {"f32", "f16", "bf16"}}, "chosen by --precision")
      .also("--hold");
  flags
      .choice("--kernel-path", "", "Use this instruction set at most", options.path, {.names = {"avx2", "avx512", "avx512bf16", "amx"}},
              "the best that the CPU supports")
      .also("--path");
  flags.add("--clients", "N[,N]", "serve: numbers of clients at once", "1,8,32", [&options](const std::string& t) {
    options.clients.clear();
    for (size_t begin = 0; begin <= t.size();) {
      const size_t end = std::min(t.find(',', begin), t.size());
      options.clients.push_back(parse_integer(t.substr(begin, end - begin), 1, 4096));
      begin = end + 1;
    }
  });
  flags.integer("--prompt-tokens", "serve: tokens of each prompt", options.prompt_tokens);
  flags.integer("--answer-tokens", "serve: tokens of each answer", options.answer_tokens, {.low = 2});
  flags.text("--url", "URL", "serve: measure this server, which takes token ids as prompts of /v1/completions", options.url, "an own one");
  flags.group("Memory and performance");
  open.add_device(flags);
  add_json(flags, "machine, parts with their times, peak memory", json);
  flags.example("hearth bench", "Measure Stable Diffusion 1.5 at full size on this machine");
  flags.example("hearth bench -m model.gguf --threads 4", "Measure prefill and decode of a checkpoint");
  flags.example(fmt::format("hearth bench serve -m {} --weight-type q8_0", language.front()), "Measure a server with 1, 8 and 32 clients");
  flags.example("hearth bench ops --filter attention --kernel-path avx2", "Measure single operations");
  if (!flags.parse(arguments)) return;

  const OpenOptions common = open.options();
  options.variant = common.variant;
  options.device = common.device;
  options.threads = common.threads;
  options.gpu_layers = common.gpu_layers;
  if (common.gpu_memory) fail<UsageError>("bench: --gpu-memory divides networks for a run, expected --gpu-layers");
  options.precision = common.precision;
  options.cancel = &canceled;
  Bench measured;
  {
    ProgressLine line;
    options.progress = [&line](const Progress& p) { line.update(p); };
    measured = hearth::bench(options);
  }
  fmt::print("{}{}", json ? measured.json : measured.text, json ? "\n" : "");
}

}  // namespace

const Command bench = {"bench", "Measure speed and memory", run_bench, "Tools"};

}  // namespace hearth::cli
