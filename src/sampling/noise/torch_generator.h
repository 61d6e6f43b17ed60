// PyTorch's CPU generator: the same seed gives the same numbers. Uniforms are bit-equal to torch's; so are normals in draws of 16
// and more on processors with AVX2 (torch 2.15; without AVX2 torch itself differs by up to 1.7e-6), shorter draws to 2e-7.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>

namespace hearth::sampling {

class TorchGenerator {
 public:
  explicit TorchGenerator(uint64_t seed) : engine_(uint32_t(seed)) {}  // torch, too, keeps the low 32 bits only

  void uniform(std::span<float> out);  // [0, 1) in steps of 2⁻²⁴, as torch.rand
  // Standard normal values, as torch.randn of one contiguous f32 tensor with that many elements. The numbers depend on how many
  // are drawn at once: fewer than 16 take another path, whose unused second half waits for the next such draw; of 16 and more, a
  // count that is no multiple of 16 has its last 16 drawn again.
  void normal(std::span<float> out);

 private:
  float uniform24();
  double uniform53();
  double next_normal();

  std::mt19937 engine_;
  std::optional<double> waiting_;
};

}  // namespace hearth::sampling
