// Many files at once, large ones over several connections.
#pragma once

#include <filesystem>
#include <vector>

#include "hearth/progress.h"
#include "hub/http.h"
#include "hub/listing.h"

namespace hearth::hub {

struct Download {
  RemoteFile file;  // its size is known
  std::string url;
  std::filesystem::path stem;  // of its partial file (hub/partial_file.h)
};

struct DownloadOptions {
  int connections = 8;
  int64_t piece = int64_t(32) << 20;    // bytes that one request asks for
  std::string model, commit, repo_url;  // for messages
  OnProgress progress;                  // phase "download", in bytes, those that were there already included
};

// Afterwards each partial file is complete and its content verified. When it ends otherwise, what was received stays and counts the next
// time; a file whose content is wrong is dropped. IoError; Canceled (check_canceled).
void download_all(Http& http, const std::vector<Download>& downloads, const DownloadOptions& options);

}  // namespace hearth::hub
