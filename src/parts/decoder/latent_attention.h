// Multi-head latent attention (DeepSeek-AI 2024, arXiv 2405.04434): the keys and values of all heads are linear functions of one short
// latent vector of each token, and of one rotated key that all heads share. Only these are cached.
//
// Computed in the absorbed form: the latent's matrix of keys is applied to the queries, and its matrix of values to what is attended to, so
// that all heads attend to the cache itself:  q·(K c) = (Kᵀ q)·c,  Σ w (V c) = V (Σ w c).
#pragma once

#include "parts/decoder/block.h"
#include "parts/decoder/norm.h"
#include "parts/decoder/projection.h"
#include "parts/decoder/rotary.h"

namespace hearth::parts {

struct LatentAttentionConfig {
  int64_t heads = 16;                // N
  int64_t latent = 512;              // L: kv_lora_rank
  int64_t plain = 128, turned = 64;  // P, R: elements of a head's query and key without and with positions
  int64_t value = 128;               // Dv
  int64_t query_latent = 0;          // queries are computed from a latent vector of this size, too; 0: from x
  int rotary = 0;                    // of DecoderConfig::rotaries; its size is R
  float scale = 0;                   // of scores; 0: 1/√(P + R)
  bool bias = false;                 // of the projections to the latents, and of the output
  NormConfig norm = {};              // of the latents

  bool operator==(const LatentAttentionConfig&) const = default;
};

// Tensors below the block: q_proj, or q_a_proj, q_a_layernorm, q_b_proj; kv_a_proj_with_mqa, kv_a_layernorm; for each head n, k_b.n [L, P]
// and v_b.n [Dv, L], which are parts of the published kv_b_proj; o_proj.
class LatentAttention final : public Block {
 public:
  LatentAttention(const Scope& w, int64_t width, const std::vector<RotaryConfig>& rotaries, const LatentAttentionConfig& config);

  Tensor operator()(const Tensor& x, const Tensor& residual, const Pass& pass, States states) const override;
  std::optional<nn::KvLayout> stored() const override;

 private:
  Tensor queries(const Tensor& x, const Pass& pass) const;  // [T, N, L + R], absorbed
  Tensor keys(const Tensor& x, const Pass& pass) const;     // [T, 1, L + R]

  LatentAttentionConfig config_;
  RotaryPairs pairs_;
  std::optional<Projection> q_a_;  // [query_latent, C]
  std::optional<Norm> q_a_norm_;
  Projection q_;                 // [N·(P + R), C or query_latent]
  Projection kv_a_;              // [L + R, C]
  Norm kv_a_norm_;               // [L]
  std::vector<Projection> k_b_;  // [L, P] of each head
  std::vector<Projection> v_b_;  // [Dv, L] of each head
  Projection o_;                 // [C, N·Dv]
};

}  // namespace hearth::parts
