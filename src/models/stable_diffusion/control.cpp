#include "models/stable_diffusion/control.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "models/control_files.h"
#include "models/slots.h"
#include "parts/controlnet/control_lora.h"
#include "parts/controlnet/controlnet.h"
#include "parts/controlnet/files.h"
#include "parts/t2i_adapter/adapter.h"
#include "parts/t2i_adapter/files.h"
#include "parts/unet/geometry.h"

namespace hearth::models::stable_diffusion {
namespace {

using diffusion::ControlCall, diffusion::ControlInput, diffusion::ControlOutput, diffusion::ControlSettings, diffusion::TensorLists;

// Of unions, by their number (control_type in the reference). Later unions have two more, for inpainting and upscaling, which need other
// images than these.
constexpr std::array<std::string_view, 6> modes{"openpose", "depth", "scribble", "canny", "normal", "segment"};

int64_t mode_number(const std::string& mode) { return std::ranges::find(modes, mode) - modes.begin(); }

// ControlNetModel and ControlNetUnionModel.
class UnetControl final : public diffusion::ControlModel {
 public:
  UnetControl(parts::ControlNetConfig config, std::string where) : config_(std::move(config)), where_(std::move(where)) {}

  std::string class_name() const override { return config_.unified ? "ControlNetUnionModel" : "ControlNetModel"; }
  std::shared_ptr<const void> build(const Scope& w) const override { return std::make_shared<parts::ControlNet>(w, config_); }
  bool fuses() const override { return config_.unified.has_value(); }
  bool spares_negative(const ControlSettings& s) const override { return s.guess || config_.pools; }

  void check(const ControlSettings&, const std::string& mode) const override {
    if (!config_.unified) {
      if (!mode.empty()) fail<UsageError>("{}: is for one kind of images, expected no mode, not '{}'", where_, mode);
      return;
    }
    const auto known = size_t(std::min<int64_t>(config_.unified->types, modes.size()));
    if (size_t(mode_number(mode)) >= known)
      fail<UsageError>("{}: {}, expected one of {}", where_,
                       mode.empty() ? "is for several kinds of images, but no mode is given" : fmt::format("mode '{}' is unknown", mode),
                       fmt::join(std::span(modes).first(known), ", "));
  }

  TensorLists prepare(const void* network, std::span<const ControlInput> images) const override {
    std::vector<parts::ControlImage> inputs;
    for (const ControlInput& image : images)
      inputs.push_back({image.image, config_.unified ? mode_number(image.mode) : 0, float(image.weight)});
    const parts::ControlHint hint = net(network).hint(inputs);
    return {{"features", {hint.features}}, {"embedding", {hint.embedding}}};
  }

  ControlOutput operator()(const void* network, const TensorLists& prepared, const ControlSettings& settings,
                           const ControlCall& call) const override {
    const parts::UnetConditions conditions{
        .context = call.given["context"], .added = config_.unet.added ? call.given["added"] : Tensor(), .guidance = {}};
    parts::ControlNet::Residuals made = net(network)(call.x, {&call.timestep, 1}, conditions,
                                                     {.features = prepared.at("features")[0], .embedding = prepared.at("embedding")[0]});
    const std::vector<float> factors = parts::control_factors(made.skips.size(), settings.scale, settings.guess && !config_.pools);
    ControlOutput out;
    out.factors.emplace(of_skips, std::vector<float>(factors.begin(), factors.end() - 1));
    out.factors.emplace(of_middle, std::vector<float>{factors.back()});
    out.tensors.emplace(of_skips, std::move(made.skips));
    out.tensors.emplace(of_middle, std::vector<Tensor>{made.mid});
    return out;
  }

 private:
  static const parts::ControlNet& net(const void* network) { return *static_cast<const parts::ControlNet*>(network); }

  parts::ControlNetConfig config_;
  std::string where_;
};

// T2IAdapter.
class UnetAdapter final : public diffusion::ControlModel {
 public:
  UnetAdapter(parts::T2iAdapterConfig config, std::string where) : config_(std::move(config)), where_(std::move(where)) {}

  std::string class_name() const override { return "T2IAdapter"; }
  std::shared_ptr<const void> build(const Scope& w) const override { return std::make_shared<parts::T2iAdapter>(w, config_); }

  void check(const ControlSettings& settings, const std::string& mode) const override {
    if (!mode.empty()) fail<UsageError>("{}: is for one kind of images, expected no mode, not '{}'", where_, mode);
    if (settings.guess) fail<UsageError>("{}: guess mode is for ControlNets, and this is a T2I-Adapter, expected guess=off", where_);
  }
  void check_size(int64_t width, int64_t height) const override {
    if (width % config_.factor || height % config_.factor)
      fail<UsageError>("{}: an image of {}×{}, expected sides that are multiples of {}", where_, width, height, config_.factor);
  }
  // The reference's adapter_conditioning_factor counts steps, not calls; its pipeline without that acts in all calls.
  bool acts(const ControlSettings& s, int64_t call, int64_t calls, int64_t step, int64_t steps) const override {
    const int64_t i = calls > 0 ? call : step;
    return double(i) / double(calls > 0 ? calls : steps) >= s.start && (s.end == 1 || i < int64_t(double(steps) * s.end));
  }

  TensorLists prepare(const void* network, std::span<const ControlInput> images) const override {
    return {{std::string(of_features), (*static_cast<const parts::T2iAdapter*>(network))(images[0].image)}};
  }

  ControlOutput operator()(const void*, const TensorLists& prepared, const ControlSettings& settings,
                           const ControlCall& call) const override {
    const std::vector<Tensor>& features = prepared.find(of_features)->second;
    ControlOutput out;
    std::vector<Tensor>& repeated = out.tensors[std::string(of_features)];
    for (const Tensor& feature : features) repeated.push_back(call.x.size(0) > 1 ? ops::repeat_batch(feature, call.x.size(0)) : feature);
    out.factors.emplace(of_features, std::vector<float>(features.size(), float(settings.scale)));
    return out;
  }

 private:
  parts::T2iAdapterConfig config_;
  std::string where_;
};

parts::T2iAdapterConfig adapter_config(const GivenComponent& given, const std::string& where) {
  if (given.config.empty()) return parts::T2iAdapterConfig::of_tensors(given.tensors->list(), where);
  return parts::T2iAdapterConfig::from(given.own_config());
}

// Adds to an error about a network for another UNet which published model it is for.
template <class F> void naming_its_model(const std::vector<int64_t>& channels, int64_t context, F check) {
  try {
    check();
  } catch (const WeightError& e) {
    const std::string name = published_with("unet", [&](const nlohmann::json& config) {
      const parts::UnetGeometry g = parts::geometry_of(config);
      const auto same = [](const parts::UnetGeometry::Level& level, int64_t n) { return level.channels == n; };
      return g.context == context && std::ranges::equal(g.levels, channels, same);
    });
    if (name.empty()) throw;
    fail<WeightError>("{}; it is for {}", e.what(), name);
  }
}

std::vector<int64_t> channels_of(const parts::UnetConfig& unet) {
  std::vector<int64_t> channels;
  for (const parts::UnetConfig::Level& level : unet.levels) channels.push_back(level.channels);
  return channels;
}

parts::ControlNetConfig controlnet_config(const GivenComponent& given, const parts::UnetConfig& unet, const std::string& where) {
  parts::ControlNetConfig config = given.config.empty() ? parts::ControlNetConfig::of_tensors(given.tensors->list(), unet)
                                                        : parts::ControlNetConfig::from(given.own_config());
  naming_its_model(channels_of(config.unet), config.unet.context, [&] { parts::require_same_half(config, unet, where); });
  return config;
}

}  // namespace

std::vector<NetworkPlace> control_places() {
  return {{"control_model.", &parts::controlnet_files, &slots::control},
          {"", &parts::controlnet_files, &slots::control},
          {"", &parts::control_lora_files, &slots::control},
          {"", &parts::t2i_adapter_files, &slots::control}};
}

std::shared_ptr<const diffusion::ControlModel> control_for(GivenComponent& given, const std::shared_ptr<TensorSource>& denoiser,
                                                           const parts::UnetConfig& unet, int64_t latent_factor) {
  const std::string where = given.files.at(0).string();
  if (given.network == &parts::control_lora_files) given.tensors = parts::completed_control_lora(given.tensors, denoiser);
  if (given.network == &parts::t2i_adapter_files) {
    const parts::T2iAdapterConfig config = adapter_config(given, where);
    parts::require_features_fit(config, unet, latent_factor, where);
    return std::make_shared<UnetAdapter>(config, where);
  }
  parts::ControlNetConfig config = controlnet_config(given, unet, where);
  if (config.factor() != latent_factor)
    fail<WeightError>("{}: reads {}×{} pixels per latent pixel, the model's autoencoder has {}×{}", where, config.factor(), config.factor(),
                      latent_factor, latent_factor);
  return std::make_shared<UnetControl>(std::move(config), where);
}

}  // namespace hearth::models::stable_diffusion
