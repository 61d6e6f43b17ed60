#include "parts/unet/unet.h"

namespace hearth::parts {
namespace {

// A residual of one position is added to all.
void add_to(Tensor& x, const Tensor& residual, std::string_view what) {
  const auto [B, H, W, C] = x.dims<4>();
  if (residual.shape() == Shape{B, 1, 1, C}) {
    x = ops::affine(x, {}, residual.view({B, C}));
    return;
  }
  if (residual.shape() != x.shape())
    fail<ShapeError>("unet: {} residual {}, expected {} or one position of it", what, residual.shape(), x.shape());
  x = ops::add(x, residual);
}

}  // namespace

UpBlock::UpBlock(const Scope& w, const UnetConfig& config, size_t i) : path(w.path()) {
  const UnetConfig::Level& level = config.levels[i];
  const int64_t C = level.channels;
  const int64_t below = config.levels[i + 1 < config.levels.size() ? i + 1 : i].channels,
                above = config.levels[i == 0 ? 0 : i - 1].channels;
  int64_t number = config.first_cross_attention(UnetConfig::Blocks::up, config.levels.size() - 1 - i);
  for (int64_t j = 0; j <= level.layers; ++j) {
    // The last skip of a level is the input from the level above it.
    const int64_t x = j == 0 ? below : C, skip = j == level.layers ? above : C;
    resnets.emplace_back(w / "resnets" / j, x + skip, C, resnet_spec(config));
    if (!level.attends_up) continue;
    const int64_t depth = level.depths_up[size_t(j)];
    attentions.emplace_back(w / "attentions" / j, config, level, level.only_cross_attention, depth, number);
    number += depth;
  }
  if (i > 0) upsampler.emplace(w / "upsamplers" / 0 / "conv", C, C, 3, ConvSpec::same(3));
}

Tensor UpBlock::operator()(Tensor x, const Tensor& temb, const UnetContext& context, std::vector<Tensor>& skips, int64_t identity) const {
  const BlockScope scope(path);
  for (size_t j = 0; j < resnets.size(); ++j) {
    x = ops::concat({x, skips.back()}, -1);
    skips.pop_back();
    x = resnets[j](std::move(x), temb);
    if (!attentions.empty()) x = attentions[j](x, context, identity);
  }
  if (upsampler) x = upsampler->resized(x, skips.back().size(1), skips.back().size(2));
  tap(path, x);
  return x;
}

Unet::Unet(const Scope& w, const UnetConfig& c)
    : encoder(w, c),
      conv_norm_out(w / "conv_norm_out", c.groups, c.levels[0].channels, c.eps),
      conv_out(w / "conv_out", c.levels[0].channels, c.out_channels, c.conv_out_kernel, ConvSpec::same(c.conv_out_kernel)) {
  const size_t L = c.levels.size();
  for (size_t i = 0; i < L; ++i) up_blocks.emplace_back(w / "up_blocks" / int64_t(i), c, L - 1 - i);
}

Tensor Unet::operator()(const Tensor& x, std::span<const float> timesteps, const UnetConditions& given, const Perturbed& perturbed,
                        const UnetResiduals& residuals) const {
  UnetEncoder::Outputs half = encoder(x, timesteps, {.given = given, .perturbed = perturbed, .features = residuals.features});
  if (!residuals.skips.empty() && residuals.skips.size() != half.skips.size())
    fail<ShapeError>("unet: {} residuals, expected one for each of {} skips", residuals.skips.size(), half.skips.size());
  for (size_t i = 0; i < residuals.skips.size(); ++i) add_to(half.skips[i], residuals.skips[i], "a skip's");
  if (residuals.mid) add_to(half.x, residuals.mid, "the middle block's");

  const int64_t identity = perturbed.blocks == UnetConfig::Blocks::up ? perturbed.images : 0;
  const UnetContext context{given.context, given.images};
  Tensor h = std::move(half.x);
  for (const UpBlock& block : up_blocks) h = block(std::move(h), half.temb, context, half.skips, identity);
  return in_block("conv_out", [&] { return conv_out(h, {}, conv_norm_out.input(encoder.config.activation)); });
}

}  // namespace hearth::parts
