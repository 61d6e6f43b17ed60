// What a hub says that a repository holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::hub {

struct RemoteFile {
  std::string path;    // relative, with '/'
  int64_t size = -1;   // bytes; −1: the hub did not say
  std::string sha256;  // of large files; empty: unknown
  std::string git;     // git's blob id (SHA-1) of small files; empty: unknown

  // What names the content: the checksum, or where the hub told none, a hash of the path.
  std::string key() const;
};

struct Listing {
  std::string commit;
  std::vector<RemoteFile> files;
};

// The answer to GET /api/models/ORG/NAME/revision/REVISION?blobs=true. IoError that begins with `where` for anything else, for a commit
// or checksum that is none, and for a path that would lie outside of the model's folder.
Listing parse_listing(std::string_view json, const std::string& where);

// "1.2 GB".
std::string shown_size(int64_t bytes);

}  // namespace hearth::hub
