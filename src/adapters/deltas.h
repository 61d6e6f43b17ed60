// What the tensors of an adapter's module change about a weight W, for each kind of adapter. s is the requested strength.
//
//   LoRA, LoCon   up, down [, mid]             s·α/r · up·down, which stays a pair of low rank (Hu et al. 2021, arXiv 2106.09685)
//   LoHa          hada_w1_a, hada_w1_b, …      s·α/r · (w1a·w1b) ⊙ (w2a·w2b) (Yeh et al. 2023, arXiv 2309.14859)
//   LoKr          lokr_w1, lokr_w2, …          s·α/r · w1 ⊗ w2; α/r only if one of the two is a product itself
//   DoRA          any of these with dora_scale s·((W + α/r·Δ)·(m / ‖W + α/r·Δ‖) − W) (Liu et al. 2024, arXiv 2402.09353), the norm of each
//                                              row for m [N, 1], of each column for m [1, K]
//   (IA)³         weight, on_input             s·W ⊙ w, along rows, or along columns (Liu et al. 2022, arXiv 2205.05638); PEFT's ia3_l
//   holds
//                                              1 + w
//   differences   diff, diff_b, set_weight     s·diff, also of a bias; s·(set_weight − W)
//
// Oracles: lycoris-lora 4.1.3, peft, diffusers 0.39.0. LoHa and LoKr with Tucker cores (hada_t1, lokr_t2) too.
#pragma once

#include <memory>

#include "adapters/adapter_file.h"
#include "weights/changes.h"
#include "weights/layout/name_map.h"

namespace hearth::adapters {

// A module, for a weight of the official shape `shape`, which has the form `form` in the tensor that the module changes.
struct Delta {
  std::shared_ptr<const AdapterFile> file;
  const Module* module = nullptr;  // of the file
  Shape shape;
  Form form;
  double strength = 1;
  std::vector<int64_t> row_order = {};  // AdaptedNetwork::row_order
};

// WeightError, UnsupportedError unless the module's tensors belong together and fit a weight of that shape: "…: 'NAME' …, expected …".
void check(const Delta& delta);

// The rank of a pair that can be added beside the weight; 0 if the module changes the weight in another way, or only its bias.
int64_t low_rank(const Delta& delta);
// The pairs of all deltas, which must have some, of one weight.
LowRank joined(std::vector<Delta> deltas);

bool changes_weight(const Delta& delta);
bool changes_bias(const Delta& delta);
// Adds the change of the weight to `sum` [numel of the official shape]; `own` are W's values.
void add_to_weight(const Delta& delta, const float* own, std::vector<float>& sum, Backend& host);
// The same of the bias.
void add_to_bias(const Delta& delta, const float* own, std::vector<float>& sum, Backend& host);

}  // namespace hearth::adapters
