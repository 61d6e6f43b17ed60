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

// The folder to measure: the one asked for, or one of generated weights, which is kept where the options say so and else disappears.
class BenchFolder {
 public:
  // `components`: those that are generated where the model is "sd15" or "sdxl". IoError unless the model is one of those, demo or a folder.
  BenchFolder(const BenchOptions& options, const std::set<std::string>& components);
  ~BenchFolder();
  BenchFolder(const BenchFolder&) = delete;
  BenchFolder& operator=(const BenchFolder&) = delete;

  std::vector<parts::ClipTextModel> texts(Backend& device) const;  // one, or XL's two
  parts::Unet unet(Backend& device) const;
  parts::AutoencoderKl vae(Backend& device) const;
  // [height, width] of the latents: those asked for, else those that the UNet is made for. UsageError for a size that is no multiple of
  // the autoencoder's factor.
  std::array<int64_t, 2> latents() const;
  std::array<int64_t, 2> pixels() const;  // the same in pixels
  // Runs of the part at the options' size with seeded inputs: two prompts, a step of two latents, one picture.
  std::function<void()> text_run(const std::vector<parts::ClipTextModel>& texts) const;
  std::function<void()> unet_run(const parts::Unet& unet, Backend& device) const;
  std::function<void()> vae_run(const parts::AutoencoderKl& vae, Backend& device) const;

 private:
  int64_t factor() const;
  void generate(const std::set<std::string>& components) const;

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
std::string bench_model_names();                  // "a, b": of bench_models()
Bench bench_language(const BenchOptions& options);

}  // namespace hearth::api
