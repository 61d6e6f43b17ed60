// A layer with a shared transformer in front of its own state space (Glorioso et al. 2024, arXiv 2411.15242). Reference: transformers,
// Zamba2HybridLayer.
//
//   t = linear(mlp(pre_ff_layernorm(attention(input_layernorm([x, embeddings])))))
//   x ← x + mamba(mamba_decoder.input_layernorm(x + t))
//
// The weights of attention, MLP and norms are those of another layer, the first that uses them; adapters are a layer's own.
#pragma once

#include <map>
#include <memory>

#include "parts/decoder/config.h"

namespace hearth::models::zamba2 {

struct HybridConfig {
  int64_t heads = 32, groups = 32, head = 160;  // N, G, D: of attention, whose input has 2·C = N·D channels
  int64_t mlp = 10240;                          // I
  Activation activation = Activation::gelu;
  bool bias = false;       // of the MLP
  bool positions = false;  // rotary, by the first table
  bool adapts_attention = false;
  int64_t adapter_rank = 128;
  float eps = 1e-5f;
  parts::StateSpaceMixerConfig mixer = {};

  bool operator==(const HybridConfig&) const = default;
};

// Weights that several layers share.
struct SharedTransformer {
  // w: "model.layers.N.shared_transformer" of the first layer that uses it
  SharedTransformer(const Scope& w, int64_t width, const HybridConfig& config);

  parts::Norm norm, mlp_norm;  // [2·C], [C]
  parts::Projection q, k, v;   // [N·D, 2·C], [G·D, 2·C], [G·D, 2·C]
  parts::Projection o;         // [C, N·D]
  parts::Projection gate, up;  // [I, C]: rows of gate_up_proj
  parts::Projection down;      // [C, I]
};

// The transformers of a network by their numbers, while it is built.
using SharedTransformers = std::map<int64_t, std::weak_ptr<const SharedTransformer>>;

struct HybridLayerConfig final : parts::OwnBlock {
  std::unique_ptr<parts::Block> build(const Scope& w, int64_t width, const std::vector<parts::RotaryConfig>& rotaries) const override;

  HybridConfig config;
  int64_t transformer = 0;       // its number
  int64_t use = 0;               // this layer's number among those with a transformer
  std::string layer, stored_in;  // paths: of this layer, and of the first with the transformer
  std::shared_ptr<SharedTransformers> shared;
};

}  // namespace hearth::models::zamba2
