#include "api/files/gguf_file_types.h"

#include <algorithm>
#include <array>

#include "weights/listing.h"

namespace hearth::api {
namespace {

constexpr std::array<FileType, 16> types{{{DType::f32, 0, DType::f32},
                                          {DType::f16, 1, DType::f16},
                                          {DType::bf16, 32, DType::bf16},
                                          {DType::q8_0, 7, DType::f16},
                                          {DType::q6_k, 18, DType::q8_0},
                                          {DType::q5_k, 16, DType::q5_1},
                                          {DType::q4_k, 14, DType::q5_0},
                                          {DType::q3_k, 11, DType::q4_0},
                                          {DType::q2_k, 10, DType::q4_0},
                                          {DType::q5_1, 9, DType::f16},
                                          {DType::q5_0, 8, DType::f16},
                                          {DType::q4_1, 3, DType::f16},
                                          {DType::q4_0, 2, DType::f16},
                                          {DType::iq4_nl, 25, DType::f16},
                                          {DType::iq4_xs, 30, DType::iq4_nl},
                                          {DType::mxfp4, 38, DType::f16}}};

const FileType& type_of(DType dtype) { return *std::ranges::find(types, dtype, &FileType::dtype); }

double bits_of(DType dtype) { return 8.0 * double(block_of(dtype).bytes) / double(block_of(dtype).values); }

// Whether a tensor is a matrix of a product. Gates, convolutions and tables of which few rows are read keep their precision.
bool is_matrix(const ExportedTensor& t) {
  if (t.shape.rank() < 2 || !t.name.ends_with(".weight")) return false;
  for (const char* exact :
       {"_norm.",       "ffn_gate_inp.", "ssm_conv1d.",  "time_mix_first.",   "time_mix_lerp_", "time_mix_decay", "time_mix_w0.",
        "time_mix_w1.", "time_mix_w2.",  "time_mix_a0.", "time_mix_a1.",      "time_mix_a2.",   "time_mix_v0.",   "time_mix_v1.",
        "time_mix_v2.", "time_mix_g1.",  "time_mix_g2.", "channel_mix_lerp_", "position_embd.", "token_types.",   "rope_"})
    if (t.name.find(exact) != t.name.npos) return false;
  return true;
}

}  // namespace

const FileType& file_type_named(const std::string& name) {
  const auto* found = std::ranges::find_if(types, [&](const FileType& t) { return name_of(t.dtype) == name; });
  if (found != types.end()) return *found;
  std::string names;
  for (const FileType& t : types) names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(t.dtype));
  fail<UsageError>("quantize: unknown type '{}', expected one of {}", name, names);
}

std::vector<GgufTensor> choose_types(GgufExport& model, DType requested, bool pure) {
  const bool tied = std::ranges::find(model.tensors, "output.weight", &ExportedTensor::name) == model.tensors.end();
  const std::string_view output = tied ? "token_embd.weight" : "output.weight";
  std::map<DType, std::vector<std::string>> other;
  std::vector<GgufTensor> chosen;
  for (const ExportedTensor& t : model.tensors) {
    DType dtype = is_matrix(t) ? requested : DType::f32;
    if (is_matrix(t) && !pure && t.name == output && bits_of(requested) < bits_of(DType::q6_k)) dtype = DType::q6_k;
    const DType wanted = dtype;
    while (t.shape.rank() > 0 && t.shape[-1] % block_of(dtype).values != 0) dtype = type_of(dtype).narrower_blocks;
    if (dtype != wanted) other[dtype].push_back(fmt::format("{} {}", t.name, t.shape));
    chosen.push_back({t.name, dtype, t.shape});
  }
  for (const auto& [dtype, names] : other)
    model.notes.push_back(fmt::format("{} tensors whose rows are not whole blocks are written as {}: {}", names.size(), name_of(dtype),
                                      shortened_list(names)));
  return chosen;
}

}  // namespace hearth::api
