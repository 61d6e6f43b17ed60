// Pulls models from a hub: download once, then open by name.
//
//   hearth::pull({.model = "org/name"});
//   hearth::Model model = hearth::Model::open("org/name");
//
// Wherever a path to a model is expected, ORG/NAME, ORG/NAME@REVISION and ORG/NAME:FILE refer to a pulled model, unless a file or folder of
// that name exists.
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
  // (q4_k_m). Without FILE, pull() selects the files that hearth reads: one set of weights, safetensors if available.
  std::string model;
  std::string revision;  // a branch, tag or commit; "": the one in `model`, else main
  std::string variant;   // of the weights: "fp16" selects *.fp16.safetensors
  // Globs in which * also matches /. `include` selects exactly the files that match one of them; `exclude` removes files from any
  // selection.
  std::vector<std::string> include, exclude;
  bool all = false;      // every file of the repository
  bool dry_run = false;  // list what would be downloaded, without downloading

  std::string endpoint;              // URL of the hub; "": HF_ENDPOINT, else https://huggingface.co
  std::filesystem::path token_file;  // empty: HF_TOKEN, HUGGING_FACE_HUB_TOKEN, HF_TOKEN_PATH, ~/.cache/huggingface/token
  std::filesystem::path cache_dir;   // empty: pull_cache()
  int connections = 8;               // parallel connections

  OnProgress progress;                           // phase "download", in bytes
  std::function<void(const std::string&)> warn;  // receives a one-line warning for each failed attempt that is retried
  const std::atomic<bool>* cancel = nullptr;     // set from any thread: ends with Canceled; the next pull resumes
};

struct PulledFile {
  std::string path;  // in the repository
  int64_t bytes = 0;
  std::string sha256;    // of large files; "" if the hub reports none
  bool present = false;  // it existed before this pull
};

struct PullResult {
  std::string model;           // ORG/NAME or ORG/NAME@REVISION, as Model::open accepts it
  std::string commit;          // of the repository
  std::filesystem::path path;  // the model's folder
  std::vector<PulledFile> files;
  int64_t bytes = 0, downloaded = 0;  // of all files; of those that were not present
};

// Files appear in the model's folder only when all of them are complete and their checksums match. UsageError for an invalid request, and
// if the repository has several models and the request names none; IoError for failures of the hub, network or disk; Canceled.
PullResult pull(const PullRequest& request);

// $HEARTH_HOME, else $XDG_CACHE_HOME/hearth, else ~/.cache/hearth.
std::filesystem::path pull_cache();

// Path of a pulled model: its folder, or its file if FILE was given or it is the only one. nullopt if the model was not pulled completely.
// UsageError if `model` is not a valid name or FILE matches several files. `cache_dir`: empty: pull_cache().
std::optional<std::filesystem::path> find_pulled(const std::string& model, const std::filesystem::path& cache_dir = {});

}  // namespace hearth
