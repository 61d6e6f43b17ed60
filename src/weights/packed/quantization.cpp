#include "weights/packed/quantization.h"

#include <fmt/format.h>

#include "core/error.h"
#include "weights/listing.h"
#include "weights/packed/bitsandbytes.h"
#include "weights/packed/block_float8.h"
#include "weights/packed/compressed_tensors.h"
#include "weights/packed/mxfp4.h"
#include "weights/packed/packed_linears.h"

namespace hearth {
namespace {

struct Method {
  std::string name;
  Unpacked result;
};

Method unpacked_by_method(std::shared_ptr<TensorSource> source, const Config& config, const std::filesystem::path& folder) {
  std::error_code error;
  if (!config.has("quantization_config")) {
    if (const auto packed = read_packed_format(config, folder)) return {"gptq", {unpacked(source, *packed), zero_biases(*source), {}}};
    const std::filesystem::path beside = folder / "hf_quant_config.json";
    if (!std::filesystem::exists(beside, error)) return {"", {std::move(source), {}, {}}};
    const Config c = Config::load(beside);
    c.no_effect({"producer"});
    const Config quantization = c.object("quantization");
    c.finish();
    return {"modelopt", {unpacked_modelopt(std::move(source), quantization), {}, {}}};
  }
  const Config c = config.object("quantization_config");
  const std::string method = c.text("quant_method");
  if (method == "mxfp4") {
    has_mxfp4(config);
    return {method, {unpacked_mxfp4(std::move(source)), {}, {}}};
  }
  if (method == "fp8") return {method, {unpacked_fp8(std::move(source), config, c), {}, {}}};
  if (method == "modelopt") return {method, {unpacked_modelopt(std::move(source), c), {}, {}}};
  if (method == "bitsandbytes") return {method, {unpacked_bitsandbytes(std::move(source), c), {}, {}}};
  if (method == "compressed-tensors") return {method, {unpacked_compressed_tensors(std::move(source), config, c), {}, {}}};
  if (method != "gptq" && method != "awq")
    fail<UnsupportedError>(
        "{}: the quantization method '{}' is not supported, expected gptq, awq, mxfp4, fp8, modelopt, bitsandbytes or compressed-tensors",
        c.where(), method);
  const auto packed = read_packed_format(config, folder);
  return {method, {unpacked(source, *packed), zero_biases(*source), {}}};
}

// What has changed between the tensors of the files and those that a model sees.
QuantizedWeights compared(const std::string& method, const TensorSource& files, const TensorSource& unpacked) {
  QuantizedWeights q{.method = method};
  std::map<std::string, TensorInfo> gone = files.list();
  for (const auto& [name, info] : unpacked.list()) {
    const auto stored = gone.find(name);
    const bool same = stored != gone.end() && stored->second.dtype == info.dtype && stored->second.shape == info.shape;
    if (same && !info.scaled) {
      gone.erase(stored);
      continue;
    }
    const int64_t bytes = int64_t(bytes_of(info.dtype, info.shape.numel()));
    QuantizedWeights::Held& held = q.types[std::string(name_of(info.dtype))];
    ++held.weights;
    held.bytes += bytes;
    held.widened = !is_compact(info.dtype);
    if (!unpacked.mapped(name)) q.unpacked_bytes += bytes;
  }
  for (const auto& [name, info] : gone)
    if (info.unreadable.empty()) q.stored_bytes += int64_t(bytes_of(info.dtype, info.shape.numel()));
  return q;
}

}  // namespace

Unpacked unpacked_by_config(std::shared_ptr<TensorSource> source, const Config& config, const std::filesystem::path& folder) {
  Method method = unpacked_by_method(source, config, folder);
  if (!method.name.empty()) method.result.quantized = compared(method.name, *source, *method.result.tensors);
  return std::move(method.result);
}

std::string QuantizedWeights::text() const {
  if (method.empty()) return "";
  std::string as;
  int64_t bytes = 0;
  for (const auto& [type, held] : types) {
    as += fmt::format("{}{} weight{} {} {}", as.empty() ? "" : ", ", held.weights, held.weights == 1 ? "" : "s",
                      held.widened ? "widened to" : "as", type);
    bytes += held.bytes;
  }
  return fmt::format("{}: {}; {} in the files, {} in memory", method, as.empty() ? "no weight is quantized" : as, size_text(stored_bytes),
                     size_text(bytes));
}

}  // namespace hearth
