// Chooses the types of the tensors of a GGUF file, as llama.cpp's quantizer and those of image models do.
#pragma once

#include "api/files/gguf_export.h"

namespace hearth::api {

struct FileType {
  std::string_view name;  // "q4_k", "q4_k_m"
  DType dtype;
  int32_t number;         // general.file_type
  DType narrower_blocks;  // for rows whose length is not a multiple of this type's block
  DType more;             // of important tensors
};

// UsageError for an unknown name lists the supported types.
const FileType& file_type_named(const std::string& name);

struct TypeRule {
  std::string pattern;  // of a name in the file; '*' matches anything
  DType dtype;
};
// "*.attn_v.weight=q6_k". UsageError.
TypeRule type_rule(const std::string& text);

struct TypeChoice {
  const FileType* type = nullptr;    // null: every tensor as stored
  bool pure = false;                 // the output matrix too
  std::vector<TypeRule> rules = {};  // the first that matches a name decides its type
};

// The types to write, by roles and rules. Rows that are not whole blocks get a type of smaller blocks, which is noted in the model; the
// output matrix has at least q6_k unless `pure`. UsageError for a rule that matches no tensor.
std::vector<GgufTensor> choose_types(GgufExport& model, const TypeChoice& choice);

// general.file_type of these tensors: that of `type`, or without one that of most values.
int32_t file_type_number(const FileType* type, std::span<const GgufTensor> tensors);

}  // namespace hearth::api
