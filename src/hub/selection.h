// Which of a repository's files a pull takes.
#pragma once

#include <functional>

#include "hub/listing.h"

namespace hearth::hub {

struct Choice {
  std::string file;                           // as match_file() reads it; nothing else is taken then
  std::string variant;                        // of weights: "fp16"
  std::vector<std::string> include, exclude;  // globs, in which * matches / too
  bool all = false;
};

// Without file, include and all: what hearth reads. Of a diffusers folder the components that model_index.json names, each with one set
// of weights; of a folder with config.json its configurations, its tokenizer and one set of weights; else the only GGUF file, or the only
// single-file checkpoint. Weights are safetensors where there are any, else pickles; a component without the variant comes in full
// precision. `model_index` fetches that file's text. UsageError, which begins with `model`, where the choice takes nothing, and where a
// repository holds several models and no file is named.
std::vector<RemoteFile> select_files(const Listing& listing, const Choice& choice, const std::string& model,
                                     const std::function<std::string()>& model_index);

}  // namespace hearth::hub
