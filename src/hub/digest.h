// Checks a file's content against the hub's checksum.
#pragma once

#include <filesystem>
#include <string>

#include "hub/listing.h"

namespace hearth::hub {

// git's blob id of a file: SHA-1 of "blob SIZE", a zero byte and the bytes. IoError; Canceled (check_canceled).
std::string git_blob_id(const std::filesystem::path& file);

// Empty if the file has the size and checksum that the hub reported; else the difference: "its SHA-256 is …, expected …".
std::string difference_of(const std::filesystem::path& file, const RemoteFile& expected);

}  // namespace hearth::hub
