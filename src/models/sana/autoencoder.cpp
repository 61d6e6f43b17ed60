#include "models/sana/autoencoder.h"

#include "core/error.h"
#include "core/observe.h"
#include "ops/linear_attention.h"

namespace hearth::models::sana {
namespace {

constexpr int64_t factor = 2, pixels = factor * factor;
constexpr int64_t gated_expansion = 4;

// [B, H, W, C] → [B, H/2, W/2, 4·C]: channel (c, dy, dx)
Tensor pixel_unshuffle(const Tensor& x) {
  const auto [B, H, W, C] = x.dims<4>();
  const Tensor parts = ops::contiguous(x).view({B, H / factor, factor, W / factor, factor, C});
  return ops::contiguous(parts.permute({0, 1, 3, 5, 2, 4})).view({B, H / factor, W / factor, pixels * C});
}

// [B, H, W, 4·C] → [B, 2H, 2W, C]
Tensor pixel_shuffle(const Tensor& x) {
  const auto [B, H, W, all] = x.dims<4>();
  const int64_t C = all / pixels;
  const Tensor parts = ops::contiguous(x).view({B, H, W, C, factor, factor});
  return ops::contiguous(parts.permute({0, 1, 4, 2, 5, 3})).view({B, factor * H, factor * W, C});
}

// The mean of each `group` neighboring channels.   [B, H, W, C] → [B, H, W, C / group]
Tensor group_means(const Tensor& x, int64_t group) {
  if (group == 1) return x;
  const auto [B, H, W, C] = x.dims<4>();
  const Tensor parts = x.view({B, H, W, C / group, group});
  std::vector<Tensor> members;
  for (int64_t i = 0; i < group; ++i) members.push_back(parts.slice(4, i, i + 1));
  return ops::linear_combination(members, std::vector<float>(size_t(group), 1 / float(group))).view({B, H, W, C / group});
}

// Each channel `times` times in a row.   [B, H, W, C] → [B, H, W, times·C]
Tensor repeat_channels(const Tensor& x, int64_t times) {
  if (times == 1) return x;
  const auto [B, H, W, C] = x.dims<4>();
  return ops::concat(std::vector<Tensor>(size_t(times), x.view({B, H, W, C, 1})), 4).view({B, H, W, times * C});
}

std::vector<DcBlock> blocks_of(const Scope& w, const DcLevel& level, int64_t first, int64_t head_size) {
  std::vector<DcBlock> blocks;
  for (int64_t i = 0; i < level.blocks; ++i) {
    const Scope scope = w / (first + i);
    if (level.attention) blocks.emplace_back(std::in_place_type<DcAttentionBlock>, scope, level, head_size);
    else blocks.emplace_back(std::in_place_type<DcResBlock>, scope, level);
  }
  return blocks;
}

Tensor through(const std::vector<DcBlock>& blocks, Tensor x) {
  for (const DcBlock& block : blocks) x = std::visit([&](const auto& b) { return b(x); }, block);
  return x;
}

// The level at the image's size, or the next one if that has no blocks.
const DcLevel& entrance(const std::vector<DcLevel>& levels) { return levels[levels[0].blocks > 0 ? 0 : 1]; }

}  // namespace

DcResBlock::DcResBlock(const Scope& w, const DcLevel& level)
    : conv1(w / "conv1", level.channels, level.channels, 3, ConvSpec::same(3)),
      conv2(w / "conv2", level.channels, level.channels, 3, ConvSpec::same(3), nn::Bias::no),
      norm(w / "norm", level.channels),
      activation(level.activation),
      path(w.path()) {}

Tensor DcResBlock::operator()(const Tensor& x) const {
  const BlockScope scope(path);
  const Tensor y = ops::add(norm(conv2(conv1(x, {.activation = activation, .stored = nn::read_by(conv2)}), {.out = x.dtype()})), x);
  tap(path, y);
  return y;
}

DcScale::DcScale(const Scope& w, int64_t channels, int64_t heads, int64_t kernel)
    : proj_in(w / "proj_in", 3 * channels, 3 * channels, kernel, ConvSpec::same(kernel), nn::Bias::no, 3 * channels),
      proj_out(w / "proj_out", 3 * channels, 3 * channels, 1, {}, nn::Bias::no, 3 * heads) {}

DcAttentionBlock::DcAttentionBlock(const Scope& w, const DcLevel& level, int64_t head_size_)
    : to_q(w / "attn" / "to_q", level.channels, level.channels / head_size_ * head_size_, nn::Bias::no),
      to_k(w / "attn" / "to_k", level.channels, level.channels / head_size_ * head_size_, nn::Bias::no),
      to_v(w / "attn" / "to_v", level.channels, level.channels / head_size_ * head_size_, nn::Bias::no),
      to_out(w / "attn" / "to_out", level.channels / head_size_ * head_size_ * int64_t(1 + level.scales.size()), level.channels,
             nn::Bias::no),
      norm_out(w / "attn" / "norm_out", level.channels),
      conv_out(w / "conv_out", level.channels, gated_expansion * level.channels),
      conv_norm(w / "conv_out" / "norm", level.channels),
      head_size(head_size_),
      path(w.path()) {
  const int64_t heads = level.channels / head_size;
  for (size_t i = 0; i < level.scales.size(); ++i)
    scales.emplace_back(w / "attn" / "to_qkv_multiscale" / int64_t(i), heads * head_size, heads, level.scales[i]);
}

// The channels of all scales one after another, in heads of a query, a key and a value each. (Each such head takes neighboring channels of
// [q, k, v], so that for more than one head its parts are not what the names of the matrices say; trained so.)
Tensor DcAttentionBlock::attention(const Tensor& x) const {
  const auto [B, H, W, C] = x.dims<4>();
  const auto [q, k, v] = nn::together(x, to_q, to_k, to_v);
  std::vector<Tensor> all{ops::concat({q, k, v}, 3)};
  for (const DcScale& scale : scales) all.push_back(scale(all[0]));
  const Tensor wide = ops::cast(all.size() == 1 ? all[0] : ops::concat(all, 3), DType::f32);
  const int64_t heads = wide.size(3) / (3 * head_size);
  const Tensor parts = wide.view({B, H * W, heads, 3 * head_size});
  const auto part = [&, D = head_size](int64_t i) { return parts.slice(3, i * D, (i + 1) * D); };
  const Tensor y =
      ops::linear_attention(ops::activate(part(0), Activation::relu), ops::activate(part(1), Activation::relu), part(2), 1e-15f);
  return ops::add(norm_out(to_out(y.view({B, H, W, heads * head_size}), {.out = x.dtype()})), x);
}

Tensor DcAttentionBlock::operator()(const Tensor& x) const {
  const BlockScope scope(path);
  const Tensor attended = in_block(path + ".attn", [&] { return attention(x); });
  const Tensor y = in_block(path + ".conv_out", [&] { return ops::add(conv_norm(conv_out(attended)), attended); });
  tap(path, y);
  return y;
}

DcDown::DcDown(const Scope& w, int64_t in, int64_t out, bool unshuffles_, bool shortcut)
    : conv(w / "conv", in, unshuffles_ ? out / pixels : out, 3, unshuffles_ ? ConvSpec::same(3) : ConvSpec::plane(factor, {1, 1, 1, 1})),
      group(shortcut ? in * pixels / out : 0),
      unshuffles(unshuffles_) {}

Tensor DcDown::operator()(const Tensor& x) const {
  const Tensor y = unshuffles ? pixel_unshuffle(conv(x)) : conv(x);
  return group ? ops::add(y, group_means(pixel_unshuffle(x), group)) : y;
}

DcUp::DcUp(const Scope& w, int64_t in, int64_t out, bool interpolates_, bool shortcut)
    : conv(w / "conv", in, interpolates_ ? out : pixels * out, 3, ConvSpec::same(3)),
      repeats(shortcut ? out * pixels / in : 0),
      interpolates(interpolates_) {}

Tensor DcUp::operator()(const Tensor& x) const {
  const Tensor y = interpolates ? conv.resized(x, factor * x.size(1), factor * x.size(2)) : pixel_shuffle(conv(x));
  return repeats ? ops::add(y, pixel_shuffle(repeat_channels(x, repeats))) : y;
}

DcEncoder::DcEncoder(const Scope& w, const AutoencoderDcConfig& c)
    : conv_in(c.encoder[0].blocks > 0 ? std::variant<nn::Conv2d, DcDown>(std::in_place_type<nn::Conv2d>, w / "conv_in", c.image_channels,
                                                                         c.encoder[0].channels, 3, ConvSpec::same(3))
                                      : std::variant<nn::Conv2d, DcDown>(std::in_place_type<DcDown>, w / "conv_in", c.image_channels,
                                                                         c.encoder[1].channels, c.unshuffles, false)),
      conv_out(w / "conv_out", c.encoder.back().channels, c.latent_channels, 3, ConvSpec::same(3)),
      group(c.encoder_shortcut ? c.encoder.back().channels / c.latent_channels : 0),
      path(w.path()) {
  for (size_t i = 0; i < c.encoder.size(); ++i) {
    const Scope scope = w / "down_blocks" / int64_t(i);
    const DcLevel& level = c.encoder[i];
    DcEncoderLevel& made = levels.emplace_back(DcEncoderLevel{blocks_of(scope, level, 0, c.head_size), {}});
    if (i + 1 < c.encoder.size() && level.blocks > 0)
      made.down.emplace(scope / level.blocks, level.channels, c.encoder[i + 1].channels, c.unshuffles, true);
  }
}

Tensor DcEncoder::operator()(const Tensor& image) const {
  const BlockScope scope(path);
  Tensor x = in_block(path + ".conv_in", [&] { return std::visit([&](const auto& conv) { return conv(image); }, conv_in); });
  for (const DcEncoderLevel& level : levels) {
    x = through(level.blocks, std::move(x));
    if (level.down) x = (*level.down)(x);
  }
  const Tensor z = conv_out(x);
  x = group ? ops::add(z, group_means(x, group)) : z;
  tap(path, x);
  return x;
}

DcDecoder::DcDecoder(const Scope& w, const AutoencoderDcConfig& c)
    : conv_in(w / "conv_in", c.latent_channels, c.decoder.back().channels, 3, ConvSpec::same(3)),
      repeats(c.decoder_shortcut ? c.decoder.back().channels / c.latent_channels : 0),
      norm_out(w / "norm_out", entrance(c.decoder).channels),
      activation(c.last_activation),
      conv_out(c.decoder[0].blocks > 0 ? std::variant<nn::Conv2d, DcUp>(std::in_place_type<nn::Conv2d>, w / "conv_out",
                                                                        c.decoder[0].channels, c.image_channels, 3, ConvSpec::same(3))
                                       : std::variant<nn::Conv2d, DcUp>(std::in_place_type<DcUp>, w / "conv_out", c.decoder[1].channels,
                                                                        c.image_channels, c.interpolates, false)),
      path(w.path()) {
  for (size_t i = 0; i < c.decoder.size(); ++i) {
    const Scope scope = w / "up_blocks" / int64_t(i);
    const DcLevel& level = c.decoder[i];
    DcDecoderLevel& made = levels.emplace_back();
    const bool grows = i + 1 < c.decoder.size() && level.blocks > 0;
    if (grows) made.up.emplace(scope / 0, c.decoder[i + 1].channels, level.channels, c.interpolates, true);
    made.blocks = blocks_of(scope, level, grows, c.head_size);
  }
}

Tensor DcDecoder::operator()(const Tensor& z) const {
  const BlockScope scope(path);
  Tensor x = in_block(path + ".conv_in", [&] { return repeats ? conv_in(z, {.residual = repeat_channels(z, repeats)}) : conv_in(z); });
  for (size_t i = levels.size(); i-- > 0;) {
    if (levels[i].up) x = (*levels[i].up)(x);
    x = through(levels[i].blocks, std::move(x));
  }
  x = ops::activate(norm_out(x), activation);
  x = std::visit([&](const auto& conv) { return conv(x); }, conv_out);
  tap(path, x);
  return x;
}

AutoencoderDc::AutoencoderDc(const Scope& w, const AutoencoderDcConfig& c)
    : config(c), encoder(w / "encoder", [c](const Scope& s) { return DcEncoder(s, c); }), decoder(w / "decoder", c) {}

Tensor AutoencoderDc::encode(const Tensor& image) const {
  const int64_t f = config.factor();
  if (image.rank() != 4 || image.size(3) != config.image_channels || image.size(1) % f != 0 || image.size(2) % f != 0 || image.numel() == 0)
    fail<ShapeError>("vae: image is {}, expected [B, H, W, {}] with sides that are multiples of {}", image.shape(), config.image_channels,
                     f);
  return (*encoder)(image);
}

Tensor AutoencoderDc::decode(const Tensor& z) const {
  if (z.rank() != 4 || z.size(3) != config.latent_channels)
    fail<ShapeError>("vae: latents have shape {}, expected [B, H, W, {}]", z.shape(), config.latent_channels);
  return decoder(z);
}

}  // namespace hearth::models::sana
