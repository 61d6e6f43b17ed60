#include "parts/controlnet/fusion.h"

#include "nn/timestep_embedding.h"
#include "ops/pool.h"

namespace hearth::parts {
namespace {

// The union's heads do not matter: each token attends to itself alone.
Weight value_rows(const Scope& attention, int64_t channels) {
  return attention.linear_rows("in_proj_weight", 3 * channels, channels, {2 * channels, 3 * channels});
}

}  // namespace

FusionBlock::FusionBlock(const Scope& w, int64_t channels)
    : ln_1(w / "ln_1", channels),
      value(value_rows(w / "attn", channels)),
      out_proj(w / "attn" / "out_proj", channels, channels),
      ln_2(w / "ln_2", channels),
      c_fc(w / "mlp" / "c_fc", channels, 4 * channels),
      c_proj(w / "mlp" / "c_proj", 4 * channels, channels) {
  if (const Tensor all = (w / "attn").tensor("in_proj_bias", {3 * channels})) value_bias = all.slice(0, 2 * channels, 3 * channels);
}

Tensor FusionBlock::operator()(const Tensor& x) const {
  const Tensor h = out_proj(ops::linear(ln_1(x), value, value_bias), {.residual = x});
  return c_proj(c_fc(ln_2(h), {.activation = Activation::quick_gelu}), {.residual = h});
}

HintFusion::HintFusion(const Scope& w, const ControlNetConfig& c)
    : config(c),
      task_embedding(w.tensor("task_embedding", {c.unified->types, c.unified->channels})),
      spatial_ch_projs(w / "spatial_ch_projs", c.unified->channels, c.unified->projected),
      add_embedding_1((w / "control_add_embedding" / "linear_1").exact(), c.unet.added_of_size * c.unified->types, c.unet.temb),
      add_embedding_2((w / "control_add_embedding" / "linear_2").exact(), c.unet.temb, c.unet.temb) {
  for (int64_t i = 0; i < c.unified->layers; ++i) layers.emplace_back(w / "transformer_layes" / i, c.unified->channels);
}

Tensor HintFusion::share(const Tensor& hint, int64_t type, float weight) const {
  const auto [B, H, W, C] = hint.dims<4>();
  const Tensor mean = ops::pool(hint, {.rows = {.size = H}, .columns = {.size = W}}).view({B, C});
  const auto weighted = [weight](const Tensor& x) { return weight == 1 ? x : ops::linear_combination({x}, {weight}); };
  Tensor token = weighted(ops::add(mean, task_embedding.slice(0, type, type + 1)));
  for (const FusionBlock& layer : layers) token = layer(token);
  return ops::affine(weighted(hint), {}, weighted(spatial_ch_projs(token)));
}

Tensor HintFusion::embedding(std::span<const int64_t> present) const {
  std::vector<float> types(size_t(config.unified->types), 0.0f);
  for (const int64_t type : present) types[size_t(type)] = 1;
  const Tensor sinusoids = nn::embed_timesteps(
      task_embedding.backend(), types,
      {.channels = config.unet.added_of_size, .cosine_first = config.unet.cosine_first, .frequency_shift = config.unet.frequency_shift});
  return add_embedding_2(
      add_embedding_1(sinusoids.view({1, config.unet.added_of_size * config.unified->types}), {.activation = Activation::silu}));
}

}  // namespace hearth::parts
