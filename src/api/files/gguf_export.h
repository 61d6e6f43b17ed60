// A model in the form of a GGUF file: metadata, and tensors with their sources.
#pragma once

#include "models/registry.h"
#include "text/tokenizer/tokenizer.h"
#include "weights/gguf/gguf.h"
#include "weights/gguf/gguf_writer.h"
#include "weights/layout/name_map.h"

namespace hearth::api {

struct ExportedTensor {
  // What decides its type (choose_types).
  enum class Role {
    plain,      // vectors and small tensors: f32
    kept,       // what no type of blocks suits: as stored
    matrix,     // of a product
    important,  // the same, of which mixed types keep more
    output,     // the output matrix of a language model
  };
  std::string name;                           // in the GGUF file
  std::shared_ptr<TensorSource> source = {};  // null if `values` is used instead
  std::vector<std::string> stored = {};       // names in the source: rows or slices of the tensor, one after the other
  Form form = form::same;                     // of them in the tensor
  Role role = Role::plain;
  DType dtype = DType::f32;  // of the stored values
  Shape shape;
  int64_t heads = 0;  // heads whose halves are interleaved: their rows r become rows 2r and 2r + 1 (GgufArchitecture::neighbors); 0: none
  float offset = 0;   // added to all values (GgufArchitecture::plus_one)
  bool negative_exp = false;  // −exp of all values (GgufForm)
  std::vector<float> values = {};
};

struct GgufExport {
  std::string architecture;
  GgufValues values;  // without general.file_type and general.quantization_version
  std::vector<ExportedTensor> tensors;
  std::vector<std::string> notes;

  // Notes tensors that are quantized already.
  void note_quantized(const std::vector<std::string>& names);
};

// From a checkpoint folder. UnsupportedError for a family or a configuration that GGUF cannot describe; WeightError that names missing,
// misshapen or unused tensors.
GgufExport export_checkpoint(const LanguageCheckpoint& checkpoint, Backend& device);
// From a GGUF file of any architecture.
GgufExport export_gguf(const std::shared_ptr<GgufFile>& file);
// For generated weights: the tensors have no source.
GgufExport export_geometry(const models::LanguageFamily& family, const models::LanguageGeometry& geometry);

// Writes tokenizer.ggml.* and tokenizer.chat_template from the folder's files, for an embedding of `rows` rows. UnsupportedError for a
// tokenizer that GGUF cannot describe, WeightError for one with more tokens than rows. Adds a note if the folder has no tokenizer.
void export_tokenizer(const std::filesystem::path& folder, const Config& config, int64_t rows, GgufExport& to);
// The tokenizer of a folder whose tokenizer.model is its only file of one, without a template.
void export_sentencepiece(const std::filesystem::path& folder, int64_t rows, GgufExport& to);
// Whether the tokenizer adds these tokens to a prompt. Adds a note for other tokens, which GGUF cannot describe.
void write_added_tokens(const text::Tokenizer& tokenizer, std::optional<int32_t> bos, std::optional<int32_t> eos, GgufExport& to);

}  // namespace hearth::api
