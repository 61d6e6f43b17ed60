// Chooses the types of the tensors of a GGUF file, as llama.cpp's quantizer does.
#pragma once

#include "api/files/gguf_export.h"

namespace hearth::api {

struct FileType {
  DType dtype;
  int32_t number;         // general.file_type
  DType narrower_blocks;  // for rows whose length is not a multiple of this type's block
};

// UsageError for an unknown name lists the supported types.
const FileType& file_type_named(const std::string& name);

// The types to write if `requested` is the type: tensors that no product reads are f32; rows that are not whole blocks get a type of
// smaller blocks, which is noted in the model; the output matrix has at least q6_k unless `pure`.
std::vector<GgufTensor> choose_types(GgufExport& model, DType requested, bool pure);

}  // namespace hearth::api
