#include "models/sd3/control.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "models/clip/towers.h"
#include "models/control_files.h"
#include "models/diffusion/transformer_control.h"
#include "models/sd3/controlnet.h"
#include "models/sd3/controlnet_files.h"
#include "ops/pointwise.h"
#include "weights/completed.h"
#include "weights/stored_numbers.h"

namespace hearth::models::sd3 {
namespace {

using diffusion::ControlCall, diffusion::ControlInput, diffusion::ControlOutput, diffusion::ControlSettings, diffusion::ControlSight,
    diffusion::TensorLists;

// Of Stability's networks, by the number that their files state.
constexpr std::array<std::string_view, 3> control_kinds{"blur", "canny", "depth"};

struct Latents {
  float scale = 1, shift = 0;  // of the autoencoder
};

class TransformerControl final : public diffusion::ControlModel {
 public:
  // `stated`: the file's kind, or empty.
  TransformerControl(ControlNetConfig config, Latents latents, std::string stated, int64_t latent_factor, std::string where)
      : config_(std::move(config)),
        latents_(latents),
        stated_(std::move(stated)),
        most_side_(config_.blocks.position_side * config_.blocks.patch * latent_factor),
        where_(std::move(where)) {}

  std::string class_name() const override { return "SD3ControlNetModel"; }
  std::shared_ptr<const void> build(const Scope& w) const override { return std::make_shared<ControlNet>(w, config_); }
  ControlSight sight() const override { return config_.fills() ? ControlSight::masked_latents : ControlSight::latents; }

  void check(const ControlSettings& settings, const std::string& mode) const override {
    diffusion::refuse_guess(settings, where_);
    if (mode.empty()) return;
    if (config_.sees_text()) fail<UsageError>("{}: is for one kind of images, expected no mode, not '{}'", where_, mode);
    if (std::ranges::find(control_kinds, mode) == control_kinds.end())
      fail<UsageError>("{}: mode '{}' is unknown, expected one of {}", where_, mode, fmt::join(control_kinds, ", "));
    if (!stated_.empty() && mode != stated_) fail<UsageError>("{}: is for the mode '{}', not '{}'", where_, stated_, mode);
  }
  void check_size(int64_t width, int64_t height) const override {
    if (config_.has_positions && std::max(width, height) > most_side_)
      fail<UsageError>("{}: an image of {}×{}, expected sides of at most {} (the position table's)", where_, width, height, most_side_);
  }

  // Stability's network for edges was trained on other values than those of its autoencoder.
  std::vector<float> for_autoencoder(std::vector<float> pixels, const std::string& mode) const override {
    if ((stated_.empty() ? mode : stated_) != "canny" || config_.sees_text()) return ControlModel::for_autoencoder(std::move(pixels), mode);
    for (float& v : pixels) v = v * 255 * 0.5f + 0.5f;
    return pixels;
  }

  TensorLists prepare(const void* network, std::span<const ControlInput> images) const override {
    const ControlInput& input = images[0];
    // The networks that receive no pooled text receive latents without the autoencoder's shift, unless they fill.
    const float shift = config_.sees_pooled_text || config_.fills() ? latents_.shift : 0;
    Tensor seen = ops::scaled(input.latents, latents_.scale, -shift * latents_.scale);
    if (config_.fills()) seen = diffusion::with_kept(seen, input.mask);
    return {{"hint", {net(network).hint(seen)}}};
  }

  ControlOutput operator()(const void* network, const TensorLists& prepared, const ControlSettings& settings,
                           const ControlCall& call) const override {
    Tensor pooled = call.given[clip::pooled];
    if (!config_.sees_pooled_text || config_.fills()) pooled = Tensor::zeros(pooled.backend(), pooled.shape());
    std::vector<Tensor> made = net(network)(call.x, {&call.timestep, 1}, config_.sees_text() ? call.given[clip::states] : Tensor(), pooled,
                                            prepared.at("hint")[0]);
    return diffusion::output_of_blocks(std::move(made), settings.scale);
  }

 private:
  static const ControlNet& net(const void* network) { return *static_cast<const ControlNet*>(network); }

  ControlNetConfig config_;
  Latents latents_;
  std::string stated_;
  int64_t most_side_;
  std::string where_;
};

// What a file of Stability says it was trained on.
std::string stated_kind(const GivenComponent& given) {
  const std::string name(control_type);
  if (!given.tensors->has(name)) return "";
  const std::vector<double> values = stored_numbers(*given.tensors, name);
  const auto number = values.size() == 1 ? std::lround(values[0]) : -1;
  if (number < 0 || number >= std::ssize(control_kinds))
    fail<UnsupportedError>("{}: '{}' is {}, expected 0 to {}", given.files.at(0).string(), name, fmt::join(values, ", "),
                           control_kinds.size() - 1);
  return std::string(control_kinds[size_t(number)]);
}

// Adds to an error about a network for another transformer which published model it is for.
void require_fit(const ControlNetConfig& config, const MmditConfig& transformer, const std::string& where) {
  try {
    require_same_sizes(config, transformer, where);
  } catch (const WeightError& e) {
    const std::string name = published_with("transformer", [&](const nlohmann::json& c) {
      return c.value("_class_name", "") == "SD3Transformer2DModel" &&
             c.value("num_attention_heads", 0) * c.value("attention_head_dim", 0) == config.blocks.width();
    });
    if (name.empty() || config.blocks.width() == transformer.width()) throw;
    fail<WeightError>("{}; it is for {}", e.what(), name);
  }
}

}  // namespace

std::shared_ptr<const diffusion::ControlModel> control_for(GivenComponent& given, const std::shared_ptr<TensorSource>& denoiser,
                                                           const Sd3Config& model) {
  const std::string where = given.files.at(0).string();
  ControlNetConfig config = given.config.empty() ? ControlNetConfig::of_tensors(given.tensors->list(), model.transformer)
                                                 : ControlNetConfig::from(given.own_config());
  require_fit(config, model.transformer, where);
  if (config.of_transformer) {
    config.blocks.position_side = model.transformer.position_side;
    given.tensors = completed(given.tensors, denoiser, [](const std::string& name) { return name.starts_with("pos_embed."); });
  }
  return std::make_shared<TransformerControl>(config, Latents{model.vae.scaling_factor, model.vae.shift_factor}, stated_kind(given),
                                              model.vae.codec.factor, where);
}

}  // namespace hearth::models::sd3
