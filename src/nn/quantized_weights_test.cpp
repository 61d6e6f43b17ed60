// Layers with weights in the formats of other programs (weights/packed), whose values are not those of a single type.
#include <algorithm>
#include <cmath>

#include "nn/layers.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "weights/packed/quantization.h"
#include "weights/safetensors/safetensors.h"

namespace hearth {
namespace {

constexpr const char* golden = HEARTH_SOURCE_DIR "/src/weights/packed/golden/";

struct Stored {
  const char* name;
  const char* quantization;
  DType dtype;
};
constexpr Stored all_stored[] = {
    {"nf4", R"({"quant_method": "bitsandbytes"})", DType::bf16},
    {"bnb_int8", R"({"quant_method": "bitsandbytes"})", DType::q8_0},
    {"packed_int4_zeros", R"({"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": 4}}}})", DType::q5_0},
    {"int8_rows", R"({"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": 8}}}})", DType::q8_0},
    {"int8_tensor", R"({"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": 8}}}})", DType::q8_0},
    {"float8_rows", R"({"quant_method": "fp8"})", DType::f8_e4m3},
    {"deepseek", R"({"quant_method": "fp8", "weight_block_size": [16, 64]})", DType::bf16}};

// Against the values that the formats' libraries give, multiplied in f64. Observed: 1.3e-7 of the largest result with f32 factors, 2.3e-5
// with i16.
BACKEND_TEST(QuantizedWeights, multiply_like_the_values_that_they_mean) {
  const test::TemporaryFolder folder;
  for (const auto& [name, quantization, dtype] : all_stored)
    for (const DType factors : {DType::f32, DType::i16}) {
      SCOPED_TRACE(name);
      const Config config =
          Config::parse("{\"torch_dtype\": \"bfloat16\", \"quantization_config\": " + std::string(quantization) + "}", "c");
      const auto source =
          unpacked_by_config(SafetensorsFile::open(golden + std::string(name) + ".safetensors"), config, folder.path()).tensors;
      Weights weights(source, device, {.types = {.factors = factors, .in_place = true}});
      const nn::Linear layer(Scope(weights) / "layer", 96, 20, nn::Bias::no);
      weights.tensor("norm.weight", {96});
      weights.finish();
      EXPECT_EQ(layer.weight.form.hold, dtype);
      const std::vector<float> w =
          SafetensorsFile::open(golden + std::string(name) + "_unpacked.safetensors")->read("weight", {}, device.host()).to_vector();
      for (const int64_t M : {1, 3, 70}) {
        std::vector<float> x(static_cast<size_t>(M * 96));
        for (size_t i = 0; i < x.size(); ++i) x[i] = float(int(i * 37 % 101) - 50) / 32;
        const std::vector<float> y = layer(Tensor::from(device, {M, 96}, x)).to_vector();
        double error = 0, largest = 0;
        for (int64_t m = 0; m < M; ++m)
          for (int64_t n = 0; n < 20; ++n) {
            double sum = 0;
            for (int64_t k = 0; k < 96; ++k) sum += double(x[size_t(m * 96 + k)]) * double(w[size_t(n * 96 + k)]);
            error = std::max(error, std::abs(sum - double(y[size_t(m * 20 + n)])));
            largest = std::max(largest, std::abs(sum));
          }
        const double limit = factors == DType::f32 ? 9e-7 : 5e-5;
        EXPECT_LE(error, limit * largest) << name << " " << M;
      }
    }
}

}  // namespace
}  // namespace hearth
