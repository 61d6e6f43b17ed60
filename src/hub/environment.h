// What the hub's own programs take from the environment.
#pragma once

#include <filesystem>
#include <string>

namespace hearth::hub {

// `given`, else HF_ENDPOINT, else huggingface.co; without a '/' at the end. UsageError unless it begins with http:// or https://.
std::string endpoint_of(const std::string& given);

// The content of `file` where one is given, else HF_TOKEN, HUGGING_FACE_HUB_TOKEN, or the content of the file at HF_TOKEN_PATH,
// $HF_HOME/token or ~/.cache/huggingface/token. Empty where there is none. IoError where the given file, or that at HF_TOKEN_PATH, cannot
// be read; UsageError for a token with blanks or control characters within.
std::string find_token(const std::filesystem::path& file);

}  // namespace hearth::hub
