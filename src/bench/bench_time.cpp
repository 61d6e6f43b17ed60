#include <ctime>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "bench/bench.h"
#include "core/threads.h"

namespace hearth::api {
namespace {

double processor_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

}  // namespace

BenchTime time_of(int repeats, const std::function<void()>& run) {
  run();
  std::vector<BenchTime> times;
  for (int i = 0; i < repeats; ++i) {
    const double processor = processor_seconds();
    const auto start = std::chrono::steady_clock::now();
    run();
    times.push_back({.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
                     .processor_seconds = processor_seconds() - processor});
  }
  BenchTime median;
  for (double BenchTime::*which : {&BenchTime::seconds, &BenchTime::processor_seconds}) {
    std::ranges::sort(times, {}, which);
    median.*which = times[times.size() / 2].*which;
  }
  return median;
}

void Products::on_op(const OpEvent& event) {
  flop += event.flop;
  least += event.flop * 1e-9 / ceilings.gflops(event.factors);
}

nlohmann::json machine_json(Backend& device, const Ceilings& ceilings) {
  nlohmann::json json = {{"isa", device.features()},
                         {"threads", device.threads().size()},
                         {"matrix_gflops", ceilings.matrix_gflops},
                         {"read_gbs", ceilings.read_gbs}};
  if (ceilings.bf16_gflops > 0) json["bf16_gflops"] = ceilings.bf16_gflops;
  return json;
}

std::string machine_text(Backend& device, const Ceilings& ceilings) {
  std::string bf16;
  if (ceilings.bf16_gflops > 0) bf16 = fmt::format(", of bf16 factors {:.0f}", ceilings.bf16_gflops);
  return fmt::format("{} {}, {} threads: {:.0f} GFLOP/s{}, reads {:.1f} GB/s (measured now)\n", device.name(), device.features(),
                     device.threads().size(), ceilings.matrix_gflops, bf16, ceilings.read_gbs);
}

}  // namespace hearth::api
