// The settings that all image models share: rows that table.cpp puts together.
#pragma once

#include <map>

#include "api/settings/setting.h"

namespace hearth::api {

std::vector<Row> shared_rows();

// Of table_editing.cpp: image-to-image, the hires pass and the VAE.
std::vector<Row> editing_rows();

namespace group {  // of the help
inline constexpr const char *prompt = "Prompt", *image = "Image", *sampling = "Sampling", *guidance = "Guidance",
                            *to_image = "Image-to-image", *adapters = "Adapters", *memory = "Memory and performance";
}

inline constexpr double most_steps = 1 << 20;

// A row that also accepts other names of values: {"noise", "latent-noise"}.
Row with_value_aliases(Row row, std::map<std::string, std::string> aliases);

}  // namespace hearth::api
