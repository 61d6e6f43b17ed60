// The recurrent block of Griffin (De et al. 2024, arXiv 2402.19427), as in transformers' RecurrentGemmaRecurrentBlock.
#pragma once

#include "parts/decoder/causal_conv.h"
#include "parts/decoder/config.h"
#include "parts/decoder/recurrent_state.h"

namespace hearth::models::recurrent_gemma {

struct RecurrentConfig final : parts::OwnBlock {
  int64_t width = 2560, heads = 10;  // R, N: gates see the R/N elements of their head
  int64_t taps = 4;                  // K, of the convolution
  Activation activation = Activation::gelu_tanh;

  std::unique_ptr<parts::Block> build(const Scope& w, int64_t width, const std::vector<parts::RotaryConfig>& rotaries) const override;
};

// x [T, C] → u = conv(W x);  i = σ(gate(u)), r = σ(gate(u)) by head;  log a = −8·softplus(Λ)·r;  h ← a·h + √(1 − a²)·i·u;
//   out = Wo (h · act(W x))
class RecurrentBlock final : public parts::Recurrence {
 public:
  RecurrentBlock(const Scope& w, int64_t width, const RecurrentConfig& config);

  Tensor operator()(const Tensor& x, const Tensor& residual, const parts::Pass& pass, parts::States states) const override;

 private:
  struct Gate {  // a matrix [W, W] and a bias [W] of each head
    Gate(const Scope& w, const std::string& name, const RecurrentConfig& config);
    std::vector<Weight> weights;
    std::vector<Tensor> biases;
  };
  // σ of both gates of u [T, R] → [T, R] each
  std::pair<Tensor, Tensor> gates(const Tensor& u) const;

  RecurrentConfig config_;
  parts::Projection x_, y_;  // [R, C]
  parts::Projection out_;    // [C, R]
  parts::CausalConv conv_;
  Gate input_gate_, recurrent_gate_;
  Tensor decay_;  // [R]: −8·softplus(Λ)
};

}  // namespace hearth::models::recurrent_gemma
