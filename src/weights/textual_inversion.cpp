#include "weights/textual_inversion.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "weights/safetensors/safetensors.h"
#include "weights/torch/torch_file.h"

namespace hearth {
namespace {

// The names of Stable Diffusion XL's two encoders in files of diffusers' pivotal tuning.
std::string other_name(const std::string& encoder) {
  return encoder == "clip_l" ? "text_encoders_0" : encoder == "clip_g" ? "text_encoders_1" : encoder;
}

// The name of the tensor that holds the vectors.
std::string choose(const std::map<std::string, TensorInfo>& tensors, const std::string& encoder, const std::string& where) {
  for (const std::string& name : {encoder, other_name(encoder), std::string("emb_params")})
    if (tensors.contains(name)) return name;
  std::vector<std::string> params;
  for (const auto& [name, info] : tensors)
    if (name.starts_with("string_to_param.")) params.push_back(name);
  if (params.size() == 1) return params[0];
  if (tensors.size() == 1 && !tensors.contains("clip_l") && !tensors.contains("clip_g")) return tensors.begin()->first;
  std::string names;
  for (const auto& [name, info] : tensors) names += (names.empty() ? "" : ", ") + name;
  fail<WeightError>("{}: expected emb_params, {} or one tensor that is named after its token, found {}", where, encoder,
                    names.empty() ? "nothing" : names);
}

}  // namespace

TextualInversion read_textual_inversion(TensorSource& source, const std::string& encoder, int64_t width, Backend& device) {
  const std::string where = source.describe();
  const auto tensors = source.list();
  const std::string name = choose(tensors, encoder, where);
  const TensorInfo& info = tensors.at(name);
  if (!info.unreadable.empty()) fail<UnsupportedError>("{}: '{}' {}", where, name, info.unreadable);
  const int rank = info.shape.rank();
  if (rank < 1 || rank > 2 || info.shape.numel() == 0)
    fail<WeightError>("{}: '{}' has shape {}, expected [vectors, {}]", where, name, info.shape, width);
  if (info.shape[rank - 1] != width)
    fail<WeightError>("{}: the embedding has width {}, expected that of the text encoder, {}", where, info.shape[rank - 1], width);
  TextualInversion read{.vectors = rank == 2 ? info.shape[0] : 1};
  if (name != encoder && name != other_name(encoder) && name != "emb_params" && !name.starts_with("string_to_param.")) read.token = name;
  read.values = source.read(name, info.shape, device).to_vector();
  if (std::ranges::any_of(read.values, [](float v) { return !std::isfinite(v); }))
    fail<WeightError>("{}: '{}' holds NaN or infinite values", where, name);
  return read;
}

TextualInversion read_textual_inversion(const std::filesystem::path& file, const std::string& encoder, int64_t width, Backend& device) {
  const std::string ending = file.extension().string();
  const bool torch = ending == ".pt" || ending == ".bin" || ending == ".ckpt" || ending == ".pth";
  const std::shared_ptr<TensorSource> source = torch ? std::shared_ptr<TensorSource>(TorchFile::open(file)) : SafetensorsFile::open(file);
  return read_textual_inversion(*source, encoder, width, device);
}

}  // namespace hearth
