#include "weights/packed/quantization.h"

#include "core/error.h"
#include "weights/packed/bitsandbytes.h"
#include "weights/packed/block_float8.h"
#include "weights/packed/compressed_tensors.h"
#include "weights/packed/mxfp4.h"
#include "weights/packed/packed_linears.h"

namespace hearth {

Unpacked unpacked_by_config(std::shared_ptr<TensorSource> source, const Config& config, const std::filesystem::path& folder) {
  std::error_code error;
  if (!config.has("quantization_config")) {
    if (const auto packed = read_packed_format(config, folder)) return {unpacked(source, *packed), zero_biases(*source)};
    const std::filesystem::path beside = folder / "hf_quant_config.json";
    if (!std::filesystem::exists(beside, error)) return {std::move(source), {}};
    const Config c = Config::load(beside);
    c.no_effect({"producer"});
    const Config quantization = c.object("quantization");
    c.finish();
    return {unpacked_modelopt(std::move(source), quantization), {}};
  }
  const Config c = config.object("quantization_config");
  const std::string method = c.text("quant_method");
  if (method == "mxfp4") {
    has_mxfp4(config);
    return {unpacked_mxfp4(std::move(source)), {}};
  }
  if (method == "fp8") return {unpacked_fp8(std::move(source), config, c), {}};
  if (method == "modelopt") return {unpacked_modelopt(std::move(source), c), {}};
  if (method == "bitsandbytes") return {unpacked_bitsandbytes(std::move(source), c), {}};
  if (method == "compressed-tensors") return {unpacked_compressed_tensors(std::move(source), config, c), {}};
  if (method != "gptq" && method != "awq")
    fail<UnsupportedError>(
        "{}: the quantization method '{}' is not supported, expected gptq, awq, mxfp4, fp8, modelopt, bitsandbytes or compressed-tensors",
        c.where(), method);
  const auto packed = read_packed_format(config, folder);
  return {unpacked(source, *packed), zero_biases(*source)};
}

}  // namespace hearth
