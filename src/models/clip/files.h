// A checkpoint's CLIP tokenizer files, from any checkpoint layout.
#pragma once

#include "text/clip/clip_vocabulary.h"
#include "weights/checkpoint.h"

namespace hearth::models::clip {

// The files of the component "tokenizer" or "tokenizer_2". IoError if one cannot be read.
text::ClipFiles clip_files(const Checkpoint& checkpoint, std::string_view component);

}  // namespace hearth::models::clip
