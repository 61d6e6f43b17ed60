// PyTorch's CPU generator: the same seed gives the same numbers. Uniforms are bit-identical to torch's; so are normals in draws of 16 or
// more on CPUs with AVX2 (torch 2.15; without AVX2 torch itself differs by up to 1.7e-6). Shorter draws match to 2e-7.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>

namespace hearth::sampling {

class TorchGenerator {
 public:
  explicit TorchGenerator(uint64_t seed) : engine_(uint32_t(seed)) {}  // like torch, keeps only the low 32 bits

  void uniform(std::span<float> out);  // [0, 1) in steps of 2⁻²⁴, as torch.rand
  // Standard normal values, as torch.randn of one contiguous f32 tensor with that many elements. The values depend on how many are
  // drawn at once: fewer than 16 use another algorithm, whose unused second half is kept for the next such draw; with 16 or more, if the
  // count is not a multiple of 16, the last 16 are drawn again.
  void normal(std::span<float> out);

 private:
  float uniform24();
  double uniform53();
  double next_normal();

  std::mt19937 engine_;
  std::optional<double> waiting_;
};

}  // namespace hearth::sampling
