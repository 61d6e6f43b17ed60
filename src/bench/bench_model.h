// An image model to measure: a checkpoint, or a published architecture with generated weights.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "hearth/bench.h"
#include "models/diffusion/networks.h"
#include "models/registry.h"

namespace hearth::api {

// Components with name-seeded weights on a dry backend, for lists of ops and shapes.
class DryNetworks {
 public:
  DryNetworks(const models::diffusion::LatentModel& model, Backend& plan, const std::vector<models::diffusion::Role>& roles);

  models::diffusion::Loaded loaded() const { return models::diffusion::Loaded(networks_); }
  const std::map<std::string, Shape>& weights(models::diffusion::Role role) const {
    return weights_.at(role);
  }  // name → shape of its tensors

 private:
  std::vector<std::shared_ptr<const void>> networks_;
  std::map<models::diffusion::Role, std::map<std::string, Shape>> weights_;
};

// Conditioning for two images with guidance: the text encoders' outputs for two prompts.
models::diffusion::Conditioning benchmark_conditioning(const models::diffusion::LatentModel& model,
                                                       const models::diffusion::Loaded& networks, Backend& device);

class BenchModel {
 public:
  // Generates weights of type options.weights for the components with these roles; without roles there are only configurations. They are
  // kept at options.keep, else deleted at the end. IoError unless options.model is an image benchmark, "demo" or a checkpoint; UsageError
  // for a size that is not a multiple of the VAE's factor.
  BenchModel(const BenchOptions& options, std::vector<models::diffusion::Role> roles);
  ~BenchModel();
  BenchModel(const BenchModel&) = delete;
  BenchModel& operator=(const BenchModel&) = delete;

  const models::diffusion::LatentModel& model() const { return *model_; }
  std::string name_of(models::diffusion::Role role) const;  // name of the component: "unet"
  // [height, width], requested or else the model's native size: of the latents, and in pixels.
  std::array<int64_t, 2> latents() const;
  std::array<int64_t, 2> pixels() const;

  // The networks with these roles on a device.
  std::unique_ptr<models::diffusion::Networks> open(Backend& device) const;
  // Images of the denoiser in a step: two with classifier-free guidance, one if the network has the guidance scale as an input, or none.
  int64_t step_images() const;
  // Run one component at the options' size with seeded inputs: two prompts, a step on step_images(), one image. The networks must be
  // loaded.
  std::function<void()> text_run(const models::diffusion::Holding& networks, Backend& device) const;
  std::function<void()> step_run(const models::diffusion::Holding& networks, Backend& device) const;
  std::function<void()> decode_run(const models::diffusion::Holding& networks, Backend& device) const;

 private:
  void generate();
  void generate_weights();

  const BenchOptions& options_;
  std::vector<models::diffusion::Role> roles_;
  std::filesystem::path folder_;
  bool temporary_ = false;
  std::optional<Checkpoint> checkpoint_;
  std::unique_ptr<const models::diffusion::LatentModel> model_;
};

}  // namespace hearth::api
