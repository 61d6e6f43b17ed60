// Files of generated weights in any type, for benchmarks. The measurements do not depend on the values, so that a few thousand of them are
// repeated.
#pragma once

#include <filesystem>
#include <map>
#include <span>

#include "models/diffusion/latent_model.h"
#include "weights/gguf/gguf_writer.h"

namespace hearth::api {

// f32, f16, bf16 or a block type. UsageError.
DType weight_type_named(const std::string& name);

// All values of a tensor of a GGUF file; negative_exp: −exp of them.
void write_generated_values(const GgufTensor& t, const WriteBytes& write, bool negative_exp = false);

// Writes a GGUF file NAME.gguf into `folder` for each of these components, under official names, with the types that `hearth quantize`
// gives a component if `type` is requested. Returns the files by component.
std::map<std::string, std::filesystem::path> write_generated_gguf(const Checkpoint& checkpoint, const models::diffusion::LatentModel& model,
                                                                  std::span<const std::string> components, DType type,
                                                                  const std::filesystem::path& folder, const OnProgress& progress);

}  // namespace hearth::api
