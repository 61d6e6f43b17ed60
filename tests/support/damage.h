// Damages files for fuzz tests, deterministically for a seed, and checks how readers respond.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "hearth/error.h"

namespace hearth::test {

int fuzz_rounds();  // HEARTH_FUZZ_ROUNDS, which multiplies the length of every fuzz test; 1 if it is not set

class Damage {
 public:
  explicit Damage(uint64_t seed) : random_(seed) {}

  size_t below(size_t n) { return n == 0 ? 0 : size_t(random_() % n); }

  // One of five kinds of damage at `at`: cuts off the end, inserts up to 64 bytes from elsewhere, deletes up to 16, flips a bit, or
  // overwrites eight bytes with a value at the edge of an integer range.
  void apply(std::string& bytes, size_t at);
  // Overwrites bytes at `at` with the lowest `size` bytes of `value`, little-endian.
  static void put(std::string& bytes, size_t at, uint64_t value, size_t size);

 private:
  std::mt19937_64 random_;
};

// How often readers accepted and refused damaged files. A reader may only throw hearth's errors, of one line each.
struct Outcome {
  int accepted = 0, refused = 0;

  template <class F> void attempt(F f) {
    try {
      f();
      ++accepted;
    } catch (const Error& e) {
      ++refused;
      EXPECT_EQ(std::string_view(e.what()).find('\n'), std::string_view::npos) << e.what();
    } catch (const std::exception& e) { ADD_FAILURE() << "not one of hearth's errors:  " << e.what(); }
  }
};

}  // namespace hearth::test
