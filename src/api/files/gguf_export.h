// A language model as the GGUF file that it will be: values, and tensors with where they come from.
#pragma once

#include "models/registry.h"
#include "weights/gguf/gguf.h"
#include "weights/gguf/gguf_writer.h"

namespace hearth::api {

struct ExportedTensor {
  std::string name;    // in the GGUF file
  std::string stored;  // in the source; empty where `values` are it
  DType dtype = DType::f32;
  Shape shape;
  int64_t heads = 0;  // row r of a head's two halves comes to stand at 2r and 2r + 1 (GgufArchitecture::neighbors); 0: rows stay
  std::vector<float> values;
};

struct GgufExport {
  std::string architecture;
  GgufValues values;  // but for general.file_type and general.quantization_version
  std::shared_ptr<TensorSource> source;
  std::vector<ExportedTensor> tensors;
  std::vector<std::string> notes;
};

// A published folder. UnsupportedError for a family or a configuration that GGUF has no words for; WeightError that names what is
// missing, misshapen or left over.
GgufExport export_checkpoint(const LanguageCheckpoint& checkpoint, Backend& device);
// Another GGUF file, whatever its architecture.
GgufExport export_gguf(const std::shared_ptr<GgufFile>& file);
// A model of generated weights: the tensors have no source.
GgufExport export_geometry(const models::LanguageFamily& family, const models::LanguageGeometry& geometry);

// tokenizer.ggml.* and tokenizer.chat_template from the folder's files, for an embedding of `rows`. UnsupportedError for a tokenizer
// that GGUF has no words for, WeightError for one with more tokens than rows. A note where the folder has none.
void export_tokenizer(const std::filesystem::path& folder, const Config& config, int64_t rows, GgufExport& to);

}  // namespace hearth::api
