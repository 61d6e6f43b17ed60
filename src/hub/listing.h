// A hub's listing of a repository.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::hub {

// What follows the last '/' of a path.
inline std::string base(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

struct RemoteFile {
  std::string path;    // relative, with '/'
  int64_t size = -1;   // bytes; −1: not reported
  std::string sha256;  // of large files; empty: unknown
  std::string git;     // git's blob id (SHA-1) of small files; empty: unknown

  // Identifies the content: the checksum, or a hash of the path if the hub reported none.
  std::string key() const;
};

struct Listing {
  std::string commit;
  std::vector<RemoteFile> files;
};

// Parses the response to GET /api/models/ORG/NAME/revision/REVISION?blobs=true. IoError, starting with `where`, for anything else, for an
// invalid commit or checksum, and for a path outside the model's folder.
Listing parse_listing(std::string_view json, const std::string& where);

// "1.2 GB".
std::string shown_size(int64_t bytes);

}  // namespace hearth::hub
