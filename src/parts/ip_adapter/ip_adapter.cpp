#include "parts/ip_adapter/ip_adapter.h"

#include <cmath>

#include "core/observe.h"
#include "ops/pointwise.h"

namespace hearth::parts {
namespace {

using Kind = IpAdapterConfig::Kind;
constexpr int64_t head_size = 64;

std::variant<VectorTokens, MlpTokens, Resampler, FaceResampler> projection_of(const Scope& w, const IpAdapterConfig& c) {
  if (c.kind == Kind::vector) return VectorTokens(w, c);
  if (c.kind == Kind::resampler) return Resampler(w, c);
  if (c.kind == Kind::face_and_states) return FaceResampler(w, c);
  return MlpTokens(w, c);
}

}  // namespace

VectorTokens::VectorTokens(const Scope& w, const IpAdapterConfig& c)
    : proj(w / "proj", c.in, c.tokens * c.width), norm(w / "norm", c.width), tokens(c.tokens), width(c.width) {}

Tensor VectorTokens::operator()(const Tensor& x) const { return norm(proj(x).view({x.size(0), tokens, width})); }

MlpTokens::MlpTokens(const Scope& w, const IpAdapterConfig& c)
    : first(w / "proj" / 0, c.in, c.hidden),
      second(w / "proj" / 2, c.hidden, c.kind == Kind::face ? c.tokens * c.width : c.width),
      norm(c.kind == Kind::face ? w / "norm" : w / "proj" / 3, c.width),
      tokens(c.kind == Kind::face ? c.tokens : 0),
      width(c.width) {}

Tensor MlpTokens::operator()(const Tensor& x) const {
  const Tensor y = second(first(x, {.activation = Activation::gelu}));
  return norm(tokens ? y.view({x.size(0), tokens, width}) : y);
}

Resampler::Layer::Layer(const Scope& w, const IpAdapterConfig& c)
    : norm1(w / 0 / "norm1", c.hidden),
      norm2(w / 0 / "norm2", c.hidden),
      to_q(w / 0 / "to_q", c.hidden, c.heads * head_size, nn::Bias::no),
      to_k(w / 0 / "to_k", c.hidden, c.heads * head_size, nn::Bias::no),
      to_v(w / 0 / "to_v", c.hidden, c.heads * head_size, nn::Bias::no),
      to_out(w / 0 / "to_out", c.heads * head_size, c.hidden, nn::Bias::no),
      norm(w / 1 / 0, c.hidden),
      first(w / 1 / 1, c.hidden, 4 * c.hidden, nn::Bias::no),
      second(w / 1 / 3, 4 * c.hidden, c.hidden, nn::Bias::no),
      heads(c.heads) {}

Tensor Resampler::Layer::operator()(const Tensor& x, const Tensor& latents) const {
  const auto [B, Q, C] = latents.dims<3>();
  const Tensor own = norm2(latents), all = ops::concat({norm1(x), own}, 1);
  const int64_t T = all.size(1);
  const Tensor y = ops::attention(to_q(own).view({B, Q, heads, head_size}), to_k(all).view({B, T, heads, head_size}),
                                  to_v(all).view({B, T, heads, head_size}),
                                  {.scale = 1 / std::sqrt(float(head_size)), .factors = to_q.weight.form.factors});
  const Tensor h = to_out(y.view({B, Q, heads * head_size}), {.residual = latents});
  return second(first(norm(h), {.activation = Activation::gelu}), {.residual = h});
}

Resampler::Resampler(const Scope& w, const IpAdapterConfig& c)
    : latents(w.tensor("latents", {1, c.tokens, c.hidden})),
      proj_in(w / "proj_in", c.in, c.hidden),
      proj_out(w / "proj_out", c.hidden, c.width),
      norm_out(w / "norm_out", c.width) {
  for (int64_t i = 0; i < c.layers; ++i) layers.emplace_back(w / "layers" / i, c);
}

Tensor Resampler::operator()(const Tensor& image) const {
  const Tensor x = proj_in(image);
  Tensor h = ops::concat(std::vector<Tensor>(size_t(x.size(0)), latents), 0);
  for (const Layer& layer : layers) h = layer(x, h);
  return norm_out(proj_out(h));
}

FaceResampler::FaceResampler(const Scope& w, const IpAdapterConfig& c)
    : first(w / "proj" / 0, c.face, c.face_hidden),
      second(w / "proj" / 2, c.face_hidden, c.tokens * c.hidden),
      norm(w / "norm", c.hidden),
      proj_in(w / "perceiver_resampler" / "proj_in", c.in, c.hidden),
      proj_out(w / "perceiver_resampler" / "proj_out", c.hidden, c.width),
      norm_out(w / "perceiver_resampler" / "norm_out", c.width),
      tokens(c.tokens),
      hidden(c.hidden) {
  for (int64_t i = 0; i < c.layers; ++i) layers.emplace_back(w / "perceiver_resampler" / "layers" / i, c);
}

Tensor FaceResampler::operator()(const Tensor& face, const Tensor& states, bool shortcut) const {
  const Tensor own = norm(second(first(face, {.activation = Activation::gelu})).view({face.size(0), tokens, hidden}));
  const Tensor x = proj_in(states);
  Tensor h = own;
  for (const Resampler::Layer& layer : layers) h = layer(x, h);
  const Tensor y = norm_out(proj_out(h));
  return shortcut ? ops::add(own, y) : y;
}

IpAdapter::IpAdapter(const Scope& w, const IpAdapterConfig& c) : config(c), projection(projection_of(w / "image_proj", c)) {
  for (size_t i = 0; i < c.attends.size(); ++i) {
    const Scope layer = w / "ip_adapter" / int64_t(2 * i + 1);
    attends.push_back({nn::Linear(layer / "to_k_ip", c.width, c.attends[i], nn::Bias::no),
                       nn::Linear(layer / "to_v_ip", c.width, c.attends[i], nn::Bias::no)});
  }
}

Tensor IpAdapter::tokens(const Tensor& image) const {
  const int64_t rank = config.kind == Kind::vector || config.kind == Kind::face ? 2 : 3;
  if (image.rank() != rank || image.size(rank - 1) != config.in)
    fail<ShapeError>("ip-adapter: the image has shape {}, expected {} axes, the last of {}", image.shape(), rank, config.in);
  const auto made = [&](const auto& projected) -> Tensor {
    if constexpr (std::is_invocable_v<decltype(projected), const Tensor&>) return projected(image);
    else fail<ShapeError>("ip-adapter: an image of shape {} without a face's vector, expected both", image.shape());
  };
  return in_block("image_proj", [&] { return std::visit(made, projection); });
}

Tensor IpAdapter::tokens(const Tensor& face, const Tensor& states, bool shortcut) const {
  const auto* resampler = std::get_if<FaceResampler>(&projection);
  if (!resampler || face.rank() != 2 || face.size(1) != config.face || states.rank() != 3 || states.size(2) != config.in)
    fail<ShapeError>("ip-adapter: a face of shape {} and states of shape {}, expected [B, {}] and [B, T, {}]", face.shape(), states.shape(),
                     config.face, config.in);
  if (shortcut && config.hidden != config.width)
    fail<UsageError>("ip-adapter: a shortcut of width {} to tokens of width {}, expected equal widths", config.hidden, config.width);
  return in_block("image_proj", [&] { return (*resampler)(face, states, shortcut); });
}

}  // namespace hearth::parts
