#include "bench/generated.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "api/files/gguf_file_types.h"
#include "api/files/image_gguf.h"
#include "backends/plan/plan_backend.h"
#include "core/memory.h"
#include "core/observe.h"
#include "core/quantized/blocks.h"
#include "models/checkpoints.h"
#include "weights/seeded.h"
#include "weights/seeded_file.h"

namespace hearth::api {

namespace fs = std::filesystem;
using namespace models::diffusion;

DType weight_type_named(const std::string& name) {
  const std::optional<DType> type = dtype_named(name);
  if (!type || (*type != DType::f32 && !is_16bit_float(*type) && !is_blocked(*type)))
    fail<UsageError>("bench: unknown weight type '{}', expected f32, f16, bf16, q8_0, q4_0, q4_k or another GGUF type", name);
  return *type;
}

void write_generated_values(const GgufTensor& t, const WriteBytes& write, bool negative_exp) {
  constexpr int64_t period = 1 << 16;
  const int64_t count = t.shape.numel();
  std::vector<float> values(static_cast<size_t>(period));
  fill_seeded(t.name, {period / 64, 64}, 0, period, values.data());
  for (float& v : values) v = negative_exp ? -std::exp(0.1f * v) : 0.1f * v;
  std::vector<std::byte> bytes(bytes_of(t.dtype, period));
  if (is_blocked(t.dtype)) encode_blocks(t.dtype, values.data(), period, bytes.data());
  else if (t.dtype == DType::f32) std::memcpy(bytes.data(), values.data(), bytes.size());
  else
    for (size_t i = 0; i < values.size(); ++i) {
      const uint16_t narrow = t.dtype == DType::f16 ? f32_to_f16(values[i]) : f32_to_bf16(values[i]);
      std::memcpy(bytes.data() + 2 * i, &narrow, 2);
    }
  for (int64_t begin = 0; begin < count; begin += period) write(std::span(bytes).first(bytes_of(t.dtype, std::min(period, count - begin))));
}

std::map<std::string, fs::path> write_generated_gguf(const Checkpoint& checkpoint, const LatentModel& model,
                                                     std::span<const std::string> components, DType type, const fs::path& folder,
                                                     const OnProgress& progress) {
  const std::vector<KnownFamily> families = models::image_files();
  std::map<std::string, fs::path> files;
  for (const ComponentSpec& spec : model.components()) {
    if (std::ranges::find(components, spec.name) == components.end()) continue;
    MemoryLedger ledger;
    const auto plan = make_plan_backend(ledger);
    const auto requested = std::make_shared<RequestedTensors>();
    Weights weights(requested, *plan);
    spec.build(Scope(weights));
    const std::string& class_name = checkpoint.component(spec.name).class_name;
    const NetworkFiles* network = network_of(families, class_name);
    if (!network) fail<UnsupportedError>("bench: {} cannot be written as GGUF, expected a float type of weights", class_name);
    GgufExport to{.architecture = {}, .values = {}, .tensors = {}, .notes = {}};
    for (const auto& [name, shape] : requested->tensors)
      to.tensors.push_back({.name = name, .role = gguf_role(name, shape, {&name, 1}, network->gguf), .dtype = DType::f16, .shape = shape});
    const std::vector<GgufTensor> chosen = choose_types(to, {.type = &file_type_named(std::string(name_of(type)))});
    const fs::path file = folder / (spec.name + ".gguf");
    write_gguf(file, to.values, chosen, [&](size_t i, const WriteBytes& write) {
      check_canceled();
      if (progress) progress({.phase = "write", .done = int64_t(i), .total = int64_t(chosen.size())});
      write_generated_values(chosen[i], write);
    });
    files[spec.name] = file;
  }
  return files;
}

}  // namespace hearth::api
