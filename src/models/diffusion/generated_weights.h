// Weights for a folder with configurations only: full-size checkpoints for benchmarks, small ones for tests, without a download.
#pragma once

#include <filesystem>

#include "models/diffusion/latent_model.h"

namespace hearth::models::diffusion {

// Writes COMPONENT/diffusion_pytorch_model.safetensors, or model.safetensors for a text encoder, for the named components of `model`, or
// for all if none is named. Each value is a function of its tensor's name (weights/seeded.h), stored as `dtype`: f32, f16 or bf16.
// Phase "write", in components. IoError.
void write_generated_weights(const LatentModel& model, const std::filesystem::path& folder, DType dtype,
                             std::span<const std::string> names = {}, const OnProgress& progress = {});

}  // namespace hearth::models::diffusion
