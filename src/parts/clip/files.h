// CLIP's text encoder in checkpoint files: CLIPTextModel, and CLIPTextModelWithProjection.
#pragma once

#include "weights/inspection/signatures.h"
#include "weights/layout/network_files.h"

namespace hearth::parts {

// Layouts "open_clip" (OpenCLIP's own), "transformers" and "bare" (the same without `text_model.`, as in old single files and in
// CLIPTextModel of transformers 5).
extern const NetworkFiles clip_files;

const NameMap& open_clip_names();
const NameMap& clip_names();  // of the other two layouts

// Width and depth, which distinguish published text encoders.
struct ClipKind {
  int64_t width = 768, layers = 12;
  int64_t unused = 0;  // additional layers that files may contain
};
Signature clip_signature(const std::string& name, const ClipKind& kind, std::vector<std::string_view> prefixes);
Signature open_clip_signature(const std::string& name, const ClipKind& kind, std::vector<std::string_view> prefixes);

}  // namespace hearth::parts
