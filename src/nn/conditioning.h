// How transformers receive what applies to a whole image: timestep, guidance scale, pooled text. MLPs embed them, and modulations computed
// from the embedding shift, scale and gate what every block computes (Peebles & Xie 2023, arXiv 2212.09748). All of it is f32 at every
// precision.
#pragma once

#include "nn/layers.h"

namespace hearth::nn {

// linear_2(silu(linear_1(x))).   [B, in] → [B, W]
struct EmbeddingMlp {
  EmbeddingMlp(const Scope& w, int64_t in, int64_t width)
      : linear_1((w / "linear_1").exact(), in, width), linear_2((w / "linear_2").exact(), width, width) {}

  // + added, if it is given
  Tensor operator()(const Tensor& x, const Tensor& added = {}) const {
    return linear_2(linear_1(x, {.activation = Activation::silu}), {.residual = added});
  }

  Linear linear_1, linear_2;
};

// `count` vectors of each image, computed from the activated embedding [B, W].
struct Modulation {
  Modulation(const Scope& w, int64_t width_, int64_t count, Bias bias = Bias::yes)
      : linear((w / "linear").exact(), width_, count * width_, bias), width(width_) {}

  class Vectors {
   public:
    Vectors(Tensor all, int64_t width) : all_(std::move(all)), width_(width) {}

    Tensor operator[](int64_t i) const { return all_.slice(1, i * width_, (i + 1) * width_); }  // [B, W]
    Tensor gate(int64_t i) const { return ops::contiguous((*this)[i]); }                        // for an epilogue
    // (1 + scale) · norm(x) + shift, with the vectors at these places and a layer norm without weights.   [B, T, W] → the same shape
    Tensor norm(const Tensor& x, int64_t shift, int64_t scale, float eps, Stored stored) const {
      return ops::layer_norm(x, {.eps = eps, .scale = (*this)[scale], .shift = (*this)[shift], .stored = stored});
    }

   private:
    Tensor all_;  // [B, count · W]
    int64_t width_;
  };
  Vectors operator()(const Tensor& embedding) const { return {linear(embedding), width}; }

  Linear linear;
  int64_t width;
};

// Vectors that a block adds to those of one modulation that all blocks share (Chen et al. 2023, arXiv 2310.00426: adaLN-single).
struct ModulationTable {
  ModulationTable(const Scope& w, int64_t width_, int64_t count_)
      : table(w.tensor("scale_shift_table", {count_, width_})), width(width_), count(count_) {}

  // shared [B, count · W]
  Modulation::Vectors operator()(const Tensor& shared) const { return {ops::affine(shared, {}, table.view({count * width})), width}; }

  Tensor table;  // [count, W]
  int64_t width, count;
};

}  // namespace hearth::nn
