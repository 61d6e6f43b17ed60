// A checkpoint's CLIP tokenizer, wherever its files lie.
#pragma once

#include "text/clip/clip_vocabulary.h"
#include "weights/checkpoint.h"

namespace hearth::models::clip {

// The files of the component "tokenizer" or "tokenizer_2". IoError where one cannot be read.
text::ClipFiles clip_files(const Checkpoint& checkpoint, std::string_view component);

}  // namespace hearth::models::clip
