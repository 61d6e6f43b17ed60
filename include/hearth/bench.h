// Measures how fast models run on this machine. Requires linking hearth::bench.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hearth/component.h"
#include "hearth/progress.h"

namespace hearth {

// Times the parts of a model's run and compares them with the machine's ceilings, measured in the same run.
struct BenchOptions {
  // "" or the name of an image benchmark: load, text encoding, step and VAE decode. "step", "vae", "clip": load and that component alone.
  // "blocks": each block of the three networks. "threads": a step with 1, 2, 4 … threads. "paths": a step on each kernel path. "samplers":
  // a step of each sampler without its denoiser call, as a fraction of that call. "serve": a server with a language model, or the one at
  // `url`, under the load of several numbers of clients. "ops": every op of a step and a VAE decode of each image
  // benchmark; UsageError with a model, variant or size.
  std::string what;
  std::string only;     // with "ops": only ops whose name contains this
  std::string weights;  // storage type of generated weights: f16, bf16, f32, q8_0, q4_0, q4_k, …; "": f16, for images that of `precision`
  std::string keep;     // keep the generated weights here: a new folder, for a language model a GGUF file (without tokenizer)
  std::string hold;     // with "ops", f32, f16 or bf16: store weights in this dtype and multiply them in f32, overriding `precision`
  std::string path;     // use a lower kernel path: "avx2", "avx512", "avx512bf16", "amx"
  // An image or language benchmark (a published architecture with generated weights; writes gigabytes of temporary files), "demo", or a
  // checkpoint. Empty: the first image benchmark.
  std::string model;
  std::string variant;                   // as in OpenOptions
  std::optional<int64_t> width, height;  // pixels; absent: the model's native size
  std::string device = "cpu";
  std::optional<int64_t> gpu_layers;  // as in OpenOptions and LanguageOptions; of a language model, or the parts of an image model
  int threads = 0;
  Precision precision = Precision::automatic;  // automatic: generated weights are f16
  int repeats = 3;                             // the result is the median
  // Of "serve": numbers of clients; tokens of each prompt and answer; a server to measure in place of an own one.
  std::vector<int64_t> clients = {1, 8, 32};
  int64_t prompt_tokens = 256, answer_tokens = 64;
  std::string url;
  OnProgress progress;
  const std::atomic<bool>* cancel = nullptr;
};
struct Bench {
  std::string text;  // human-readable, several lines
  std::string
      json;  // {"machine": {…}, "parts": {"load": {"seconds": x}, …}, "peak_memory_bytes": n}; or "ops", "blocks", "threads", "paths"
};
Bench bench(const BenchOptions& options = {});
// Names of the full-size models with generated weights, in addition to "demo".
std::vector<std::string> image_benchmarks();
std::vector<std::string> language_benchmarks();

}  // namespace hearth
