// A mixture of experts in place of an MLP (Shazeer et al. 2017, Fedus et al. 2021): a router chooses a few of many MLPs for each token.
// Only the chosen ones are read and multiplied.
#pragma once

#include "parts/decoder/mlp.h"
#include "parts/decoder/router.h"

namespace hearth::parts {

struct ExpertsConfig {
  RouterConfig router = {};
  MlpConfig expert = {};
  struct Shared {  // an MLP that every token goes through
    MlpConfig mlp = {};
    std::string name = "shared_expert";
    std::string gate = {};  // [1, C]: its result is multiplied by sigmoid(gate(x)); empty: as it is
    bool operator==(const Shared&) const = default;
  };
  std::optional<Shared> shared = {};
  struct Names {
    std::string router = "gate", experts = "experts";
    bool operator==(const Names&) const = default;
  } names = {};

  bool operator==(const ExpertsConfig&) const = default;
};

class Experts final : public Block {
 public:
  Experts(const Scope& w, int64_t width, const ExpertsConfig& config);
  Tensor operator()(const Tensor& x, const Tensor& residual, const Pass& pass, States states) const override;

 private:
  struct Expert {
    Expert(const Scope& w, int64_t width, const MlpConfig& config);
    Projection gate, up, down;
  };
  // x [M, C], the rows of each expert one after another → [M, C]
  Tensor each(const Tensor& x, const Routing& routing) const;
  // x [1, C] → [k, C]: the chosen experts, whose products with x are one piece of work
  Tensor at_once(const Tensor& x, const Routing& routing) const;

  ExpertsConfig config_;
  Projection router_;   // [E, C]
  Tensor choice_bias_;  // [E], on the host; undefined without
  std::vector<Expert> experts_;
  std::optional<Mlp> shared_;
  std::optional<Projection> shared_gate_;
};

}  // namespace hearth::parts
