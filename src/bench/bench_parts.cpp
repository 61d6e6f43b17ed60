// `hearth bench blocks`, `threads`, `paths`.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "backends/backends.h"
#include "bench/bench.h"
#include "bench/bench_model.h"
#include "core/threads.h"

namespace hearth::api {
namespace {

using Clock = std::chrono::steady_clock;
using models::diffusion::Holding, models::diffusion::Role;

// The time of each outermost block of a component, in the order of the first run. The VAE decoder is split further: its own row has the
// time outside its inner blocks.
struct Blocks : Products {
  using Products::Products;
  struct Row {
    std::string name;
    double flop = 0, least = 0;
    std::vector<double> seconds;
  };
  struct Open {
    std::string name;
    Clock::time_point start = Clock::now();
    double flop = 0, least = 0, inner_seconds = 0;
  };

  void on_enter(std::string_view path) override {
    if (++depth > 1 && !(depth == 2 && open.front().name == "decoder")) return;
    settle();
    open.push_back({std::string(path)});
  }
  void on_leave() override {
    if (--depth >= int64_t(open.size())) return;
    settle();
    const Open ended = std::move(open.back());
    open.pop_back();
    const double seconds = std::chrono::duration<double>(Clock::now() - ended.start).count();
    if (!open.empty()) open.back().inner_seconds += seconds;
    auto row = std::ranges::find(rows, ended.name, &Row::name);
    if (row == rows.end()) row = rows.insert(row, {ended.name, ended.flop, ended.least, {}});
    row->seconds.push_back(seconds - ended.inner_seconds);
  }
  // The time since the last begin or end belongs to the innermost block.
  void settle() {
    if (!open.empty()) open.back().flop += flop, open.back().least += least;
    flop = least = 0;
  }

  int64_t depth = 0;
  std::vector<Open> open;
  std::vector<Row> rows;
};

struct Step : BenchTime {
  double least = 0;
};

// A step of each denoiser.
std::string step_title(const BenchModel& model) {
  std::string title;
  for (size_t member = 0; member < model.members(); ++member)
    title += fmt::format("{}{} step", member > 0 ? " and " : "", model.name_of(Role::denoiser, member));
  return title + "\n";
}
Step measure_step(const BenchOptions& options, const BenchModel& model, Backend& device, const Ceilings& ceilings) {
  const auto networks = model.open(device);
  Holding holding(*networks);
  holding.load({}, {});
  const std::function<void()> run = model.steps_run(holding, device);
  Products products(ceilings);
  {
    const ObserverScope scope(products);
    run();
  }
  return {time_of(options.repeats, run), products.least};
}

}  // namespace

Bench bench_blocks(const BenchOptions& options) {
  const auto device = make_backend({.name = options.device, .features = options.path, .threads = options.threads});
  const BenchModel model(options, {Role::text_encoder, Role::denoiser, Role::codec});
  const Ceilings ceilings = measure_ceilings(*device);
  nlohmann::json json = {{"machine", machine_json(*device, ceilings)}, {"blocks", nlohmann::json::array()}};
  std::string text = machine_text(*device, ceilings);
  int64_t done = 0;
  const auto measure = [&](const std::string& part, const std::function<void()>& run) {
    if (options.progress) options.progress({.phase = "measure", .done = done++, .total = int64_t(2 + model.members())});
    run();
    Blocks blocks(ceilings);
    const ObserverScope scope(blocks);
    for (int i = 0; i < options.repeats; ++i) run();
    for (Blocks::Row& row : blocks.rows) {
      std::ranges::sort(row.seconds);
      const double seconds = row.seconds[row.seconds.size() / 2];
      nlohmann::json entry = {{"part", part}, {"block", row.name}, {"seconds", seconds}, {"gflop", row.flop * 1e-9}};
      text += fmt::format("{:<10} {:<34} {:10.4f} s", part, row.name, seconds);
      if (row.flop > 0) {
        entry["fraction"] = row.least / seconds;
        text += fmt::format(" {:8.1f} GFLOP  {:5.2f} of the ceiling", row.flop * 1e-9, row.least / seconds);
      }
      text += "\n";
      json["blocks"].push_back(entry);
    }
  };
  const auto networks = model.open(*device);
  const auto part = [&](Role role, size_t member, const std::string& name, const auto& make_run) {
    Holding holding(*networks);
    holding.load({.role = role, .member = member}, {});
    measure(name, make_run(holding));
    holding.release({.role = role, .member = member});
  };
  part(Role::text_encoder, 0, "text", [&](const Holding& holding) { return model.text_run(holding, *device); });
  for (size_t member = 0; member < model.members(); ++member)
    part(Role::denoiser, member, model.name_of(Role::denoiser, member) + "_step",
         [&](const Holding& holding) { return model.step_run(holding, *device, member); });
  part(Role::codec, 0, model.name_of(Role::codec) + "_decode", [&](const Holding& holding) { return model.decode_run(holding, *device); });
  return {.text = text, .json = json.dump()};
}

// 1, 2, 4, … and all threads.
Bench bench_threads(const BenchOptions& options) {
  const int all = make_backend({.name = options.device, .features = options.path, .threads = options.threads})->threads().size();
  std::vector<int> counts;
  for (int n = 1; n < all; n *= 2) counts.push_back(n);
  counts.push_back(all);
  const BenchModel model(options, {Role::denoiser});
  nlohmann::json json = {{"threads", nlohmann::json::array()}};
  std::string text = step_title(model);
  double one = 0;
  for (const int n : counts) {
    if (options.progress) options.progress({.phase = "measure", .done = int64_t(json["threads"].size()), .total = int64_t(counts.size())});
    const auto device = make_backend({.name = options.device, .features = options.path, .threads = n});
    const Ceilings ceilings = measure_ceilings(*device);
    const Step step = measure_step(options, model, *device, ceilings);
    if (n == 1) one = step.seconds;
    const double speedup = one / step.seconds;
    json["machine"] = machine_json(*device, ceilings);
    json["threads"].push_back({{"threads", n},
                               {"seconds", step.seconds},
                               {"processor_seconds", step.processor_seconds},
                               {"speedup", speedup},
                               {"efficiency", speedup / n},
                               {"fraction", step.least / step.seconds},
                               {"matrix_gflops", ceilings.matrix_gflops}});
    text += fmt::format("{:4} threads {:9.3f} s  CPU {:9.3f} s  {:5.2f} × one thread, {:3.0f} % efficient, {:.2f} of the ceiling\n", n,
                        step.seconds, step.processor_seconds, speedup, 100 * speedup / n, step.least / step.seconds);
  }
  return {.text = text, .json = json.dump()};
}

Bench bench_paths(const BenchOptions& options) {
  const BenchModel model(options, {Role::denoiser});
  nlohmann::json json = {{"paths", nlohmann::json::array()}};
  std::string text = step_title(model);
  for (const char* path : {"avx2", "avx512", "avx512bf16", "amx"}) {
    if (!cpu_path_available(path)) {
      json["paths"].push_back({{"path", path}, {"available", false}});
      text += fmt::format("{:<11} not supported by this CPU\n", path);
      continue;
    }
    const auto device = make_backend({.name = options.device, .features = path, .threads = options.threads});
    const Ceilings ceilings = measure_ceilings(*device);
    const Step step = measure_step(options, model, *device, ceilings);
    json["machine"] = machine_json(*device, ceilings);
    json["paths"].push_back({{"path", path},
                             {"available", true},
                             {"seconds", step.seconds},
                             {"processor_seconds", step.processor_seconds},
                             {"matrix_gflops", ceilings.matrix_gflops},
                             {"bf16_gflops", ceilings.bf16_gflops},
                             {"fraction", step.least / step.seconds}});
    text += fmt::format("{:<11} {:9.3f} s  CPU {:9.3f} s  {:.2f} of its ceiling\n", path, step.seconds, step.processor_seconds,
                        step.least / step.seconds);
  }
  return {.text = text, .json = json.dump()};
}

}  // namespace hearth::api
