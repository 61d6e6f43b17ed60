// Control networks of Z-Image (alibaba-pai's Fun-Controlnet-Union), after diffusers' ZImageControlNetModel, 0.39.0: control blocks follow
// the transformer's streams, whose embeddings and refiners they share, and output what the transformer adds after some of its layers.
//
//   control latents [1 or B, h, w, channels] → pack() → control_all_x_embedder → tokens, padded ┐
//   x, text → the transformer's embeddings and refiners ────────────────────────────────────────┴→ control_layers → after each: after_proj
#pragma once

#include "models/z_image/controlnet_config.h"
#include "models/z_image/transformer.h"

namespace hearth::models::z_image {

// A block of the control stream. The first one of a row begins it: before_proj(control) + x.
struct ControlBlock {
  ControlBlock(const Scope& w, const TransformerConfig& config, bool first);

  std::optional<nn::Linear> before_proj;
  nn::Linear after_proj;
  Block block;
};

struct ControlNet {
  ControlNet(const Scope& w, const ControlNetConfig& config);

  // What the network sees → its tokens [1 or B, S, D], padded: once for a run. Tap "control_all_x_embedder.2-1".
  Tensor hint(const Tensor& seen) const;

  // x, times, text: as for Transformer; hint of one image, or of B, if n is a multiple of B. `scale`: of what it adds to the noise
  // refiner's stream → by the transformer's layer, [n, S + L, D]. Taps: each block under diffusers' path.
  AddedAfterLayers operator()(const Tensor& x, std::span<const float> times, const Tensor& text, const Tensor& hint, float scale) const;

  ControlNetConfig config;
  Stem stem;                             // the transformer's
  nn::Linear control_embedder;           // control_all_x_embedder.2-1
  Blocks<Block> refiner;                 // control_noise_refiner, of version 1
  Blocks<ControlBlock> control_refiner;  // control_noise_refiner, of version 2.1
  Blocks<ControlBlock> control_layers;
};

}  // namespace hearth::models::z_image
