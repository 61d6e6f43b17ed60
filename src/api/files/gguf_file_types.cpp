#include "api/files/gguf_file_types.h"

#include <algorithm>
#include <array>

#include "weights/listing.h"
#include "weights/name_pattern.h"

namespace hearth::api {
namespace {

using D = DType;
using Role = ExportedTensor::Role;

constexpr std::array<FileType, 19> types{{{"f32", D::f32, 0, D::f32, D::f32},
                                          {"f16", D::f16, 1, D::f16, D::f16},
                                          {"bf16", D::bf16, 32, D::bf16, D::bf16},
                                          {"q8_0", D::q8_0, 7, D::f16, D::q8_0},
                                          {"q6_k", D::q6_k, 18, D::q8_0, D::q6_k},
                                          {"q5_k", D::q5_k, 16, D::q5_1, D::q5_k},
                                          {"q5_k_m", D::q5_k, 17, D::q5_1, D::q6_k},
                                          {"q4_k", D::q4_k, 14, D::q5_0, D::q4_k},
                                          {"q4_k_m", D::q4_k, 15, D::q5_0, D::q5_k},
                                          {"q3_k", D::q3_k, 11, D::q4_0, D::q3_k},
                                          {"q3_k_m", D::q3_k, 12, D::q4_0, D::q4_k},
                                          {"q2_k", D::q2_k, 10, D::q4_0, D::q2_k},
                                          {"q5_1", D::q5_1, 9, D::f16, D::q5_1},
                                          {"q5_0", D::q5_0, 8, D::f16, D::q5_0},
                                          {"q4_1", D::q4_1, 3, D::f16, D::q4_1},
                                          {"q4_0", D::q4_0, 2, D::f16, D::q4_0},
                                          {"iq4_nl", D::iq4_nl, 25, D::f16, D::iq4_nl},
                                          {"iq4_xs", D::iq4_xs, 30, D::iq4_nl, D::iq4_xs},
                                          {"mxfp4", D::mxfp4, 38, D::f16, D::mxfp4}}};

// Types that hearth only reads, and general.file_type of files that keep them.
constexpr std::pair<DType, int32_t> only_read[] = {{D::iq2_xxs, 19}, {D::iq2_xs, 20}, {D::iq3_xxs, 23}, {D::iq1_s, 24},
                                                   {D::iq3_s, 26},   {D::iq2_s, 28},  {D::iq1_m, 31}};

const FileType& type_of(DType dtype) { return *std::ranges::find(types, dtype, &FileType::dtype); }

double bits_of(DType dtype) { return 8.0 * double(block_of(dtype).bytes) / double(block_of(dtype).values); }

DType type_by_role(const ExportedTensor& t, const TypeChoice& choice) {
  if (!choice.type) return t.dtype;
  const auto& [name, dtype, number, narrower, more] = *choice.type;
  switch (t.role) {
    case Role::plain: return DType::f32;
    case Role::kept: return is_float(dtype) ? dtype : t.dtype;
    case Role::matrix: return dtype;
    case Role::important: return choice.pure ? dtype : more;
    case Role::output: return !choice.pure && bits_of(dtype) < bits_of(DType::q6_k) ? DType::q6_k : dtype;
  }
  return dtype;
}

}  // namespace

const FileType& file_type_named(const std::string& name) {
  const auto* found = std::ranges::find(types, name, &FileType::name);
  if (found != types.end()) return *found;
  std::string names;
  for (const FileType& t : types) names += fmt::format("{}{}", names.empty() ? "" : ", ", t.name);
  if (std::ranges::any_of(only_read, [&](const auto& type) { return name_of(type.first) == name; }))
    fail<UsageError>("quantize: '{}' can be read but not written, expected one of {}", name, names);
  fail<UsageError>("quantize: unknown type '{}', expected one of {}", name, names);
}

TypeRule type_rule(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == text.npos || equals == 0) fail<UsageError>("quantize: the rule is '{}', expected PATTERN=TYPE", text);
  const FileType& type = file_type_named(text.substr(equals + 1));
  if (type.more != type.dtype)
    fail<UsageError>("quantize: the rule '{}' has the mixed type {}, expected the type of a tensor", text, type.name);
  return {text.substr(0, equals), type.dtype};
}

std::vector<GgufTensor> choose_types(GgufExport& model, const TypeChoice& choice) {
  std::map<DType, std::vector<std::string>> other;
  std::vector<bool> used(choice.rules.size(), false);
  std::vector<GgufTensor> chosen;
  for (const ExportedTensor& t : model.tensors) {
    DType dtype = type_by_role(t, choice);
    const auto rule = std::ranges::find_if(choice.rules, [&](const TypeRule& r) { return matches(r.pattern, t.name); });
    if (rule != choice.rules.end()) {
      dtype = rule->dtype;
      used[size_t(rule - choice.rules.begin())] = true;
    }
    const DType wanted = dtype;
    while (t.shape.rank() > 0 && t.shape[-1] % block_of(dtype).values != 0) dtype = type_of(dtype).narrower_blocks;
    if (dtype != wanted) other[dtype].push_back(fmt::format("{} {}", t.name, t.shape));
    chosen.push_back({t.name, dtype, t.shape});
  }
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i]) fail<UsageError>("quantize: the rule for '{}' decides no tensor's type", choice.rules[i].pattern);
  for (const auto& [dtype, names] : other)
    model.notes.push_back(fmt::format("{} tensors whose rows are not whole blocks are written as {}: {}", names.size(), name_of(dtype),
                                      shortened_list(names)));
  return chosen;
}

int32_t file_type_number(const FileType* type, std::span<const GgufTensor> tensors) {
  if (type) return type->number;
  std::map<DType, int64_t> values;
  for (const GgufTensor& t : tensors) values[t.dtype] += t.shape.numel();
  const auto most = std::ranges::max_element(values, {}, &std::pair<const DType, int64_t>::second);
  if (most == values.end()) return 0;
  const auto* kept = std::ranges::find(only_read, most->first, &std::pair<DType, int32_t>::first);
  return kept == std::end(only_read) ? type_of(most->first).number : kept->second;
}

}  // namespace hearth::api
