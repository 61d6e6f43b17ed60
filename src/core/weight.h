// A weight as a module sees it: constant after load, stored in the layout and dtype that the backend prepared.
#pragma once

#include <memory>
#include <string>

#include "core/tensor.h"

namespace hearth {

enum class WeightKind {
  linear,           // [out, in]
  glu,              // [2·out, in]: rows of the values a, then of the gates b; the product's result is a · act(b) (Shazeer 2020)
  conv,             // [out, in / groups, kernel …] over one to three axes, as checkpoints store it
  conv_transposed,  // [in, out / groups, kernel …]
};

// How a weight is stored and multiplied.
struct WeightForm {
  DType hold = DType::f32;  // dtype of the stored values: f32, f16 or bf16; in place also a block type or an 8-bit float
  // Dtype to which both sides of a multiplication may be rounded: f32, or bf16 if `hold` is bf16 or an 8-bit float. A block type in place
  // can also have i16: the left side is rounded to 16-bit integers with a scale per 32 values and multiplied with the stored integers; or
  // bf16, which means i16 if the left side has few rows. Sums are f32. core/factors.h decides what a weight can have, and what a product
  // uses.
  DType factors = DType::f32;
  // The values stay where they are, row by row as in the file, and products widen them on the fly: for linear weights (also of a gated
  // linear unit) that are mostly multiplied with a single row of x, and read once for it, or that take the least memory as they are.
  bool in_place = false;
  int64_t groups = 1;  // of a convolution, as in torch: the output channels of a group depend only on its input channels
};

// A weight as a backend stores it: packed, tiled, quantized … Only that backend knows the layout.
struct PreparedWeight {
  virtual ~PreparedWeight() = default;
  // All of its memory, to be kept on disk (Backend::adopt); nullptr if it cannot be kept.
  virtual std::shared_ptr<const std::byte> storage() const { return nullptr; }
  size_t bytes = 0;  // memory it holds
};

struct WeightBranch;

struct Weight {
  std::string name;  // in the checkpoint, e.g. "down_blocks.0.resnets.0.conv1.weight"; for messages and reports
  Shape shape;       // as in the checkpoint
  WeightForm form;
  std::shared_ptr<const PreparedWeight> prepared;
  Backend* backend = nullptr;

  WeightKind kind = WeightKind::linear;  // what `prepared` was made for
  Tensor scale = {};                     // in place only: f32 [1], or [out] for each row; multiplies the sums of a product. Undefined: 1
  // What a run's adapters add to products with the weight, which itself stays as it is (ops/branch.h); null: nothing.
  std::shared_ptr<const WeightBranch> branch = {};

  explicit operator bool() const { return backend != nullptr; }
  int64_t out() const { return kind == WeightKind::conv_transposed ? shape[1] * form.groups : shape[0]; }
  int64_t outputs() const { return kind == WeightKind::glu ? out() / 2 : out(); }  // columns of a product's result
  int64_t in() const { return kind == WeightKind::conv_transposed ? shape[0] : shape[1] * form.groups; }
};

// Low-rank pairs of a run, those of all its adapters one after the other:  x → up · (down · x), before the activation (Hu et al. 2021,
// arXiv 2106.09685). `down` [R, in] or, of a convolution, [R, in, kernel …] is applied to x as the weight is; `up` is [out, R].
struct WeightBranch {
  Weight down, up;
};

// Bytes that a product reads of the weight.
inline int64_t held_bytes(const Weight& w) {
  return w.form.in_place ? int64_t(bytes_of(w.form.hold, w.shape.numel())) : w.prepared ? int64_t(w.prepared->bytes) : 0;
}

}  // namespace hearth
