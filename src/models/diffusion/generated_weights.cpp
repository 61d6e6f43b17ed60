#include "models/diffusion/generated_weights.h"

#include <algorithm>

#include "backends/plan/plan_backend.h"
#include "core/memory.h"
#include "core/threads.h"
#include "weights/seeded_file.h"

namespace hearth::models::diffusion {

void write_generated_weights(const LatentModel& model, const std::filesystem::path& folder, DType dtype, std::span<const std::string> names,
                             const OnProgress& progress) {
  std::vector<const ComponentSpec*> wanted;
  for (const ComponentSpec& spec : model.components())
    if (names.empty() || std::ranges::find(names, spec.name) != names.end()) wanted.push_back(&spec);
  ThreadPool threads;
  int64_t done = 0;
  for (const ComponentSpec* spec : wanted) {
    if (progress) progress({.phase = "write", .done = done++, .total = int64_t(wanted.size())});
    MemoryLedger ledger;
    const auto plan = make_plan_backend(ledger);
    const auto requested = std::make_shared<RequestedTensors>();
    Weights weights(requested, *plan);
    spec->build(Scope(weights));
    const char* file = spec->role == Role::text_encoder ? "model.safetensors" : "diffusion_pytorch_model.safetensors";
    write_seeded_file(folder / spec->name / file, requested->tensors, dtype, threads);
  }
}

}  // namespace hearth::models::diffusion
