#include "core/quantized/blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/files/config.h"
#include "core/files/sha256.h"
#include "core/quantized/block_layouts.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "support/golden.h"

namespace hearth {
namespace {

// A type, its number in GGUF files and the offsets of its binary16 fields.
struct Type {
  DType dtype;
  int number;
  std::vector<int> halves;
};
const std::vector<Type> types{{DType::q4_0, 2, {0}},     {DType::q4_1, 3, {0, 2}},    {DType::q5_0, 6, {0}},    {DType::q5_1, 7, {0, 2}},
                              {DType::q8_0, 8, {0}},     {DType::q2_k, 10, {80, 82}}, {DType::q3_k, 11, {108}}, {DType::q4_k, 12, {0, 2}},
                              {DType::q5_k, 13, {0, 2}}, {DType::q6_k, 14, {208}},    {DType::iq4_nl, 20, {0}}, {DType::iq4_xs, 23, {0}},
                              {DType::mxfp4, 39, {}},    {DType::iq2_xxs, 16, {0}},   {DType::iq2_xs, 17, {0}}, {DType::iq2_s, 22, {0}},
                              {DType::iq3_xxs, 18, {0}}, {DType::iq3_s, 21, {0}},     {DType::iq1_s, 19, {0}},  {DType::iq1_m, 29, {}}};
bool is_written(DType dtype) { return dtype <= DType::mxfp4; }  // encode_blocks knows it

// The bytes that golden/make.py generates.
std::vector<std::byte> random_bytes(size_t count, uint64_t seed) {
  std::vector<std::byte> bytes(count / 8 * 8 + 8);
  for (uint64_t i = 1; i <= bytes.size() / 8; ++i) {
    uint64_t z = seed + i * 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    z ^= z >> 31;
    std::memcpy(&bytes[(i - 1) * 8], &z, 8);
  }
  bytes.resize(count);
  return bytes;
}

std::vector<std::byte> finite_blocks(const Type& type, size_t count) {
  const size_t size = block_of(type.dtype).bytes;
  std::vector<std::byte> bytes = random_bytes(count * size, uint64_t(type.number));
  for (size_t b = 0; b < count; ++b) {
    std::byte* block = &bytes[b * size];
    for (int at : type.halves)
      if ((block[at + 1] & std::byte(0x7c)) == std::byte(0x7c)) block[at + 1] ^= std::byte(0x40);
    if (type.dtype == DType::mxfp4 && block[0] > std::byte(252)) block[0] ^= std::byte(0x80);
    if (type.dtype == DType::iq1_m && (block[55] & std::byte(0x70)) == std::byte(0x70)) block[55] ^= std::byte(0x40);
  }
  return bytes;
}

std::vector<float> decoded(DType dtype, const std::vector<std::byte>& bytes) {
  const Block block = block_of(dtype);
  std::vector<float> y(bytes.size() / block.bytes * size_t(block.values));
  decode_blocks(dtype, bytes.data(), int64_t(y.size()), y.data());
  return y;
}

std::string hash_of(const void* bytes, size_t size) {
  Sha256 hash;
  hash.add({static_cast<const char*>(bytes), size});
  return hash.hex();
}

TEST(Blocks, decode_to_the_reference_readers_bits) {
  const Config golden = Config::load(test::folder_of(__FILE__) / "golden" / "blocks.json");
  for (const Type& type : types) {
    const std::vector<float> y = decoded(type.dtype, finite_blocks(type, 2000));
    EXPECT_EQ(hash_of(y.data(), y.size() * 4), golden.object(name_of(type.dtype)).text("decoded")) << name_of(type.dtype);
  }
}

// Bytes 37·i + 11, scales 1 and ½: values and sums computed by the reference decoder.
TEST(Blocks, decode_known_bytes) {
  struct Known {
    DType dtype;
    std::vector<float> first;
    float last;
    double sum, weighted;
  };
  const std::vector<Known> all{
      {DType::q4_0, {-3, 2, 7, -4}, 0, -21, -518},
      {DType::q4_1, {15.5, 4.5, 9.5, 14.5}, 12.5, 261, 4247},
      {DType::q5_0, {9, -2, 3, -8}, 1, 15, 112},
      {DType::q5_1, {19.5, 24.5, 29.5, 18.5}, 5.5, 521, 8165},
      {DType::q8_0, {85, 122, -97, -60}, -48, -176, -8080},
      {DType::iq4_nl, {-35, 25, 113, -49}, 1, -257, -6919},
      {DType::mxfp4, {0, 3, -1, -6}, 3, 12.5, 319},
      {DType::q2_k, {33, 0, 11, 22}, 4.5, 2059, 243130},
      {DType::q3_k, {81, -108, 27, -54}, 42, 958, 177145},
      {DType::q4_k, {315.5, -25.5, 129.5, 284.5}, 48.5, 54440, 7572840},
      {DType::q5_k, {811.5, -25.5, 625.5, 284.5}, 108.5, 116216, 16027448},
      {DType::q6_k, {-1431, 1696, 583, -530}, -60, 4612, 784420},
      {DType::iq4_xs, {65, -1, -69, 83}, -16, -11005, -2091134},
      {DType::iq2_xxs, {-59.125, 59.125, 34.375, -34.375}, -80.625, 763.75, 36793},
      {DType::iq2_xs, {-11, 34.375, -11, -59.125}, -19, 1490.5, 123198.125},
      {DType::iq2_s, {-145.125, 84.375, -27, 27}, 78.125, -800.625, -62080.625},
      {DType::iq3_xxs, {-13, 9, -7, 3}, -15, -684, 3023},
      {DType::iq3_s, {-81, 243, -351, -189}, 225, 1456, 202790},
      {DType::iq1_s, {-2.625, 0.375, 3.375, 3.375}, -4.375, 20, -11829},
      {DType::iq1_m, {-0.875, 6.125, -0.875, -0.875}, -1.875, 41, -2236},
  };
  ASSERT_EQ(all.size(), types.size());
  for (const Known& known : all) {
    const Type& type = *std::ranges::find(types, known.dtype, &Type::dtype);
    std::vector<std::byte> bytes(block_of(known.dtype).bytes);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(37 * i + 11);
    for (size_t h = 0; h < type.halves.size(); ++h) {
      bytes[size_t(type.halves[h])] = std::byte(0);
      bytes[size_t(type.halves[h]) + 1] = std::byte(h == 0 ? 0x3c : 0x38);
    }
    if (known.dtype == DType::mxfp4) bytes[0] = std::byte(127);
    for (size_t i = 0; known.dtype == DType::iq1_m && i < 4; ++i)
      bytes[49 + 2 * i] = (bytes[49 + 2 * i] & std::byte(15)) | std::byte(i == 2 ? 0xc0 : i == 3 ? 0x30 : 0);
    const std::vector<float> y = decoded(known.dtype, bytes);
    double sum = 0, weighted = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      sum += double(y[i]);
      weighted += double(i + 1) * double(y[i]);
    }
    EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 4), known.first) << name_of(known.dtype);
    EXPECT_EQ(y.back(), known.last) << name_of(known.dtype);
    EXPECT_EQ(sum, known.sum) << name_of(known.dtype);
    EXPECT_EQ(weighted, known.weighted) << name_of(known.dtype);
  }
}

TEST(Blocks, layouts_have_the_types_size) {
  for (const Type& type : types)
    blocks::with_layout(type.dtype, [&]<class B>() {
      EXPECT_EQ(sizeof(B), block_of(type.dtype).bytes) << name_of(type.dtype);
      EXPECT_EQ(B::values, block_of(type.dtype).values) << name_of(type.dtype);
    });
}

TEST(Blocks, begin_at_any_address) {
  for (const Type& type : types) {
    const std::vector<std::byte> bytes = finite_blocks(type, 3);
    std::vector<std::byte> shifted{std::byte(0xff)};
    shifted.insert(shifted.end(), bytes.begin(), bytes.end());
    const std::vector<float> y = decoded(type.dtype, bytes);
    std::vector<float> z(y.size());
    decode_blocks(type.dtype, shifted.data() + 1, int64_t(z.size()), z.data());
    EXPECT_EQ(y, z) << name_of(type.dtype);
    EXPECT_EQ(non_finite_in_blocks(type.dtype, shifted.data() + 1, int64_t(z.size())), 0) << name_of(type.dtype);
  }
}

// Compared with a check of every value, with each scale in turn non-finite.
TEST(Blocks, non_finite_values_are_counted_from_the_scales) {
  const auto count = [](DType dtype, const std::vector<std::byte>& bytes) {
    int64_t bad = 0;
    for (float v : decoded(dtype, bytes)) bad += !std::isfinite(v);
    return bad;
  };
  for (const Type& type : types) {
    const size_t size = block_of(type.dtype).bytes;
    const std::vector<std::byte> sound = finite_blocks(type, 5);
    for (int at : type.halves)
      for (int high : {0x7c, 0xfc, 0x7e}) {
        std::vector<std::byte> bytes = sound;
        bytes[3 * size + size_t(at)] = std::byte(0);
        bytes[3 * size + size_t(at) + 1] = std::byte(high);
        const int64_t expected = count(type.dtype, bytes);
        EXPECT_GT(expected, 0);
        EXPECT_EQ(non_finite_in_blocks(type.dtype, bytes.data(), 5 * block_of(type.dtype).values), expected) << name_of(type.dtype);
      }
  }
  std::vector<std::byte> iq1_m = random_bytes(2 * 56, 3);
  iq1_m[55] = iq1_m[111] = std::byte(0x7f);
  iq1_m[109] = std::byte(0xc0), iq1_m[53] = std::byte(0x30);
  EXPECT_EQ(count(DType::iq1_m, iq1_m), 256);
  EXPECT_EQ(non_finite_in_blocks(DType::iq1_m, iq1_m.data(), 512), 256);
  for (int e = 250; e < 256; ++e) {
    std::vector<std::byte> bytes = random_bytes(17, 3);
    bytes[0] = std::byte(e);
    EXPECT_EQ(non_finite_in_blocks(DType::mxfp4, bytes.data(), 32), count(DType::mxfp4, bytes)) << e;
    EXPECT_EQ(count(DType::mxfp4, bytes) > 0, e >= 253) << e;
  }
}

HOST_TEST(BlockTensors, non_finite_values_of_a_tensor_are_counted) {
  const std::vector<std::byte> bytes = finite_blocks(types[7], 6);  // q4_k
  const Tensor x = Tensor::empty(device, {3, 512}, DType::q4_k);
  std::memcpy(x.raw(), bytes.data(), bytes.size());
  EXPECT_EQ(count_non_finite(x), 0);
  x.raw()[144 * 3 + 1] = std::byte(0x7c);
  EXPECT_EQ(count_non_finite(x), 256);
  EXPECT_EQ(count_non_finite(x.slice(0, 1, 2)), 256);
  EXPECT_EQ(count_non_finite(x.slice(0, 0, 1)), 0);
  EXPECT_THROW(count_non_finite(x.slice(1, 256, 512)), ShapeError);
}

// The values that golden/make.py generates.
std::vector<float> numbers(size_t count) {
  const std::vector<std::byte> bytes = random_bytes(4 * count, 99);
  std::vector<float> x(count + 768);
  for (size_t i = 0; i < count; ++i) {
    int32_t v;
    std::memcpy(&v, &bytes[4 * i], 4);
    const float unit = float(v) * 0x1p-31f;
    x[i] = std::ldexp(unit * unit * unit, int(i / 32 % 24) - 20);
  }
  std::fill_n(x.begin() + int64_t(count) + 256, 256, -0.375f);
  for (size_t i = count + 512; i < x.size(); i += 32) x[i] = 0.5f;
  return x;
}

std::vector<std::byte> encoded(DType dtype, const std::vector<float>& x) {
  std::vector<std::byte> y(bytes_of(dtype, int64_t(x.size())));
  encode_blocks(dtype, x.data(), int64_t(x.size()), y.data());
  return y;
}

TEST(Blocks, encode_to_the_reference_quantizers_bits) {
  const Config golden = Config::load(test::folder_of(__FILE__) / "golden" / "blocks.json");
  const std::vector<float> x = numbers(128000);
  for (DType dtype : {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q8_0, DType::mxfp4}) {
    const std::vector<std::byte> y = encoded(dtype, x);
    EXPECT_EQ(hash_of(y.data(), y.size()), golden.object(name_of(dtype)).text("encoded")) << name_of(dtype);
  }
}

// Nearly normal: the sum of twelve uniform numbers.
std::vector<float> normal_numbers(size_t count) {
  const std::vector<std::byte> bytes = random_bytes(48 * count, 7);
  std::vector<float> x(count);
  for (size_t i = 0; i < 12 * count; ++i) {
    int32_t v;
    std::memcpy(&v, &bytes[4 * i], 4);
    x[i / 12] += float(v) * 0x1p-32f;
  }
  return x;
}

// Signal-to-noise ratio ‖x‖² / ‖x − decoded‖² in dB.
double sqnr(DType dtype, const std::vector<float>& x) {
  const std::vector<float> y = decoded(dtype, encoded(dtype, x));
  double signal = 0, noise = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    signal += double(x[i]) * double(x[i]);
    noise += double(x[i] - y[i]) * double(x[i] - y[i]);
  }
  return 10 * std::log10(signal / noise);
}

// At least as good as llama.cpp's quantizer (llama-cpp-python 0.3.36, ggml_quantize_chunk without importance) on the same values, and
// as good as when the limits were written.
TEST(Blocks, searched_scales_are_better_than_llama_cpps) {
  struct Quality {
    DType dtype;
    double normal, cubes;
  };
  const Quality all[]{{DType::q2_k, 11.555, 11.975},     // llama.cpp: 10.660, 8.204
                      {DType::q3_k, 16.868, 16.461},     // 16.518, 16.247
                      {DType::q4_k, 23.122, 21.151},     // 23.021, 20.837
                      {DType::q5_k, 29.263, 26.682},     // 28.957, 26.071
                      {DType::q6_k, 35.368, 32.361},     // 35.168, 32.233
                      {DType::iq4_nl, 22.739, 20.951},   // 22.464, 20.690
                      {DType::iq4_xs, 22.657, 20.816}};  // 22.400, 20.576
  const std::vector<float> x = normal_numbers(256 * 300);
  std::vector<float> cubes = x;
  for (float& v : cubes) v = v * v * v;
  for (const Quality& q : all) {
    EXPECT_GE(sqnr(q.dtype, x), q.normal - 0.005) << name_of(q.dtype);
    EXPECT_GE(sqnr(q.dtype, cubes), q.cubes - 0.005) << name_of(q.dtype);
  }
}

// Some columns are a thousand times as important as others: the weighted error shrinks by the recorded factor at least.
TEST(Blocks, important_columns_lose_less) {
  const std::vector<float> x = normal_numbers(512 * 60);
  std::vector<float> importance(512);
  for (size_t k = 0; k < 512; ++k) importance[k] = std::pow(10.0f, float(k * 37 % 31) / 10);
  const auto weighted = [&](DType dtype, const std::vector<std::byte>& bytes) {
    const std::vector<float> y = decoded(dtype, bytes);
    double error = 0;
    for (size_t i = 0; i < x.size(); ++i) error += double(importance[i % 512]) * double(x[i] - y[i]) * double(x[i] - y[i]);
    return error;
  };
  // Observed: 0.716, 0.536, 0.705, 0.533, 0.531, 0.697, 0.667, 0.702, 0.709, 0.700, 0.706.
  const std::pair<DType, double> all[]{{DType::q4_0, 0.72},  {DType::q4_1, 0.54},    {DType::q5_0, 0.71},  {DType::q5_1, 0.54},
                                       {DType::q2_k, 0.535}, {DType::q3_k, 0.70},    {DType::q4_k, 0.67},  {DType::q5_k, 0.71},
                                       {DType::q6_k, 0.715}, {DType::iq4_nl, 0.705}, {DType::iq4_xs, 0.71}};
  for (const auto& [dtype, factor] : all) {
    std::vector<std::byte> y(bytes_of(dtype, int64_t(x.size())));
    encode_blocks(dtype, x.data(), int64_t(x.size()), y.data(), importance);
    EXPECT_LE(weighted(dtype, y), factor * weighted(dtype, encoded(dtype, x))) << name_of(dtype);
    EXPECT_TRUE(uses_importance(dtype));
    // Only ratios count, and each row is quantized by itself.
    std::vector<float> quarter = importance;
    for (float& v : quarter) v /= 4;
    std::vector<std::byte> z(y.size());
    for (size_t row = 0; row < 60; ++row)
      encode_blocks(dtype, x.data() + row * 512, 512, z.data() + bytes_of(dtype, int64_t(row) * 512), quarter);
    EXPECT_EQ(y, z) << name_of(dtype);
  }
  EXPECT_FALSE(uses_importance(DType::q8_0));
  EXPECT_FALSE(uses_importance(DType::iq2_xs));
  EXPECT_FALSE(uses_importance(DType::f16));
}

TEST(Blocks, representable_values_are_exact) {
  for (DType dtype : {DType::q2_k, DType::q3_k, DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_nl, DType::iq4_xs}) {
    SCOPED_TRACE(name_of(dtype));
    std::vector<float> x(512);
    EXPECT_EQ(decoded(dtype, encoded(dtype, x)), x);
    std::fill(x.begin(), x.end(), 1e-30f);  // too small for binary16 scales
    EXPECT_EQ(decoded(dtype, encoded(dtype, x)), std::vector<float>(512));
  }
  for (const auto& [dtype, most] : {std::pair(DType::q3_k, 4), std::pair(DType::q6_k, 32)}) {
    std::vector<float> x(256);
    for (int i = 0; i < 256; ++i) x[size_t(i)] = 0x1p-3f * float(i % 16 == 0 ? -most : i * 5 % (2 * most) - most);
    EXPECT_EQ(decoded(dtype, encoded(dtype, x)), x) << name_of(dtype);
  }
}

TEST(Blocks, values_too_large_for_a_scale_become_non_finite) {
  for (const Type& type : types) {
    if (type.dtype == DType::mxfp4 || !is_written(type.dtype)) continue;
    for (float large : {1e9f, 1e20f, 3e38f, -3e38f}) {
      std::vector<float> x(512);
      x[300] = large;
      const std::vector<std::byte> y = encoded(type.dtype, x);
      EXPECT_GT(non_finite_in_blocks(type.dtype, y.data(), 512), 0) << name_of(type.dtype) << " " << large;
      EXPECT_EQ(non_finite_in_blocks(type.dtype, y.data(), 256), 0) << name_of(type.dtype) << " " << large;
    }
  }
}

TEST(Blocks, non_finite_values_are_kept_at_any_position) {
  for (const Type& type : types) {
    if (!is_written(type.dtype)) continue;
    const int64_t values = block_of(type.dtype).values;
    for (const float bad : {NAN, INFINITY, -INFINITY})
      for (const int64_t at : {values, values + 5, 2 * values - 1}) {
        std::vector<float> x(size_t(3 * values), 0.25f);
        x[size_t(at)] = bad;
        const std::vector<float> y = decoded(type.dtype, encoded(type.dtype, x));
        for (int64_t i = 0; i < 3 * values; ++i)
          ASSERT_EQ(std::isfinite(y[size_t(i)]), i / values != 1) << name_of(type.dtype) << " " << bad << " at " << at << ", value " << i;
      }
  }
}

TEST(Blocks, refuses_a_dtype_without_blocks) {
  float y[32];
  const std::byte x[34]{};
  EXPECT_THROW(decode_blocks(DType::f16, x, 32, y), UnsupportedError);
  EXPECT_THROW(non_finite_in_blocks(DType::f16, x, 32), UnsupportedError);
  EXPECT_THROW(encode_blocks(DType::f16, y, 32, nullptr), UnsupportedError);
  EXPECT_EQ(test::message_of<UnsupportedError>([] { encode_blocks(DType::iq2_xxs, nullptr, 256, nullptr); }),
            "blocks: values cannot be quantized to iq2_xxs");
}

}  // namespace
}  // namespace hearth
