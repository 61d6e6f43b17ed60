#include "backends/cpu/ceilings.h"

#include <algorithm>
#include <chrono>

#include "backends/cpu/cpu_class.h"

namespace hearth {
namespace {

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

bool has_ceilings(const Backend& backend) { return dynamic_cast<const cpu::CpuBackend*>(&backend) != nullptr; }

Ceilings measure_ceilings(Backend& backend, Effort effort) {
  auto* device = dynamic_cast<cpu::CpuBackend*>(&backend);
  if (!device) fail<UnsupportedError>("ceilings: the backend is '{}', expected 'cpu'", backend.name());
  const cpu::Kernels& kernels = device->kernels();
  ThreadPool& pool = device->threads();
  const bool quick = effort == Effort::quick;
  Ceilings best;

  const auto best_rate = [&](double (*loop)(int64_t), int64_t rounds) {
    double best_gflops = 0;
    const double operations = loop(1) * double(rounds) * pool.size();
    for (int run = 0; run < (quick ? 3 : 12); ++run)
      best_gflops = std::max(best_gflops, operations * 1e-9 / seconds_of([&] { pool.run(pool.size(), [&](int64_t) { loop(rounds); }); }));
    return best_gflops;
  };
  best.matrix_gflops = best_rate(kernels.fma_loop, 1 << 18);
  if (kernels.bf16) best.bf16_gflops = best_rate(kernels.bf16->product_loop, kernels.bf16->rounds);

  // One stream per thread, far larger than its share of a cache.
  const int64_t share = int64_t(quick ? 16 : 48) << 20, pieces = 16;  // floats; pieces of work per thread
  Tensor memory = Tensor::empty(backend, {pool.size() * share});
  pool.for_ranges(memory.numel(), share / pieces,
                  [&](int64_t begin, int64_t end) { std::fill(memory.data<float>() + begin, memory.data<float>() + end, 1.0f); });
  for (int run = 0; run < (quick ? 2 : 4); ++run)
    best.read_gbs = std::max(best.read_gbs, double(memory.bytes()) * 1e-9 / seconds_of([&] {
                                              pool.for_ranges(memory.numel(), share / pieces, [&](int64_t begin, int64_t end) {
                                                kernels.read_loop(memory.data<float>() + begin, end - begin);
                                              });
                                            }));
  memory = {};
  backend.release_cached();
  return best;
}

}  // namespace hearth
