// The settings of adapters.
#pragma once

#include "api/settings/setting.h"

namespace hearth::api {

Row loras();
Row lora_folder();

// SHA-256 of an adapter's file; of a folder, that of the adapter in it. Files that have not changed are read once. IoError.
std::string sum_of_file(const std::filesystem::path& file);

}  // namespace hearth::api
