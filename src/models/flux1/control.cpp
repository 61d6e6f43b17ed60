#include "models/flux1/control.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "models/diffusion/transformer_control.h"
#include "models/flux1/controlnet.h"
#include "models/flux1/controlnet_files.h"
#include "models/flux1/prompts.h"
#include "ops/pointwise.h"

namespace hearth::models::flux1 {
namespace {

using diffusion::ControlCall, diffusion::ControlInput, diffusion::ControlOutput, diffusion::ControlSettings, diffusion::ControlSight,
    diffusion::TensorLists;

// Of unions, by their number (control_mode in the reference), as InstantX and Shakker Labs publish them.
constexpr std::array<std::string_view, 7> modes{"canny", "tile", "depth", "blur", "pose", "gray", "lq"};

int64_t mode_number(const std::string& mode) { return std::ranges::find(modes, mode) - modes.begin(); }

// Names in TensorLists: the kind of blocks, and the number of tensors, which are spread alike if it is the same.
constexpr std::string_view of_double = "double", of_cycle = "cycle", of_single = "single";

class TransformerControl final : public diffusion::ControlModel {
 public:
  TransformerControl(ControlNetConfig config, float scale, float shift, std::string where)
      : config_(std::move(config)), scale_(scale), shift_(shift), where_(std::move(where)) {}

  std::string class_name() const override { return "FluxControlNetModel"; }
  std::shared_ptr<const void> build(const Scope& w) const override { return std::make_shared<ControlNet>(w, config_); }
  ControlSight sight() const override { return config_.hint_channels > 0 ? ControlSight::pixels : ControlSight::latents; }
  bool draws() const override { return sight() == ControlSight::latents; }
  bool sees_prompt_only() const override { return true; }

  void check(const ControlSettings& settings, const std::string& mode) const override {
    diffusion::refuse_guess(settings, where_);
    if (config_.modes == 0) {
      if (!mode.empty()) fail<UsageError>("{}: is for one kind of images, expected no mode, not '{}'", where_, mode);
      return;
    }
    const auto known = std::span(modes).first(size_t(std::min<int64_t>(config_.modes, modes.size())));
    if (mode_number(mode) >= std::ssize(known))
      fail<UsageError>("{}: {}, expected one of {}", where_,
                       mode.empty() ? "is for several kinds of images, but no mode is given" : fmt::format("mode '{}' is unknown", mode),
                       fmt::join(known, ", "));
  }

  TensorLists prepare(const void* network, std::span<const ControlInput> images) const override {
    const ControlInput& input = images[0];
    const Tensor seen = input.latents ? ops::scaled(input.latents, scale_, -shift_ * scale_) : ops::scaled(input.image, 2, -1);
    TensorLists prepared{{"hint", {net(network).hint(seen)}}};
    if (config_.modes > 0) prepared["mode"] = {net(network).mode(mode_number(input.mode))};
    return prepared;
  }

  ControlOutput operator()(const void* network, const TensorLists& prepared, const ControlSettings& settings,
                           const ControlCall& call) const override {
    std::vector<Position> positions;
    append_positions(positions, 0, call.x.size(1), call.x.size(2));
    const auto guidance = float(call.embedded_guidance);
    ControlNet::Outputs made = net(network)(pack(call.x), positions,
                                            {.text = call.given[text_states],
                                             .pooled = call.given[pooled_text],
                                             .timesteps = {&call.timestep, 1},
                                             .guidance = {&guidance, config_.blocks.guidance ? size_t(1) : 0}},
                                            prepared.at("hint")[0], config_.modes > 0 ? prepared.at("mode")[0] : Tensor());
    ControlOutput out;
    const auto add = [&](std::string_view kind, std::vector<Tensor> tensors) {
      if (tensors.empty()) return;
      const std::string name = fmt::format("{} {}", kind, tensors.size());
      out.factors.emplace(name, std::vector<float>(tensors.size(), float(settings.scale)));
      out.tensors.emplace(name, std::move(tensors));
    };
    // The reference repeats the tensors of networks with convolutions, XLabs', one after the other.
    add(config_.hint_channels > 0 ? of_cycle : of_double, std::move(made.double_blocks));
    add(of_single, std::move(made.single_blocks));
    return out;
  }

 private:
  static const ControlNet& net(const void* network) { return *static_cast<const ControlNet*>(network); }

  ControlNetConfig config_;
  float scale_, shift_;  // of the autoencoder
  std::string where_;
};

}  // namespace

std::shared_ptr<const diffusion::ControlModel> control_for(GivenComponent& given, const FluxConfig& model) {
  const std::string where = given.files.at(0).string();
  if (model.beside() != diffusion::Beside::nothing)
    fail<UnsupportedError>("{}: control networks cannot be combined with a model that has an image as input (Fill, Canny, Depth)", where);
  const ControlNetConfig config = given.config.empty() ? ControlNetConfig::of_tensors(given.tensors->list(), model.transformer)
                                                       : ControlNetConfig::from(given.own_config());
  require_same_sizes(config, model.transformer, where);
  if (config.hint_channels > 0 && model.vae.codec.factor != 8)
    fail<WeightError>("{}: reads 8×8 pixels per latent pixel, the model's autoencoder has {}×{}", where, model.vae.codec.factor,
                      model.vae.codec.factor);
  return std::make_shared<TransformerControl>(config, model.vae.scaling_factor, model.vae.shift_factor, where);
}

AddedAfterBlocks added_after_blocks(const TensorLists& lists) {
  AddedAfterBlocks all;
  for (const auto& [name, tensors] : lists) {
    const bool single = name.starts_with(of_single);
    (single ? all.single_blocks : all.double_blocks).push_back({.tensors = tensors, .cycles = name.starts_with(of_cycle)});
  }
  return all;
}

}  // namespace hearth::models::flux1
