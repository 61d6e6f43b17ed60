// `hearth bench`: times the parts of an image model's run and compares them with the machine's ceilings, measured in the same run.
#include "bench/bench.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "api/gpu_share.h"
#include "backends/backends.h"
#include "bench/bench_model.h"
#include "core/memory.h"
#include "hub/local_model.h"

namespace hearth {
namespace {

using namespace api;
using models::diffusion::Holding, models::diffusion::Role;

struct TimedPart : BenchTime {
  std::string name;
  double gflop = 0, least = 0;
};

// Resets the process's peak memory to its present memory, if the system supports it.
void reset_process_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

Bench bench_parts(const BenchOptions& options, const std::vector<Role>& roles) {
  const auto device = bench_device(options);
  const BenchModel model(options, roles);
  const auto note = [&](int64_t done) {
    if (options.progress) options.progress({.phase = "measure", .done = done, .total = 4});
  };

  note(0);
  const Ceilings ceilings = measure_ceilings(*device);
  reset_process_peak();
  const MemoryWatch buffers(device->ledger());

  // Load twice: the first load fills the page cache and is not measured. Freed memory is returned, so that it is as in a new process.
  std::vector<TimedPart> parts;
  model.open(*device)->load({}, {});
  device->release_cached();
  const auto start = std::chrono::steady_clock::now();
  const auto networks = model.open(*device);
  Holding holding(*networks);
  holding.load({}, {});
  parts.push_back({{.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}, "load"});

  const auto measure = [&](const std::string& name, const std::function<void()>& run) {
    Products products(ceilings);
    {
      const ObserverScope scope(products);
      run();
    }
    parts.push_back({time_of(options.repeats, run), name, products.flop * 1e-9, products.least});
  };
  const auto has = [&](Role role) { return std::ranges::find(roles, role) != roles.end(); };
  note(1);
  if (has(Role::text_encoder)) measure("text", model.text_run(holding, *device));
  note(2);
  for (size_t member = 0; has(Role::denoiser) && member < model.members(); ++member)
    measure(model.name_of(Role::denoiser, member) + "_step", model.step_run(holding, *device, member));
  note(3);
  if (has(Role::codec)) measure(model.name_of(Role::codec) + "_decode", model.decode_run(holding, *device));
  note(4);

  nlohmann::json json;
  json["machine"] = machine_json(*device, ceilings);
  const auto [height, width] = model.pixels();
  json["model"] = {{"name", options.model}, {"width", width}, {"height", height}, {"guidance", model.step_images() == 2}};
  if (!options.weights.empty()) json["model"]["weights"] = options.weights;
  std::string lines = machine_text(*device, ceilings);
  for (const TimedPart& part : parts) {
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
  json["buffers_peak_bytes"] = buffers.peak();
  lines += fmt::format("peak memory  {:9.2f} GB\n", double(process_peak_bytes()) * 1e-9);
  return {.text = lines, .json = json.dump()};
}

}  // namespace

std::shared_ptr<Backend> api::bench_device(const BenchOptions& options) {
  const std::shared_ptr<Backend> device = make_backend({.name = options.device, .features = options.path, .threads = options.threads});
  const GpuShare share = gpu_share(options.gpu_layers, {});
  const std::shared_ptr<Backend> divided = share ? shared_split(device) : nullptr;
  const std::shared_ptr<Backend> chosen = divided ? divided : device;
  require_divided(share, {&chosen, 1});
  return chosen;
}

Bench bench(const BenchOptions& given) {
  BenchOptions options = given;
  options.model = hub::local_model(options.model).string();
  if (options.repeats < 1) fail<UsageError>("bench: {} repeats, expected at least 1", options.repeats);
  std::atomic<bool> never = false;
  const CancelScope cancel(options.cancel ? *options.cancel : never);
  const std::string& what = options.what;
  const std::vector<std::string> benchmarks = image_benchmarks();
  const bool whole = what.empty() || std::ranges::find(benchmarks, what) != benchmarks.end();
  const bool divisible = whole || what == "step" || what == "vae" || what == "clip";
  if (options.gpu_layers && !divisible) fail<UsageError>("bench: --gpu-layers applies to models and their parts, not to '{}'", what);
  if (!options.only.empty() && what != "ops") fail<UsageError>("bench: --filter applies to ops, not to '{}'", what);
  if (!options.hold.empty() && what != "ops") fail<UsageError>("bench: --ops-weight-type applies to ops; use --precision for '{}'", what);
  if (what.empty() && benches_language(options.model)) {
    if (options.width || options.height) fail<UsageError>("bench: a language model has no width and height");
    return bench_language(options);
  }
  if (what == "serve") {
    if (options.model.empty()) options.model = language_benchmarks().front();
    if (options.url.empty() && !benches_language(options.model))
      fail<UsageError>("bench: serve needs a language model, but {} is none", options.model);
    return bench_serve(options);
  }
  if (!options.keep.empty() && !whole) fail<UsageError>("bench: --save-weights requires a whole model with generated weights");
  if (what == "ops" && (!options.variant.empty() || options.width || options.height))
    fail<UsageError>("bench: ops measures the published networks at their native sizes, expected no variant or size");
  if (what == "ops" && !options.model.empty() && std::ranges::find(benchmarks, options.model) == benchmarks.end())
    fail<UsageError>("bench: ops measures those of {}, not of '{}'", fmt::join(benchmarks, ", "), options.model);
  if (what == "clip" && (options.width || options.height)) fail<UsageError>("bench: the text encoder has no width and height");
  if (!options.path.empty() && what == "paths")
    fail<UsageError>("bench: paths measures all kernel paths, expected no --kernel-path, got '{}'", options.path);
  if (what == "ops" && !options.weights.empty()) fail<UsageError>("bench: --weight-type is for models; use --ops-weight-type for ops");
  if (what == "ops") return bench_ops(options);
  // `what` may name the model itself; the default is the first benchmark, whose name also stands for a whole run of another model.
  const bool first = what == benchmarks.front();
  if (whole && !what.empty() && !options.model.empty() && options.model != what && !first)
    fail<UsageError>("bench: '{}' and -m '{}' both name a model, expected one", what, options.model);
  if (options.model.empty()) options.model = whole && !what.empty() ? what : benchmarks.front();
  if (!options.weights.empty() && std::ranges::find(benchmarks, options.model) == benchmarks.end())
    fail<UsageError>("bench: --weight-type requires generated weights, but {} is a checkpoint", options.model);
  if (what == "blocks") return bench_blocks(options);
  if (what == "threads") return bench_threads(options);
  if (what == "paths") return bench_paths(options);
  if (what == "samplers") return bench_samplers(options);
  if (what == "vae") return bench_parts(options, {Role::codec});
  if (what == "clip") return bench_parts(options, {Role::text_encoder});
  if (what == "step") return bench_parts(options, {Role::denoiser});
  if (whole) return bench_parts(options, {Role::text_encoder, Role::denoiser, Role::codec});
  fail<UsageError>("bench: '{}' is unknown, expected one of ops, blocks, {}, step, vae, clip, threads, paths, samplers, serve", what,
                   fmt::join(benchmarks, ", "));
}

}  // namespace hearth
