// Files of one vector: what a program for faces, or another encoder, says of an image.
#pragma once

#include <filesystem>
#include <vector>

namespace hearth::api {

// The values of a vector in a file of NumPy (.npy) or of tensors with one of them (.safetensors, .pt), of shape [N], [1, N] or [1, 1, N],
// in floating point. IoError; WeightError for another shape or type, several tensors, or a value that is not finite.
std::vector<float> read_vector(const std::filesystem::path& file);

}  // namespace hearth::api
