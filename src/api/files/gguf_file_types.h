// The types of the tensors of a GGUF file, chosen as its quantizers do.
#pragma once

#include "api/files/gguf_export.h"

namespace hearth::api {

struct FileType {
  DType dtype;
  int32_t number;         // general.file_type
  DType narrower_blocks;  // for rows that are no multiple of this type's block
};

// UsageError that lists the types there are.
const FileType& file_type_named(const std::string& name);

// The types to write where `asked` is wanted: what no product reads is f32; rows of no whole blocks have a type of smaller ones, which is
// noted in the model; the output matrix has at least q6_k unless `pure`.
std::vector<GgufTensor> choose_types(GgufExport& model, DType asked, bool pure);

}  // namespace hearth::api
