// A Brownian path that is evaluated on demand: a Brownian bridge (Lévy 1940) halves an interval's increment, then halves the halves,
// until it reaches the requested endpoints. The values do not depend on earlier requests.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace hearth::sampling {

// W on [low, high] for as many independent paths as `increment` has values. Interval (key, depth): the whole is (0, 0), the halves
// of (key, depth) are (2·key, depth + 1) and (2·key + 1, depth + 1). [a, b] with increment W is halved at m = middle(a, b):
//   left = (m − a)/(b − a)·W + √((m − a)(b − m)/(b − a))·z(key, depth)      right = W − left      in f32, z standard normal
// Repeated halving by middle() must reach every requested time.
class BrownianTree {
 public:
  struct Rules {
    std::function<void(uint64_t key, int depth, std::span<float> out)> normals;
    std::function<double(double a, double b)> middle;
  };
  BrownianTree(double low, double high, std::vector<float> increment, Rules rules);

  // out += W(to) − W(from); low ≤ from ≤ to ≤ high.
  void add(double from, double to, std::span<float> out);

 private:
  struct Interval {
    double begin, end;
    uint64_t key;
    int depth;
  };
  using Halves = std::map<std::pair<int, uint64_t>, std::vector<float>>;  // of intervals, the left one's increment

  void add(const Interval& interval, const std::vector<float>& increment, double from, double to, std::span<float> out);
  const std::vector<float>& left_of(const Interval& interval, double middle, const std::vector<float>& increment);

  Interval whole_;
  std::vector<float> increment_;
  Rules rules_;
  // Halves that the last call visited: the next call usually begins where the last ended.
  Halves last_, now_;
};

// Standard normal values of a generator with this seed.
using SeededNormals = void (*)(uint32_t seed, std::span<float> out);
void torch_normals(uint32_t seed, std::span<float> out);     // PyTorch's CPU generator
void nv_first_normals(uint32_t seed, std::span<float> out);  // A1111's Philox, draw 0

// torchsde 0.2.6's BrownianTree as k-diffusion's BrownianTreeNoiseSampler sets it up, `count` values per time: times in steps of 10⁻⁶,
// one seed of numpy's SeedSequence for each interval's normals. low < high. A1111 replaces torch's generator by its own.
class TorchsdePath {
 public:
  TorchsdePath(uint64_t seed, double low, double high, size_t count, SeededNormals normals = torch_normals);

  // (W(to) − W(from))/√|to − from|: standard normal. Times outside [low, high] are clamped to it, as in torchsde; all times are first
  // rounded to f32, the dtype that k-diffusion uses. `from` and `to` must differ.
  void between(double from, double to, std::span<float> out);

 private:
  double low_, high_;
  BrownianTree tree_;
};

// hearth's own path on all positive times. Its definition has no endpoints, so the same seed gives the same path for any number of steps
// and any schedule. Each interval [2^e, 2^(e+1)) has an increment of its own and is halved exactly, so every f32 time is reached.
// Normals are counter-based (counter_normals.h).
class OctavePath {
 public:
  OctavePath(uint64_t seed, size_t count) : seed_(seed), count_(count) {}

  // (W(to) − W(from))/√|to − from|, times rounded to f32. `from` and `to` must be positive and differ.
  void between(double from, double to, std::span<float> out);

 private:
  BrownianTree& octave(int exponent);

  uint64_t seed_;
  size_t count_;
  std::map<int, BrownianTree> octaves_;
};

}  // namespace hearth::sampling
