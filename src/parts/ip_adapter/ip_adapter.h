// IP-Adapter (Ye et al. 2023, arXiv 2308.06721): an image as further tokens that a UNet attends to, by keys and values of its own. After
// diffusers 0.39's IPAdapterAttnProcessor2_0 and the projections of its models/embeddings.py.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "nn/attention.h"
#include "parts/ip_adapter/config.h"

namespace hearth::parts {

// norm(proj(x)), cut into tokens.   x [B, in] → [B, tokens, width]
struct VectorTokens {
  VectorTokens(const Scope& w, const IpAdapterConfig& config);
  Tensor operator()(const Tensor& x) const;

  nn::Linear proj;
  nn::LayerNorm norm;
  int64_t tokens, width;
};

// norm(W₂ gelu(W₁ x)).   states: x [B, T, in] → [B, T, width]; face: x [B, in] → [B, tokens, width]
struct MlpTokens {
  MlpTokens(const Scope& w, const IpAdapterConfig& config);
  Tensor operator()(const Tensor& x) const;

  nn::Linear first, second;  // proj.0, proj.2
  nn::LayerNorm norm;        // states: proj.3; face: norm
  int64_t tokens, width;     // tokens 0: as many as x has
};

// Latents that attend to the image's states and to themselves (Alayrac et al. 2022, arXiv 2204.14198).   x [B, T, in] → [B, tokens, width]
struct Resampler {
  Resampler(const Scope& w, const IpAdapterConfig& config);
  Tensor operator()(const Tensor& x) const;

  struct Layer {
    Layer(const Scope& w, const IpAdapterConfig& config);
    // x [B, T, hidden], latents [B, tokens, hidden] → the new latents
    Tensor operator()(const Tensor& x, const Tensor& latents) const;

    nn::LayerNorm norm1, norm2;  // i.0: of x and of the latents
    nn::Linear to_q, to_k, to_v, to_out;
    nn::LayerNorm norm;        // i.1.0
    nn::Linear first, second;  // i.1.1, i.1.3: no bias
    int64_t heads;
  };

  Tensor latents;  // [tokens, hidden]
  nn::Linear proj_in;
  std::vector<Layer> layers;  // layers.i
  nn::Linear proj_out;
  nn::LayerNorm norm_out;
};

// FaceID Plus: tokens of a face's vector that attend to the image's states.
struct FaceResampler {
  FaceResampler(const Scope& w, const IpAdapterConfig& config);
  // face [B, face], states [B, T, in] → [B, tokens, width]. `shortcut`: the vector's own tokens are added, as version 2 needs it; requires
  // that they have the width of the others.
  Tensor operator()(const Tensor& face, const Tensor& states, bool shortcut) const;

  nn::Linear first, second;  // proj.0, proj.2
  nn::LayerNorm norm;
  nn::Linear proj_in;  // perceiver_resampler.…
  std::vector<Resampler::Layer> layers;
  nn::Linear proj_out;
  nn::LayerNorm norm_out;
  int64_t tokens, hidden;
};

struct IpAdapter {
  IpAdapter(const Scope& w, const IpAdapterConfig& config);

  // What the image encoder gives, as config.kind says: [B, in], or [B, T, in] → tokens [B, T', width]. ShapeError for another width.
  Tensor tokens(const Tensor& image) const;
  // The same of an adapter that sees a face's vector and an image. UsageError for a shortcut that its widths do not allow.
  Tensor tokens(const Tensor& face, const Tensor& states, bool shortcut) const;

  IpAdapterConfig config;
  std::variant<VectorTokens, MlpTokens, Resampler, FaceResampler> projection;  // image_proj.…
  std::vector<nn::ContextProjection> attends;                                  // ip_adapter.(2i + 1).to_k_ip, .to_v_ip
};

}  // namespace hearth::parts
