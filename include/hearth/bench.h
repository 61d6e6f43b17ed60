// How fast models run on this machine. In a library of its own: link hearth::bench.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hearth/component.h"
#include "hearth/progress.h"

namespace hearth {

// How fast this machine runs a model, part by part, against its own ceilings measured in the same run.
struct BenchOptions {
  // "" or the name of an image benchmark: load, text, step and decode; "vae", "clip": load and that part alone; "blocks": each block of the
  // three networks; "threads": the step with 1, 2, 4 … threads; "paths": the step on each kernel path; "samplers": a step of each sampler
  // without its network, as a part of the network's; "ops": every operation of a step and a decode of each image benchmark; a model,
  // variant or size is refused.
  std::string what;
  std::string only;     // ops: those with this in their name
  std::string weights;  // type of generated weights of a language model: f16, bf16, f32, q8_0, q4_0, q4_k, …
  std::string keep;     // where generated weights are kept: a new folder, of a language model a GGUF file (no tokenizer)
  std::string hold;     // ops: f32, f16, bf16: weights held so and multiplied as f32, whatever `precision` says
  std::string path;     // force a kernel path down: "avx2", "avx512", "avx512bf16", "amx"
  // An image or language benchmark (a published geometry with generated weights, gigabytes of temporary files), "demo", or a checkpoint.
  // Empty: the first image benchmark.
  std::string model;
  std::string variant;                   // as in OpenOptions
  std::optional<int64_t> width, height;  // pixels; absent: what the model is made for
  std::string device = "cpu";
  int threads = 0;
  Precision precision = Precision::automatic;  // generated weights are f16 unless it says otherwise
  int repeats = 3;                             // the median is told
  OnProgress progress;
  const std::atomic<bool>* cancel = nullptr;
};
struct Bench {
  std::string text;  // for people, several lines
  std::string
      json;  // {"machine": {…}, "parts": {"load": {"seconds": x}, …}, "peak_memory_bytes": n}; or "ops", "blocks", "threads", "paths"
};
Bench bench(const BenchOptions& options = {});
// Models of full size with generated weights that bench() knows by name, beside "demo".
std::vector<std::string> image_benchmarks();
std::vector<std::string> language_benchmarks();

}  // namespace hearth
