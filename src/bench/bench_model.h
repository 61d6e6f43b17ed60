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
  // for a size that is not a multiple of the VAE's factor, or that a model of two networks does not make.
  BenchModel(const BenchOptions& options, std::vector<models::diffusion::Role> roles);
  ~BenchModel();
  BenchModel(const BenchModel&) = delete;
  BenchModel& operator=(const BenchModel&) = delete;

  // Members: the model, and a second one that makes the images' latents, if there is one (LatentModel::second).
  size_t members() const { return members_.size(); }
  const models::diffusion::LatentModel& model(size_t member = 0) const { return *members_[member]; }
  std::string name_of(models::diffusion::Role role, size_t member = 0) const;  // name of the component: "unet"
  // [height, width] in pixels, requested or else the model's native size.
  std::array<int64_t, 2> pixels() const;
  // [1, h, w, C] of the latents that a member denoises; image_latents(): of those that the codec decodes.
  Shape latents(size_t member = 0) const;
  Shape image_latents() const;

  // The networks with these roles on a device.
  std::unique_ptr<models::diffusion::Networks> open(Backend& device) const;
  // Images of a member's denoiser in a step: two with classifier-free guidance, one if the network has the guidance scale as an input, or
  // none, or if it is a second one that has no guidance by default.
  int64_t step_images(size_t member = 0) const;
  // Run one component at the options' size with seeded inputs: two prompts, a step on step_images(), one image. The networks must be
  // loaded. steps_run: a step of each member.
  std::function<void()> text_run(const models::diffusion::Holding& networks, Backend& device) const;
  std::function<void()> step_run(const models::diffusion::Holding& networks, Backend& device, size_t member) const;
  std::function<void()> steps_run(const models::diffusion::Holding& networks, Backend& device) const;
  std::function<void()> decode_run(const models::diffusion::Holding& networks, Backend& device) const;

 private:
  void generate();
  void describe();
  void check_size() const;
  void generate_weights();

  const BenchOptions& options_;
  std::vector<models::diffusion::Role> roles_;
  std::filesystem::path folder_;
  bool temporary_ = false;
  std::optional<Checkpoint> checkpoint_;
  std::vector<std::unique_ptr<const models::diffusion::LatentModel>> members_;
};

}  // namespace hearth::api
