// The T5 encoder in checkpoint files: T5EncoderModel and its relatives.
#pragma once

#include "weights/inspection/signatures.h"
#include "weights/layout/network_files.h"

namespace hearth::parts {

// Layouts "transformers" and "gguf" (llama.cpp's names, of files with or without the decoder). The configuration of T5 v1.1 XXL applies to
// files for which there is no other.
extern const NetworkFiles t5_files;

const NameMap& t5_names();
// `gated`: two matrices before the activation.
const NameMap& t5_gguf_names(bool gated);

// T5 v1.1 XXL in both layouts.
std::vector<Signature> t5_xxl_signatures(const std::string& name, std::vector<std::string_view> prefixes);

}  // namespace hearth::parts
