#include "models/stable_diffusion/image_prompt.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
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
  IpAdapterModel(parts::IpAdapterConfig config, std::optional<PromptImageEncoder> encoder, std::map<std::string, std::string> changed,
                 std::string where)
      : config_(std::move(config)), encoder_(encoder), changed_(std::move(changed)), where_(std::move(where)) {}

  std::string class_name() const override { return "IPAdapter"; }
  std::shared_ptr<const void> build(const Scope& w) const override { return std::make_shared<parts::IpAdapter>(w, config_); }
  std::map<std::string, std::string> changed_weights() const override { return changed_; }

  void check(const diffusion::ImagePromptInput& input) const override {
    const bool has_image = input.image.width > 0, is_plus = config_.kind == Kind::face_and_states;
    const int64_t width = is_plus ? config_.face : config_.in;
    if (config_.sees_image() && !has_image) fail<UsageError>("{}: sees an image, expected image=FILE", where_);
    if (!config_.sees_image() && has_image) fail<UsageError>("{}: sees the vector of a face only, expected no image", where_);
    if (!config_.sees_face() && !input.face.empty()) fail<UsageError>("{}: sees an image only, expected no faceid", where_);
    if (config_.sees_face() && input.face.empty())
      fail<UsageError>("{}: sees the vector of a face, expected faceid=FILE with {} values", where_, width);
    if (config_.sees_face() && std::ssize(input.face) != width)
      fail<UsageError>("{}: the vector of the face has {} values, expected {}", where_, input.face.size(), width);
    if (input.shortcut && !is_plus) fail<UsageError>("{}: has no shortcut, which is for FaceID Plus v2", where_);
  }

  diffusion::ImageTokens tokens(const void* network, const diffusion::Loaded& networks, const diffusion::ImagePromptInput& input,
                                Backend& host) const override {
    const auto& adapter = *static_cast<const parts::IpAdapter*>(network);
    Backend& of_adapter = *adapter.attends.at(0).to_k.weight.backend;
    const Tensor face = config_.sees_face() ? Tensor::from(host, {1, int64_t(input.face.size())}, input.face).to(of_adapter) : Tensor();
    const Tensor no_face = face ? Tensor::zeros(of_adapter, face.shape()) : face;
    if (!config_.sees_image()) return {adapter.tokens(face), adapter.tokens(no_face)};

    const parts::ClipVisionModel& tower = networks[encoder_->slot];
    Backend& of_tower = tower.post_layernorm.gamma.backend();
    const Tensor pixels = image_prompt::ImageProcessor::clip(encoder_->config.image_size)(input.image, host).to(of_tower);
    const auto projected = [&](const Tensor& given) { return adapter.tokens(given.to(of_adapter)); };
    if (config_.kind == Kind::vector) {
      const Tensor vector = tower(pixels).image_embeds;
      return {projected(vector), projected(Tensor::zeros(of_tower, vector.shape()))};
    }
    const Tensor states = tower(pixels).penultimate, of_nothing = tower(Tensor::zeros(of_tower, pixels.shape())).penultimate;
    if (!face) return {projected(states), projected(of_nothing)};
    return {adapter.tokens(face, states.to(of_adapter), input.shortcut),
            adapter.tokens(no_face, of_nothing.to(of_adapter), input.shortcut)};
  }

 private:
  parts::IpAdapterConfig config_;
  std::optional<PromptImageEncoder> encoder_;
  std::map<std::string, std::string> changed_;
  std::string where_;
};

// The UNet's attentions in the order in which adapters number them: those of down blocks, of up blocks, of the middle block; by all numbers
// in their names.
std::vector<std::string> attentions_of(const TensorSource& unet) {
  constexpr std::array<std::string_view, 3> parts{"down_blocks.", "up_blocks.", "mid_block."};
  constexpr std::string_view end = ".to_q.weight";
  std::vector<std::pair<std::vector<int64_t>, std::string>> all;
  for (const auto& [name, info] : unet.list()) {
    const auto part = std::ranges::find_if(parts, [&, &n = name](std::string_view p) { return n.starts_with(p); });
    if (part == parts.end() || !name.ends_with(end)) continue;
    std::vector<int64_t> numbers{part - parts.begin()};
    for (size_t i = 0; i < name.size(); ++i) {
      if (name[i] < '0' || name[i] > '9') continue;
      const size_t digits = name.find_first_not_of("0123456789", i) - i;
      numbers.push_back(std::stoll(name.substr(i, digits)));
      i += digits;
    }
    all.emplace_back(std::move(numbers), name.substr(0, name.size() - end.size()));
  }
  std::ranges::sort(all);
  std::vector<std::string> names;
  for (auto& [numbers, name] : all) names.push_back(std::move(name));
  return names;
}

// The weights that the LoRA in an adapter's file changes: its names → the UNet's.
std::map<std::string, std::string> changed_by(const TensorSource& adapter, const TensorSource& unet, const std::string& where) {
  std::map<std::string, std::string> changed;
  const std::vector<std::string> attentions = attentions_of(unet);
  for (const auto& [name, info] : adapter.list()) {
    const size_t lora = name.find("_lora.");
    if (!name.starts_with("ip_adapter.") || lora == name.npos) continue;
    const size_t begin = std::string_view("ip_adapter.").size(), end = name.find('.', begin);
    size_t number = 0;
    const auto [stop, error] = std::from_chars(name.data() + begin, name.data() + end, number);
    if (error != std::errc() || stop != name.data() + end || number >= attentions.size())
      fail<WeightError>("{}: '{}' is for another UNet: the model's has {} attentions", where, name, attentions.size());
    const std::string layer = name.substr(end + 1, lora - end - 1);
    changed[name.substr(0, lora) + ".weight"] = attentions[number] + "." + layer + (layer == "to_out" ? ".0.weight" : ".weight");
  }
  return changed;
}

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

std::shared_ptr<const diffusion::ImagePromptModel> image_prompt_for(const GivenComponent& given,
                                                                    const std::shared_ptr<TensorSource>& denoiser,
                                                                    const parts::UnetConfig& unet,
                                                                    const std::optional<PromptImageEncoder>& encoder) {
  const std::string where = given.files.at(0).string();
  if (!given.config_text()) fail<UnsupportedError>("{}: this kind of IP-Adapter is not supported", where);
  const parts::IpAdapterConfig c = parts::IpAdapterConfig::from(given.own_config());
  if (c.width != unet.context)
    fail<WeightError>("{}: is for a model whose text states have the width {}, this one has {}", where, c.width, unet.context);
  if (c.attends != unet.cross_attentions())
    fail<WeightError>("{}: is for another UNet: it has keys and values of {} cross-attentions, expected {} as wide as the model's", where,
                      c.attends.size(), unet.cross_attentions().size());
  if (c.sees_image() && !encoder)
    fail<UsageError>("{}: image prompts need an image encoder, expected --image-encoder PATH, a CLIP vision tower", where);
  if (c.sees_image()) {
    const int64_t gives = c.kind == Kind::vector ? encoder->config.projection : encoder->config.width;
    if (c.in != gives)
      fail<WeightError>("{}: reads {} of width {}, the image encoder gives {}", where, c.kind == Kind::vector ? "vectors" : "states", c.in,
                        gives);
  }
  return std::make_shared<IpAdapterModel>(c, encoder, changed_by(*given.tensors, *denoiser, where), where);
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
