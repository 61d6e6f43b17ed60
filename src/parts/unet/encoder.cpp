#include "parts/unet/encoder.h"

#include <cmath>

#include "nn/timestep_embedding.h"

namespace hearth::parts {
namespace {

ConvSpec halving(int64_t padding) { return ConvSpec::plane(2, {padding, padding, 1, 1}); }

}  // namespace

Tensor pooled_and_sizes(const UnetConfig& config, const Tensor& pooled, std::span<const float> sizes) {
  const int64_t width = config.pooled_width(int64_t(sizes.size()));
  if (pooled.shape() != Shape{1, width})
    fail<ShapeError>("unet: pooled text {} and {} sizes, expected [1, {}]", pooled.shape(), sizes.size(), width);
  const Tensor sinusoids = nn::embed_timesteps(
      pooled.backend(), sizes,
      {.channels = config.added_of_size, .cosine_first = config.cosine_first, .frequency_shift = config.frequency_shift});
  return ops::concat({pooled, sinusoids.view({1, config.added - width})}, 1);
}

Tensor guidance_embedding(const UnetConfig& config, Backend& backend, double scale) {
  const float w = float(scale - 1) * 1000.0f;
  const int64_t half = config.guidance / 2;
  std::vector<float> values(size_t(config.guidance), 0.0f);
  const float spacing = std::log(10000.0f) / float(half - 1);  // rounded here, unlike a timestep's
  for (int64_t i = 0; i < half; ++i) {
    const float angle = w * std::exp(float(i) * -spacing);
    values[size_t(i)] = std::sin(angle);
    values[size_t(half + i)] = std::cos(angle);
  }
  return Tensor::from(backend, {1, config.guidance}, values);
}

DownBlock::DownBlock(const Scope& w, const UnetConfig& config, size_t i) : path(w.path()) {
  const UnetConfig::Level& level = config.levels[i];
  const int64_t below = config.levels[i == 0 ? 0 : i - 1].channels, C = level.channels;
  int64_t number = config.first_cross_attention(UnetConfig::Blocks::down, i);
  for (int64_t j = 0; j < level.layers; ++j) {
    resnets.emplace_back(w / "resnets" / j, j == 0 ? below : C, C, resnet_spec(config));
    if (!level.attends_down) continue;
    const int64_t depth = level.depths_down[size_t(j)];
    attentions.emplace_back(w / "attentions" / j, config, level, level.only_cross_attention, depth, number);
    number += depth;
  }
  if (i + 1 < config.levels.size()) downsampler.emplace(w / "downsamplers" / 0 / "conv", C, C, 3, halving(config.downsample_padding));
}

Tensor DownBlock::operator()(Tensor x, const Tensor& temb, const UnetContext& context, std::vector<Tensor>& skips, int64_t identity,
                             const Tensor& feature) const {
  const BlockScope scope(path);
  for (size_t j = 0; j < resnets.size(); ++j) {
    x = resnets[j](std::move(x), temb);
    if (!attentions.empty()) x = attentions[j](x, context, identity);
    if (feature && !attentions.empty() && j + 1 == resnets.size()) x = ops::add(x, feature);
    skips.push_back(x);
  }
  if (downsampler) skips.push_back(x = (*downsampler)(x));
  if (feature && attentions.empty()) skips.back() = x = ops::add(x, feature);
  tap(path, x);
  return x;
}

MidBlock::MidBlock(const Scope& w, const UnetConfig& config) : path(w.path()) {
  const UnetConfig::Level& level = config.levels.back();
  const nn::ResnetSpec spec = resnet_spec(config, config.mid_block_scale_factor);
  resnets.emplace_back(w / "resnets" / 0, level.channels, level.channels, spec);
  if (config.mid == UnetConfig::Mid::resnet) return;
  // only_cross_attention does not apply to the mid block: its first attention is always self-attention.
  attention.emplace(w / "attentions" / 0, config, level, false, config.mid_depth, config.first_cross_attention(UnetConfig::Blocks::mid));
  resnets.emplace_back(w / "resnets" / 1, level.channels, level.channels, spec);
}

Tensor MidBlock::operator()(const Tensor& x, const Tensor& temb, const UnetContext& context, int64_t identity) const {
  const BlockScope scope(path);
  Tensor h = resnets[0](x, temb);
  if (attention) h = resnets[1]((*attention)(h, context, identity), temb);
  tap(path, h);
  return h;
}

UnetEncoder::UnetEncoder(const Scope& w, const UnetConfig& c)
    : config(c),
      time_embedding_1((w / "time_embedding" / "linear_1").exact(), c.levels[0].channels, c.temb),
      time_embedding_2((w / "time_embedding" / "linear_2").exact(), c.temb, c.temb),
      conv_in(w / "conv_in", c.in_channels, c.levels[0].channels, c.conv_in_kernel, ConvSpec::same(c.conv_in_kernel)) {
  if (c.guidance) cond_proj.emplace((w / "time_embedding" / "cond_proj").exact(), c.guidance, c.levels[0].channels, nn::Bias::no);
  if (c.added) {
    add_embedding_1.emplace((w / "add_embedding" / "linear_1").exact(), c.added, c.temb);
    add_embedding_2.emplace((w / "add_embedding" / "linear_2").exact(), c.temb, c.temb);
  }
  for (size_t i = 0; i < c.levels.size(); ++i) down_blocks.emplace_back(w / "down_blocks" / int64_t(i), c, i);
  if (c.mid != UnetConfig::Mid::none) mid_block.emplace(w / "mid_block", c);
}
// → [B, temb], activated: every residual block starts with this activation, so it is computed once.
Tensor UnetEncoder::time_embedding(Backend& backend, std::span<const float> timesteps, const Inputs& in, int64_t B) const {
  const UnetConditions& given = in.given;
  const BlockScope scope("time_embedding");
  const std::vector<float> each(timesteps.size() == 1 ? std::vector<float>(size_t(B), timesteps[0])
                                                      : std::vector<float>(timesteps.begin(), timesteps.end()));
  Tensor t = nn::embed_timesteps(
      backend, each,
      {.channels = config.levels[0].channels, .cosine_first = config.cosine_first, .frequency_shift = config.frequency_shift});
  if (cond_proj) t = (*cond_proj)(given.guidance, {.residual = t});
  Tensor emb = time_embedding_2(time_embedding_1(t, {.activation = config.activation}), {.activation = config.timestep_post_act});
  tap("time_embedding", emb);
  if (in.added_to_time) emb = ops::add(emb, in.added_to_time);
  // Always SiLU, independent of act_fn.
  if (config.added) emb = (*add_embedding_2)((*add_embedding_1)(given.added, {.activation = Activation::silu}), {.residual = emb});
  if (config.time_embedding_act_fn != Activation::none) emb = ops::activate(emb, config.time_embedding_act_fn);
  return ops::activate(emb, config.activation);
}

void UnetEncoder::check(const Tensor& x, std::span<const float> timesteps, const Inputs& in) const {
  const UnetConditions& given = in.given;
  const auto [B, H, W, C] = x.dims<4>();
  if (C != config.in_channels) fail<ShapeError>("unet: x {} has {} channels, expected {}", x.shape(), C, config.in_channels);
  if (timesteps.size() != 1 && int64_t(timesteps.size()) != B)
    fail<ShapeError>("unet: {} timesteps, expected 1 or one for each of {} images", timesteps.size(), B);
  const Tensor& context = given.context;
  if (config.context && (!context || context.rank() != 3 || context.size(0) != B || context.size(2) != config.context))
    fail<ShapeError>("unet: context {}, expected [{}, S, {}]", context ? context.shape() : Shape{}, B, config.context);
  const auto require = [B = B](std::string_view what, const Tensor& t, int64_t width) {
    if (width && (!t || t.shape() != Shape{B, width}))
      fail<ShapeError>("unet: {} {}, expected {}", what, t ? t.shape() : Shape{}, Shape{B, width});
  };
  require("pooled text and sizes", given.added, config.added);
  require("guidance", given.guidance, config.guidance);
  for (const ImagePrompt& image : given.images)
    if (image.tokens.rank() != 3 || image.tokens.size(0) != B || image.tokens.size(2) != config.context)
      fail<ShapeError>("unet: an image prompt {}, expected [{}, S, {}]", image.tokens.shape(), B, config.context);
  const int64_t perturbed = in.perturbed.images;
  if (perturbed < 0 || perturbed > B)
    fail<ShapeError>("unet: {} perturbed images for a batch of {}, expected at most the batch", perturbed, B);
}

UnetEncoder::Outputs UnetEncoder::operator()(const Tensor& x, std::span<const float> timesteps, const Inputs& in) const {
  check(x, timesteps, in);
  const int64_t B = x.size(0);
  const UnetContext context{in.given.context, in.given.images};
  using Blocks = UnetConfig::Blocks;
  const auto identity = [&](Blocks blocks) { return in.perturbed.blocks == blocks ? in.perturbed.images : 0; };
  Outputs out{.temb = time_embedding(x.backend(), timesteps, in, B), .x = x, .skips = {}};
  Tensor& h = out.x;
  if (config.center_input_sample) h = ops::linear_combination({x, Tensor::filled(x.backend(), x.shape(), 1)}, {2, -1});
  h = in_block("conv_in", [&] { return conv_in(h, {.residual = in.hint}); });
  out.skips.push_back(h);
  for (size_t i = 0; i < down_blocks.size(); ++i) {
    const Tensor feature = i < in.features.size() ? in.features[i] : Tensor();
    h = down_blocks[i](std::move(h), out.temb, context, out.skips, identity(Blocks::down), feature);
  }
  if (mid_block) h = (*mid_block)(h, out.temb, context, identity(Blocks::mid));
  if (in.features.size() > down_blocks.size() && in.features[down_blocks.size()].shape() == h.shape())
    h = ops::add(h, in.features[down_blocks.size()]);
  return out;
}
}  // namespace hearth::parts
