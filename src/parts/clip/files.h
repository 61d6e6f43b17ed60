// CLIP's text tower in files: CLIPTextModel, and CLIPTextModelWithProjection.
#pragma once

#include "weights/inspection/signatures.h"
#include "weights/layout/network_files.h"

namespace hearth::parts {

// Spellings "open_clip" (OpenCLIP's own), "transformers" and "bare" (the same without `text_model.`, as old single files have it and
// transformers 5 writes CLIPTextModel).
extern const NetworkFiles clip_files;

const NameMap& open_clip_names();
const NameMap& clip_names();  // of both others

// What tells published towers apart: width and depth.
struct ClipKind {
  int64_t width = 768, layers = 12;
  int64_t unused = 0;  // layers more that files may hold
};
Signature clip_signature(const std::string& name, const ClipKind& kind, std::vector<std::string_view> prefixes);
Signature open_clip_signature(const std::string& name, const ClipKind& kind, std::vector<std::string_view> prefixes);

}  // namespace hearth::parts
