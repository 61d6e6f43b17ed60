// Embeddings from textual inversion (Gal et al. 2022, arXiv 2208.01618): new token vectors for a text encoder, used in prompts by name.
//
//   emb_params [n, C]                      A1111, safetensors
//   clip_l [n, 768], clip_g [n, 1280]      for two encoders; only the requested one is read. Also text_encoders_0, text_encoders_1
//   TOKEN [C] or [n, C], the only tensor   diffusers: the tensor's name is the token
//   string_to_param.* [n, C], the only one A1111, pickle (as dotted names); the first files hold a torch.nn.ParameterDict
#pragma once

#include <filesystem>

#include "weights/weights.h"

namespace hearth {

struct TextualInversion {
  std::string token;          // the name in a file of diffusers; empty for the other formats
  int64_t vectors = 0;        // n
  std::vector<float> values;  // [n, C]
};

// `encoder`: "clip_l" or "clip_g"; `width`: C of its table. Files that end in .pt, .bin, .ckpt or .pth are PyTorch files, others
// safetensors. IoError if the file cannot be read; UnsupportedError for an unknown dtype; WeightError for another structure, another width,
// non-finite values, or no vectors.
TextualInversion read_textual_inversion(const std::filesystem::path& file, const std::string& encoder, int64_t width, Backend& device);
// The same for any source of tensors.
TextualInversion read_textual_inversion(TensorSource& source, const std::string& encoder, int64_t width, Backend& device);

}  // namespace hearth
