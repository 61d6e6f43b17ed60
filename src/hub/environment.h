// Settings from the environment variables of the hub's own programs.
#pragma once

#include <filesystem>
#include <string>

namespace hearth::hub {

// `given`, else HF_ENDPOINT, else huggingface.co; without a trailing '/'. UsageError unless it starts with http:// or https://.
std::string endpoint_of(const std::string& given);

// The content of `file` if not empty, else HF_TOKEN, HUGGING_FACE_HUB_TOKEN, or the content of the file at HF_TOKEN_PATH, $HF_HOME/token or
// ~/.cache/huggingface/token. Empty if there is none. IoError if `file` or the file at HF_TOKEN_PATH cannot be read; UsageError for a token
// that contains blanks or control characters.
std::string find_token(const std::filesystem::path& file);

}  // namespace hearth::hub
