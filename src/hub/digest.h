// Whether a file's content is what the hub says it is.
#pragma once

#include <filesystem>
#include <string>

#include "hub/listing.h"

namespace hearth::hub {

// git's id of a file's content: SHA-1 of "blob SIZE", a zero byte and the bytes. IoError; Canceled (check_canceled).
std::string git_blob_id(const std::filesystem::path& file);

// Empty where the file has the size and the checksum that the hub told; else what is wrong: "its SHA-256 is …, expected …".
std::string difference_of(const std::filesystem::path& file, const RemoteFile& expected);

}  // namespace hearth::hub
