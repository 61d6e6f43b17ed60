#include "models/stable_diffusion/image_prompt.h"

#include <fmt/ranges.h>

#include <numeric>

#include "core/error.h"
#include "models/image_prompt/image_processor.h"
#include "models/image_prompt/mask.h"
#include "parts/ip_adapter/ip_adapter.h"

namespace hearth::models::stable_diffusion {
namespace {

using Kind = parts::IpAdapterConfig::Kind;

class IpAdapterModel final : public diffusion::ImagePromptModel {
 public:
  IpAdapterModel(parts::IpAdapterConfig config, PromptImageEncoder encoder) : config_(std::move(config)), encoder_(encoder) {}

  std::string class_name() const override { return "IPAdapter"; }
  std::shared_ptr<const void> build(const Scope& w) const override { return std::make_shared<parts::IpAdapter>(w, config_); }

  diffusion::ImageTokens tokens(const void* network, const diffusion::Loaded& networks, const Pixels& image, Backend& host) const override {
    const auto& adapter = *static_cast<const parts::IpAdapter*>(network);
    const parts::ClipVisionModel& tower = networks[encoder_.slot];
    Backend &of_tower = tower.post_layernorm.gamma.backend(), &of_adapter = *adapter.attends.at(0).to_k.weight.backend;
    const Tensor pixels = image_prompt::ImageProcessor::clip(encoder_.config.image_size)(image, host).to(of_tower);
    const auto projected = [&](const Tensor& given) { return adapter.tokens(given.to(of_adapter)); };
    if (config_.kind == Kind::vector) {
      const Tensor vector = tower(pixels).image_embeds;
      return {projected(vector), projected(Tensor::zeros(of_tower, vector.shape()))};
    }
    return {projected(tower(pixels).penultimate), projected(tower(Tensor::zeros(of_tower, pixels.shape())).penultimate)};
  }

 private:
  parts::IpAdapterConfig config_;
  PromptImageEncoder encoder_;
};

// Positions of the UNet's cross-attentions, by level.
std::vector<int64_t> positions_of(const parts::UnetConfig& unet, const Shape& latents) {
  std::vector<int64_t> all;
  int64_t h = latents[1], w = latents[2];
  for (size_t i = 0; i < unet.levels.size(); ++i) {
    all.push_back(h * w);
    h = (h + 1) / 2, w = (w + 1) / 2;
  }
  return all;
}

}  // namespace

std::shared_ptr<const diffusion::ImagePromptModel> image_prompt_for(const GivenComponent& given, const parts::UnetConfig& unet,
                                                                    const std::optional<PromptImageEncoder>& encoder) {
  const std::string where = given.files.at(0).string();
  if (!given.config_text()) fail<UnsupportedError>("{}: this kind of IP-Adapter is not supported", where);
  const parts::IpAdapterConfig c = parts::IpAdapterConfig::from(given.own_config());
  if (c.kind == Kind::face) fail<UnsupportedError>("{}: IP-Adapters for faces by their vectors (FaceID) are not supported", where);
  if (c.width != unet.context)
    fail<WeightError>("{}: is for a model whose text states have the width {}, this one has {}", where, c.width, unet.context);
  if (c.attends != unet.cross_attentions())
    fail<WeightError>("{}: is for another UNet: it has keys and values of {} cross-attentions, expected {} as wide as the model's", where,
                      c.attends.size(), unet.cross_attentions().size());
  if (!encoder) fail<UsageError>("{}: image prompts need an image encoder, expected --image-encoder PATH, a CLIP vision tower", where);
  const int64_t gives = c.kind == Kind::vector ? encoder->config.projection : encoder->config.width;
  if (c.in != gives)
    fail<WeightError>("{}: reads {} of width {}, the image encoder gives {}", where, c.kind == Kind::vector ? "vectors" : "states", c.in,
                      gives);
  return std::make_shared<IpAdapterModel>(c, *encoder);
}

std::vector<parts::ImagePrompt> attended(std::span<const diffusion::ActiveImagePrompt> prompts, const diffusion::Conditioning& given,
                                         const parts::UnetConfig& unet, const Shape& latents, int64_t factor) {
  std::vector<parts::ImagePrompt> all;
  const int64_t B = latents[0], height = latents[1] * factor, width = latents[2] * factor;
  for (size_t k = 0; k < prompts.size(); ++k) {
    const diffusion::ActiveImagePrompt& p = prompts[k];
    const Tensor& tokens = given[diffusion::tokens_name(k)];
    all.push_back({.attends = static_cast<const parts::IpAdapter*>(p.network)->attends, .tokens = tokens, .scale = float(p.scale)});
    if (p.mask.empty()) continue;
    for (const int64_t T : positions_of(unet, latents)) {
      std::vector<int32_t> rows(size_t(B * T));
      std::iota(rows.begin(), rows.end(), 0);
      std::vector<float> factors;
      for (const float m : image_prompt::mask_at(p.mask, width, height, T)) factors.push_back(float(p.scale) * m);
      factors.reserve(size_t(B * T));
      for (int64_t b = 1; b < B; ++b) factors.insert(factors.end(), factors.begin(), factors.begin() + T);
      all.back().masks[T] = {Tensor::from(tokens.backend(), {B * T}, rows), Tensor::from(tokens.backend(), {B * T}, factors)};
    }
  }
  return all;
}

}  // namespace hearth::models::stable_diffusion
