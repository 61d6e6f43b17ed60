// How published diffusers folders spell and pad the tensors of their components, per class in model_index.json.
#pragma once

#include "weights/aliases.h"

namespace hearth {

// AutoencoderKL: attention as early diffusers wrote it (query, key, value, proj_attn); most published SD 1.x
// autoencoders have these. CLIPTextModel: without the prefix `text_model.`, as transformers 5 writes it. Others: no rule.
std::span<const Alias> published_aliases(std::string_view class_name);

// Tensors that makers ship and nothing needs, by official name, for LoadOptions::ignore. CLIP's position_ids (0, 1, 2 …; a
// buffer that early transformers saved). Others: none.
std::vector<std::string> ignored_tensors(std::string_view class_name);

}  // namespace hearth
