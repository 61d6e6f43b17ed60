// Shared by all benchmarks of `hearth bench`: timing, and the description of the machine.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "backends/cpu/ceilings.h"
#include "core/observe.h"
#include "hearth/bench.h"

namespace hearth::api {

struct BenchTime {
  double seconds = 0, processor_seconds = 0;  // wall time; CPU time of all threads
};
// Median of `repeats` runs after a warm-up run.
BenchTime time_of(int repeats, const std::function<void()>& run);

// Counts the products computed while it observes.
struct Products : Observer {
  explicit Products(const Ceilings& c) : ceilings(c) {}
  void on_op(const OpEvent& event) override;

  const Ceilings& ceilings;
  double flop = 0, least = 0;  // least: seconds at the ceilings for their factors' dtypes
};

nlohmann::json machine_json(Backend& device, const Ceilings& ceilings);
std::string machine_text(Backend& device, const Ceilings& ceilings);

// The device of the options, divided if they say how (BenchOptions::gpu_layers). Errors of make_backend, UsageError.
std::shared_ptr<Backend> bench_device(const BenchOptions& options);

Bench bench_ops(const BenchOptions& options);      // bench_ops.cpp
Bench bench_blocks(const BenchOptions& options);   // bench_parts.cpp
Bench bench_threads(const BenchOptions& options);  // bench_parts.cpp
Bench bench_paths(const BenchOptions& options);    // bench_parts.cpp
Bench bench_samplers(const BenchOptions& options);

// Whether `model` is a language model: one with generated weights, by name, or a checkpoint.
bool benches_language(const std::string& model);  // bench_language.cpp
Bench bench_language(const BenchOptions& options);
Bench bench_serve(const BenchOptions& options);  // bench_serve.cpp

}  // namespace hearth::api
