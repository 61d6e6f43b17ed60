// What the kinds of `hearth bench` share: a checkpoint to measure, and a stopwatch.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <set>

#include "backends/cpu/ceilings.h"
#include "core/observe.h"
#include "hearth/hearth.h"
#include "parts/autoencoder_kl/autoencoder_kl.h"
#include "parts/clip/clip_text.h"
#include "parts/unet/unet.h"

namespace hearth::api {

struct BenchTime {
  double seconds = 0, processor_seconds = 0;  // wall; of all threads together
};
// Median of `repeats` runs after one that warms up.
BenchTime time_of(int repeats, const std::function<void()>& run);

// The products of what runs while it is observed.
struct Products : Observer {
  explicit Products(const Ceilings& c) : ceilings(c) {}
  void on_op(const OpEvent& event) override;

  const Ceilings& ceilings;
  double flop = 0, least = 0;  // least: seconds at the ceilings of their factors
};

// The folder to measure: the one asked for, or one of generated weights that disappears with it.
class BenchFolder {
 public:
  // `components`: those that are generated where the model is "sd15". IoError unless the model is sd15, demo or a folder.
  BenchFolder(const BenchOptions& options, const std::set<std::string>& components);
  ~BenchFolder();
  BenchFolder(const BenchFolder&) = delete;
  BenchFolder& operator=(const BenchFolder&) = delete;

  parts::ClipTextModel text(Backend& device) const;
  parts::Unet unet(Backend& device) const;
  parts::AutoencoderKl vae(Backend& device) const;
  // [height, width] of the latents. UsageError for a size that is no multiple of the autoencoder's factor.
  std::array<int64_t, 2> latents() const;
  // Runs of the part at the options' size with seeded inputs: two prompts, a step of two latents, one picture.
  std::function<void()> text_run(const parts::ClipTextModel& text) const;
  std::function<void()> unet_run(const parts::Unet& unet, Backend& device) const;
  std::function<void()> vae_run(const parts::AutoencoderKl& vae, Backend& device) const;

 private:
  const BenchOptions& options_;
  std::filesystem::path folder_;
  bool temporary_ = false;
};

nlohmann::json machine_json(Backend& device, const Ceilings& ceilings);
std::string machine_text(Backend& device, const Ceilings& ceilings);

Bench bench_ops(const BenchOptions& options);      // bench_ops.cpp
Bench bench_blocks(const BenchOptions& options);   // bench_parts.cpp
Bench bench_threads(const BenchOptions& options);  // bench_parts.cpp
Bench bench_paths(const BenchOptions& options);    // bench_parts.cpp
Bench bench_samplers(const BenchOptions& options);

// A language model by name (generated weights) or a checkpoint; whether options.model is one.
bool benches_language(const std::string& model);  // bench_language.cpp
Bench bench_language(const BenchOptions& options);

}  // namespace hearth::api
