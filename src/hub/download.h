// Downloads many files in parallel, large ones over several connections.
#pragma once

#include <filesystem>
#include <vector>

#include "hearth/progress.h"
#include "hub/http.h"
#include "hub/listing.h"

namespace hearth::hub {

struct Download {
  RemoteFile file;  // its size must be known
  std::string url;
  std::filesystem::path stem;  // path of its partial file without ".part" (hub/partial_file.h)
};

struct DownloadOptions {
  int connections = 8;
  int64_t piece = int64_t(32) << 20;    // bytes per request
  std::string model, commit, repo_url;  // for messages
  OnProgress progress;                  // phase "download", in bytes, including those of earlier pulls
};

// On return, every partial file is complete and verified. On an error, the received bytes are kept for the next call, but a file with wrong
// content is deleted. IoError; Canceled (check_canceled).
void download_all(Http& http, const std::vector<Download>& downloads, const DownloadOptions& options);

}  // namespace hearth::hub
