// Embeddings made by textual inversion (Gal et al. 2022, arXiv 2208.01618): vectors for a text encoder's table that stand for a name.
//
//   emb_params [n, C]                      A1111, safetensors
//   clip_l [n, 768], clip_g [n, 1280]      for two encoders; this reads the one that is asked for. Also text_encoders_0, text_encoders_1
//   TOKEN [C] or [n, C], the only tensor   diffusers: the tensor's name is the token
//   string_to_param.* [n, C], alone        A1111, pickle (as dotted names); the first ones hold a torch.nn.ParameterDict
#pragma once

#include <filesystem>

#include "weights/weights.h"

namespace hearth {

struct TextualInversion {
  std::string token;          // diffusers' name; empty in the other forms
  int64_t vectors = 0;        // n
  std::vector<float> values;  // [n, C]
};

// `encoder`: "clip_l" or "clip_g"; `width`: C of its table. Files ending in .pt, .bin, .ckpt or .pth are PyTorch's, others safetensors.
// One line each: IoError where the file cannot be read; UnsupportedError for a type that hearth does not know; WeightError for another
// form, another width, values that are not finite, or no vector at all.
TextualInversion read_textual_inversion(const std::filesystem::path& file, const std::string& encoder, int64_t width, Backend& device);
// The same of any source of tensors.
TextualInversion read_textual_inversion(TensorSource& source, const std::string& encoder, int64_t width, Backend& device);

}  // namespace hearth
