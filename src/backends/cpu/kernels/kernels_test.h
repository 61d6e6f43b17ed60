// Fixture for tests of single kernels: the kernels of a path, and values at unaligned addresses.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/processor.h"

namespace hearth::cpu {

class KernelsTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string path = GetParam();
    const bool there = path == "avx2" ? processor_has_avx2() : path == "avx512" ? processor_has_avx512() : processor_has_avx512bf16();
    if (!there) GTEST_SKIP() << "this CPU lacks " << path;
    kernel = &(path == "avx2" ? avx2_kernels : path == "avx512" ? avx512_kernels : avx512bf16_kernels)();
  }
  // n normal random values at an address that is only aligned to an element.
  struct Odd {
    explicit Odd(int64_t n, uint32_t seed = 1) : memory(size_t(n) + 1, 0.0f) {
      std::mt19937 engine(seed);
      std::normal_distribution<float> normal;
      for (float& v : memory) v = normal(engine);
    }
    float* data() { return memory.data() + 1; }
    float operator[](int64_t i) const { return memory[size_t(i) + 1]; }
    std::vector<float> memory;
  };

  const Kernels* kernel = nullptr;
};

}  // namespace hearth::cpu
