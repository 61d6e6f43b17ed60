// Selects the files of a repository to pull.
#pragma once

#include <functional>

#include "hub/listing.h"

namespace hearth::hub {

struct Choice {
  std::string file;                           // as in match_file(); if not empty, only its matches are selected
  std::string variant;                        // of weights: "fp16"
  std::vector<std::string> include, exclude;  // globs in which * also matches /
  bool all = false;
};

// Without file, include and all, selects what hearth reads: for a diffusers folder the components in model_index.json, each with one set of
// weights; for a folder with config.json its configurations, its tokenizer and one set of weights; else the only GGUF file or the only
// single-file checkpoint. Prefers safetensors to pickles; a component without the variant is selected in full precision. `model_index`
// downloads that file's text. UsageError, starting with `model`, if nothing is selected, and if the repository has several models and no
// file is given.
std::vector<RemoteFile> select_files(const Listing& listing, const Choice& choice, const std::string& model,
                                     const std::function<std::string()>& model_index);

}  // namespace hearth::hub
