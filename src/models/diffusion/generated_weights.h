// Weights for a folder that has configurations alone: full-size checkpoints to measure, small ones to test, without a download.
#pragma once

#include <filesystem>

#include "models/diffusion/latent_model.h"

namespace hearth::models::diffusion {

// Writes COMPONENT/diffusion_pytorch_model.safetensors, of a text encoder model.safetensors, for those components of `model` that are
// named, or for all where none is. Each value is a function of its tensor's name (weights/seeded.h), held as `dtype`: f32, f16 or bf16.
// Phase "write", in components. IoError.
void write_generated_weights(const LatentModel& model, const std::filesystem::path& folder, DType dtype,
                             std::span<const std::string> names = {}, const OnProgress& progress = {});

}  // namespace hearth::models::diffusion
