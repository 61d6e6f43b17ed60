// `hearth bench`: how fast this machine runs a Stable Diffusion checkpoint, part by part, against the machine's own
// ceilings measured in the same run.
#include "api/bench.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/backends.h"
#include "core/memory.h"

namespace hearth {
namespace {

using namespace api;

struct Part : BenchTime {
  std::string name;
  double gflop = 0, least = 0;
};

// The process's high-water mark starts again from what it holds now, where the system allows it.
void reset_process_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

Bench bench_parts(const BenchOptions& options, const std::set<std::string>& components) {
  const auto device = make_backend({.name = options.device, .features = options.path, .threads = options.threads});
  const BenchFolder folder(options, components);
  folder.latents();
  const auto note = [&](int64_t done) {
    if (options.progress) options.progress({.phase = "measure", .done = done, .total = 4});
  };

  note(0);
  const Ceilings ceilings = measure_ceilings(*device);
  reset_process_peak();
  MemoryLedger::process().reset_peak();

  // Twice: the first reads the file into the page cache and is not what "load" means here. Memory is as fresh as in a new process.
  std::vector<parts::ClipTextModel> texts;
  std::optional<parts::Unet> unet;
  std::optional<parts::AutoencoderKl> vae;
  const auto load = [&] {
    if (components.contains("text_encoder")) texts = folder.texts(*device);
    if (components.contains("unet")) unet.emplace(folder.unet(*device));
    if (components.contains("vae")) vae.emplace(folder.vae(*device));
  };
  std::vector<Part> parts;
  load();
  texts.clear(), unet.reset(), vae.reset();
  device->release_cached();
  const auto start = std::chrono::steady_clock::now();
  load();
  parts.push_back({{.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}, "load"});

  const auto measure = [&](const char* name, const std::function<void()>& run) {
    Products products(ceilings);
    {
      const ObserverScope scope(products);
      run();
    }
    parts.push_back({time_of(options.repeats, run), name, products.flop * 1e-9, products.least});
  };
  note(1);
  if (!texts.empty()) measure("text", folder.text_run(texts));
  note(2);
  if (unet) measure("unet_step", folder.unet_run(*unet, *device));
  note(3);
  if (vae) measure("vae_decode", folder.vae_run(*vae, *device));
  note(4);

  nlohmann::json json;
  json["machine"] = machine_json(*device, ceilings);
  const auto [height, width] = folder.pixels();
  json["model"] = {{"name", options.model}, {"width", width}, {"height", height}, {"guidance", true}};
  std::string lines = machine_text(*device, ceilings);
  for (const Part& part : parts) {
    nlohmann::json& entry = json["parts"][part.name] = {{"seconds", part.seconds}};
    lines += fmt::format("{:<12} {:9.3f} s", part.name, part.seconds);
    if (part.gflop > 0) {
      entry["processor_seconds"] = part.processor_seconds;
      entry["gflop"] = part.gflop;
      entry["fraction"] = part.least / part.seconds;
      lines += fmt::format("  {:8.1f} GFLOP  {:5.1f} % of the matrix ceiling", part.gflop, 100 * part.least / part.seconds);
    }
    lines += "\n";
  }
  json["peak_memory_bytes"] = process_peak_bytes();
  json["buffers_peak_bytes"] = MemoryLedger::process().use().peak;
  lines += fmt::format("peak memory  {:9.2f} GB\n", double(process_peak_bytes()) * 1e-9);
  return {.text = lines, .json = json.dump()};
}

}  // namespace

Bench bench(const BenchOptions& options) {
  if (options.repeats < 1) fail<UsageError>("bench: {} repeats, needed at least 1", options.repeats);
  std::atomic<bool> never = false;
  const CancelScope cancel(options.cancel ? *options.cancel : never);
  const std::string& what = options.what;
  if (!options.only.empty() && what != "ops") fail<UsageError>("bench: 'only' chooses operations, of which '{}' has none", what);
  if (!options.hold.empty() && what != "ops") fail<UsageError>("bench: 'hold' is of operations; '{}' has 'precision'", what);
  const BenchOptions usual;
  if (what.empty() && benches_language(options.model)) {
    if (options.width || options.height) fail<UsageError>("bench: a language model has no width and height");
    return bench_language(options);
  }
  if (!options.keep.empty() && !what.empty() && what != "sd15" && what != "sdxl")
    fail<UsageError>("bench: --keep is of the generated weights of whole models");
  if (!options.weights.empty())
    fail<UsageError>("bench: 'weights' are of language models ({}); others have 'precision'", bench_model_names());
  if (what == "ops" && (options.model != usual.model || !options.variant.empty() || options.width || options.height))
    fail<UsageError>(
        "bench: ops are those of Stable Diffusion 1.5 at 512 × 512 and of XL at 1024 × 1024; a model, variant or size changes nothing");
  if (what == "clip" && (options.width || options.height)) fail<UsageError>("bench: the text encoder has no width and height");
  if (!options.path.empty() && what == "paths") fail<UsageError>("bench: paths measures all of them, not '{}' alone", options.path);
  if (what == "ops") return bench_ops(options);
  if (what == "blocks") return bench_blocks(options);
  if (what == "threads") return bench_threads(options);
  if (what == "paths") return bench_paths(options);
  if (what == "samplers") return bench_samplers(options);
  if (what == "vae") return bench_parts(options, {"vae"});
  if (what == "clip") return bench_parts(options, {"text_encoder"});
  if (what.empty() || what == "sd15") return bench_parts(options, {"text_encoder", "unet", "vae"});
  if (what == "sdxl") {
    if (options.model != usual.model && options.model != what)
      fail<UsageError>("bench: '{}' of the model '{}', needed one", what, options.model);
    BenchOptions whole = options;
    whole.model = what;
    return bench_parts(whole, {"text_encoder", "unet", "vae"});
  }
  fail<UsageError>("bench: '{}' is unknown, needed one of ops, blocks, sd15, sdxl, vae, clip, threads, paths, samplers", what);
}

}  // namespace hearth
