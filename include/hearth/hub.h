// Models from a hub: download once, then open by name.
//
//   hearth::pull({.model = "org/name"});
//   hearth::Model model = hearth::Model::open("org/name");
//
// Wherever a path to a model is expected, ORG/NAME, ORG/NAME@REVISION and ORG/NAME:FILE stand for what was pulled, unless a file or folder
// of that name is there.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hearth/progress.h"

namespace hearth {

struct PullRequest {
  // ORG/NAME, ORG/NAME@REVISION, ORG/NAME:FILE. FILE is a path in the repository, the name of a file, or the quantization of a GGUF file
  // (q4_k_m). Without it the files that hearth reads are taken: one set of weights, safetensors where there are any.
  std::string model;
  std::string revision;  // a branch, tag or commit; "" the one in `model`, else main
  std::string variant;   // of the weights: "fp16" takes *.fp16.safetensors
  // Globs in which * matches / too. `include` takes exactly the files that match one of them; `exclude` leaves files out of any choice.
  std::vector<std::string> include, exclude;
  bool all = false;      // every file of the repository
  bool dry_run = false;  // only list what would be downloaded

  std::string endpoint;              // URL of the hub; "" HF_ENDPOINT, else https://huggingface.co
  std::filesystem::path token_file;  // empty: HF_TOKEN, HUGGING_FACE_HUB_TOKEN, HF_TOKEN_PATH, ~/.cache/huggingface/token
  std::filesystem::path cache_dir;   // empty: pull_cache()
  int connections = 8;               // at the same time

  OnProgress progress;                           // phase "download", in bytes
  std::function<void(const std::string&)> warn;  // told, in one line each, of attempts that failed and are repeated
  const std::atomic<bool>* cancel = nullptr;     // set from any thread: ends with Canceled; the next pull resumes
};

struct PulledFile {
  std::string path;  // in the repository
  int64_t bytes = 0;
  std::string sha256;    // of large files; "" where the hub tells none
  bool present = false;  // it was there before this pull
};

struct PullResult {
  std::string model;           // ORG/NAME or ORG/NAME@REVISION: what opens it
  std::string commit;          // of the repository
  std::filesystem::path path;  // the model's folder
  std::vector<PulledFile> files;
  int64_t bytes = 0, downloaded = 0;  // of all files; of those that were not present
};

// Files appear in the model's folder when all of them are complete and their checksums are right. UsageError for a request that makes no
// sense and a repository with several models of which none is named; IoError for what hub, network or disk refuse; Canceled.
PullResult pull(const PullRequest& request);

// $HEARTH_HOME, else $XDG_CACHE_HOME/hearth, else ~/.cache/hearth.
std::filesystem::path pull_cache();

// Where a pulled model is: its folder, or its file when one was named or is the only one. Nothing when it was not pulled, or not to its
// end. UsageError when the text is no such name, and when FILE matches several files. `cache_dir`: empty: pull_cache().
std::optional<std::filesystem::path> find_pulled(const std::string& model, const std::filesystem::path& cache_dir = {});

}  // namespace hearth
