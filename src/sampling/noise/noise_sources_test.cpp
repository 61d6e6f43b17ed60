#include "sampling/noise/noise_sources.h"

#include <cmath>
#include <sstream>

#include "core/error.h"
#include "sampling/noise/brownian_tree.h"
#include "sampling/noise/counter_normals.h"
#include "sampling/noise/seed_sequence.h"
#include "sampling/noise/torch_generator.h"
#include "support/backend_test.h"
#include "support/golden.h"
#include "support/tolerance.h"

namespace hearth::sampling {
namespace {

using Values = std::vector<float>;

std::vector<std::string> parts_of(const std::string& name, char separator = '|') {
  std::vector<std::string> parts;
  std::istringstream in(name);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

Values channels_first(const Tensor& x) { return x.permute({0, 3, 1, 2}).to_vector(); }

HOST_TEST(SeedSequence, equals_numpy) {
  const test::Golden golden(__FILE__, "noise_sources", device);
  int cases = 0;
  for (const std::string& name : golden.names()) {
    const auto parts = parts_of(name);
    if (parts[0] != "seeds") continue;
    SCOPED_TRACE(name);
    const auto keys = parts_of(parts[2], '/');
    const Values halves = golden.values(name);
    const uint64_t entropy = std::stoull(parts[1]);
    const size_t pool = std::stoul(parts[3]), count = halves.size() / 2;
    const auto words = keys.empty() ? seed_sequence(entropy, {}, pool, count)
                                    : seed_sequence(entropy, {std::stoull(keys[0]), std::stoull(keys[1])}, pool, count);
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(words[i], uint32_t(halves[2 * i]) | uint32_t(halves[2 * i + 1]) << 16);
    ++cases;
  }
  EXPECT_EQ(cases, 5);
}

HOST_TEST(NvNoise, equals_the_formula_and_is_drawn_image_by_image) {
  const test::Golden golden(__FILE__, "noise_sources", device);
  for (const uint64_t seed : {uint64_t(0), uint64_t(42), (uint64_t(1) << 40) + 3})
    for (const int64_t draw : {0, 1, 7}) {
      const Values all = channels_first(nv_draws(seed)(device, {1, 64, 64, 4}, draw));
      Values some(all.begin(), all.begin() + 32);
      for (size_t i = 32; i < all.size(); i += 1021) some.push_back(all[i]);
      // observed 0; depends on the C library's log and sin
      EXPECT_LE(test::max_difference(some, golden.values("nv|" + std::to_string(seed) + "|" + std::to_string(draw))), 5e-7);
    }
  const Tensor batch = nv_draws(41)(device, {2, 3, 5, 4}, 3);
  EXPECT_EQ(batch.slice(0, 1, 2).to_vector(), nv_draws(42)(device, {1, 3, 5, 4}, 3).to_vector());
}

HOST_TEST(CounterNoise, equals_its_definition) {
  const test::Golden golden(__FILE__, "noise_sources", device);
  Values few(37), many(1003);
  counter_normals(0, {0, 0, Stream::draws}, few);
  counter_normals((uint64_t(1) << 40) + 3, {5, uint32_t(1) << 31, Stream::draws}, many);
  EXPECT_LE(test::max_difference(few, golden.values("counter|0|0|0|37")), 3e-6);                          // observed 3.6e-7
  EXPECT_LE(test::max_difference(many, golden.values("counter|1099511627779|5|2147483648|1003")), 3e-6);  // observed 8.3e-7
  EXPECT_EQ(channels_first(counter_draws(0)(device, {1, 1, 37, 1}, 0)), few);
}

HOST_TEST(CounterNoise, every_draw_image_and_stream_has_its_own_numbers) {
  const Shape shape{2, 3, 5, 4};
  const Tensor first = counter_draws(9)(device, shape, 0);
  EXPECT_NE(first.to_vector(), counter_draws(9)(device, shape, 1).to_vector());
  EXPECT_NE(first.slice(0, 0, 1).to_vector(), first.slice(0, 1, 2).to_vector());
  EXPECT_EQ(first.slice(0, 1, 2).to_vector(), counter_draws(10)(device, {1, 3, 5, 4}, 0).to_vector());
  Values draw(60), path(60);
  counter_normals(9, {0, 0, Stream::draws}, draw);
  counter_normals(9, {0, 0, Stream::path}, path);
  EXPECT_NE(draw, path);
}

HOST_TEST(TorchIndexedNoise, is_drawn_image_after_image_by_one_generator) {
  const test::Golden golden(__FILE__, "noise_sources", device);
  for (const uint64_t seed : {uint64_t(5), (uint64_t(1) << 33) + 1}) {
    const Values all = golden.values("indexed|" + std::to_string(seed));
    EXPECT_EQ(channels_first(torch_indexed_draws(seed, 0)(device, {5, 3, 5, 4}, 0)), all);
    EXPECT_EQ(channels_first(torch_indexed_draws(seed, 3)(device, {2, 3, 5, 4}, 0)), Values(all.begin() + 3 * 60, all.end()));
  }
  EXPECT_THROW(torch_indexed_draws(1, 0)(device, {1, 3, 5, 4}, 1), UsageError);
}

HOST_TEST(NoiseDraws, at_any_position_equal_those_in_order) {
  const Shape shape{2, 3, 3, 4};
  for (const NoiseDraws& source : {torch_draws(3, Generators::per_image), torch_draws(3, Generators::one), nv_draws(3), counter_draws(3)}) {
    const NoiseDraws in_order = source, anywhere = source;
    std::vector<Values> draws;
    for (int64_t k = 0; k < 5; ++k) draws.push_back(in_order(device, shape, k).to_vector());
    for (const int64_t k : {3, 1, 1, 4, 0}) EXPECT_EQ(anywhere(device, shape, k).to_vector(), draws[size_t(k)]) << k;
  }
}

HOST_TEST(NoiseDraws, of_two_sources_takes_the_first_draw_from_one) {
  const Shape shape{1, 3, 5, 4};
  const auto value = [&](const NoiseDraws& d, int64_t k) { return d(device, shape, k).to_vector(); };
  const NoiseDraws a = counter_draws(1), b = counter_draws(2);
  EXPECT_EQ(value(first_then(a, b), 0), value(a, 0));
  EXPECT_EQ(value(first_then(a, b), 1), value(b, 0));
  EXPECT_EQ(value(first_replaced(a, b), 0), value(a, 0));
  EXPECT_EQ(value(first_replaced(a, b), 1), value(b, 1));
}

// Consecutive levels; two steps in one; a level in between; upwards; from beyond the tree's end.
HOST_TEST(TorchsdeNoise, equals_torchsde_through_k_diffusion) {
  const test::Golden golden(__FILE__, "noise_sources", device);
  struct Case {
    const char* name;
    uint64_t seed;
    Generators generators;
    Shape shape;
  };
  for (const auto& [name, seed, generators, shape] :
       {Case{"one", 42, Generators::one, {2, 3, 5, 4}}, Case{"each", 7, Generators::per_image, {3, 3, 5, 4}},
        Case{"large", (uint64_t(1) << 40) + 5, Generators::per_image, {1, 4, 4, 4}}}) {
    SCOPED_TRACE(name);
    const Values levels = golden.values(std::string("torchsde|") + name + "|levels");
    const Values wanted = golden.values(std::string("torchsde|") + name + "|noise");
    double low = levels[0], high = levels[0];
    for (size_t i = 0; i + 8 < levels.size(); ++i) low = std::min<double>(low, levels[i]), high = std::max<double>(high, levels[i]);
    NoiseIncrements noise = torchsde_increments(seed, generators, low, high);
    Values all;
    for (size_t i = 0; i < levels.size(); i += 2) {
      const Values x = channels_first(noise(device, shape, levels[i], levels[i + 1]));
      all.insert(all.end(), x.begin(), x.end());
    }
    EXPECT_LE(test::max_difference(all, wanted), 2e-6);  // observed 4.8e-7
  }
}

HOST_TEST(OctaveNoise, equals_its_definition) {
  const test::Golden golden(__FILE__, "noise_sources", device);
  const Values sigmas = golden.values("octave|sigmas");
  for (const uint64_t seed : {uint64_t(0), (uint64_t(1) << 40) + 3}) {
    OctavePath path(seed, 21);
    Values all, one(21);
    for (size_t i = 0; i + 1 < sigmas.size(); ++i) {
      path.between(sigmas[i], sigmas[i + 1], one);
      all.insert(all.end(), one.begin(), one.end());
    }
    EXPECT_LE(test::max_difference(all, golden.values("octave|" + std::to_string(seed))), 4e-6);  // observed 6.3e-7
  }
}

// The noise of two steps adds up to that of one long step, and neither depends on earlier requests.
HOST_TEST(BrownianNoise, is_one_path_for_any_number_of_steps) {
  const Shape shape{2, 3, 5, 4};
  for (const bool own : {true, false}) {
    const auto path = [&] { return own ? octave_increments(4) : torchsde_increments(4, Generators::per_image, 0.03, 15); };
    NoiseIncrements coarse = path(), fine = path(), backwards = path();
    const double a = 12.25, b = 3.7, c = 0.0431;
    const Values ab = fine(device, shape, a, b).to_vector(), bc = fine(device, shape, b, c).to_vector();
    const Values ac = coarse(device, shape, a, c).to_vector(), bc2 = backwards(device, shape, b, c).to_vector();
    EXPECT_EQ(bc, bc2);
    EXPECT_EQ(ab, backwards(device, shape, a, b).to_vector());
    double worst = 0;
    for (size_t i = 0; i < ac.size(); ++i)
      worst = std::max(worst, std::abs(ac[i] - (ab[i] * std::sqrt(a - b) + bc[i] * std::sqrt(b - c)) / std::sqrt(a - c)));
    EXPECT_LE(worst, 4e-6);  // observed 5.0e-7
    const Values up = coarse(device, shape, c, a).to_vector();
    for (size_t i = 0; i < up.size(); ++i) EXPECT_EQ(up[i], -ac[i]);
  }
}

HOST_TEST(BrownianNoise, a_batch_of_n_equals_n_singles_bit_for_bit) {
  for (const bool own : {true, false}) {
    const auto path = [&](uint64_t seed) {
      return own ? octave_increments(seed) : torchsde_increments(seed, Generators::per_image, 0.03, 15);
    };
    const Tensor all = path(8)(device, {3, 2, 3, 4}, 5, 2);
    for (uint64_t k = 0; k < 3; ++k)
      EXPECT_EQ(all.slice(0, int64_t(k), int64_t(k) + 1).to_vector(), path(8 + k)(device, {1, 2, 3, 4}, 5, 2).to_vector());
  }
}

// A path rounds noise levels to f32, as k-diffusion does.
TEST(BrownianPath, rounds_levels_to_f32) {
  Values exact(4), near(4);
  OctavePath(1, 4).between(float(12.3), float(4.7), exact), OctavePath(1, 4).between(12.3, 4.7, near);
  EXPECT_EQ(exact, near);
  TorchsdePath(1, 0.03, 15, 4).between(float(12.3000006), 4.5, exact), TorchsdePath(1, 0.03, 15, 4).between(12.3000006, 4.5, near);
  EXPECT_EQ(exact, near);
}

// 20 000 values on neighboring intervals, within octaves and across them: mean 0, variance 1, no correlation. Four standard
// deviations of the estimates are 0.028 and 0.04.
TEST(OctavePath, is_standard_normal_and_independent_on_stretches_side_by_side) {
  OctavePath path(1, 20000);
  Values last, now(20000);
  for (const auto& [from, to] : {std::pair{14.6, 9.1}, {9.1, 8.2}, {8.2, 3.3}, {3.3, 3.1}, {3.1, 0.6}, {0.6, 0.029}}) {
    path.between(from, to, now);
    double sum = 0, squares = 0, products = 0;
    for (size_t i = 0; i < now.size(); ++i) sum += now[i], squares += now[i] * now[i], products += last.empty() ? 0 : now[i] * last[i];
    EXPECT_NEAR(sum / 20000, 0, 0.028);
    EXPECT_NEAR(squares / 20000, 1, 0.04);
    EXPECT_NEAR(products / 20000, 0, 0.028);
    last = now;
  }
}

TEST(BrownianPath, that_leads_nowhere_is_refused) {
  Values out(4);
  EXPECT_THROW(OctavePath(1, 4).between(1, 1, out), UsageError);
  EXPECT_THROW(OctavePath(1, 4).between(1, 0, out), UsageError);
  EXPECT_THROW(OctavePath(1, 4).between(HUGE_VAL, 1, out), UsageError);
  EXPECT_THROW(TorchsdePath(1, 0.03, 15, 4).between(2, 2, out), UsageError);
  EXPECT_THROW(TorchsdePath(1, 15, 15, 4), UsageError);
}

HOST_TEST(Noise, goes_on_from_a_position) {
  const Shape shape{1, 3, 5, 4};
  Noise whole = torch_cpu_noise(3), rest = torch_cpu_noise(3);
  whole(device, shape), whole(device, shape);
  EXPECT_EQ(whole.position(), 2);
  rest.seek(2);
  EXPECT_EQ(whole(device, shape).to_vector(), rest(device, shape).to_vector());
  EXPECT_EQ(rest.position(), 3);
}

// Without a path an SDE sampler's noise is drawn.
HOST_TEST(Noise, without_a_path_draws_between_levels) {
  Noise noise(counter_draws(3));
  noise(device, {1, 2, 2, 4});
  EXPECT_EQ(noise.between(device, {1, 2, 2, 4}, 3, 2).to_vector(), counter_draws(3)(device, {1, 2, 2, 4}, 1).to_vector());
  EXPECT_EQ(noise.position(), 2);
  Noise with_path = torch_cpu_noise(3);
  with_path.between(device, {1, 2, 2, 4}, 3, 2);
  EXPECT_EQ(with_path.position(), 0);
}

}  // namespace
}  // namespace hearth::sampling
