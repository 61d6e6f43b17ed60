// What fuzz tests do to files, always the same for the same seed, and what they expect of who reads them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "hearth/error.h"

namespace hearth::test {

int fuzz_rounds();  // HEARTH_FUZZ_ROUNDS, which multiplies the length of every fuzz test; 1 where it is not set

class Damage {
 public:
  explicit Damage(uint64_t seed) : random_(seed) {}

  size_t below(size_t n) { return n == 0 ? 0 : size_t(random_() % n); }

  // One of five ways at `at`: the end is cut off, up to 64 bytes from elsewhere come in, up to 16 are lost, a bit is turned, or
  // eight bytes become a number on the edge of an integer's range.
  void apply(std::string& bytes, size_t at);
  // The lowest `size` bytes of `value`, the lowest first, over those that are there.
  static void put(std::string& bytes, size_t at, uint64_t value, size_t size);

 private:
  std::mt19937_64 random_;
};

// How often readers accepted damaged files and how often they refused them. A reader may throw hearth's errors only, of one line each.
struct Outcome {
  int accepted = 0, refused = 0;

  template <class F> void attempt(F f) {
    try {
      f();
      ++accepted;
    } catch (const Error& e) {
      ++refused;
      EXPECT_EQ(std::string_view(e.what()).find('\n'), std::string_view::npos) << e.what();
    } catch (const std::exception& e) { ADD_FAILURE() << "not one of our errors: " << e.what(); }
  }
};

}  // namespace hearth::test
