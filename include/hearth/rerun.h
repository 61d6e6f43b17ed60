// How an image was made, from what it says of itself, as a command that makes it again.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace hearth {

struct Rerun {
  std::string source;                         // "hearth", "A1111" or "ComfyUI": whose words were read
  std::vector<std::string> arguments;         // of `hearth generate`, without --model and --output
  std::string model;                          // what the image calls its checkpoint; may be empty
  std::map<std::string, std::string> hashes;  // component → SHA-256 of its weights, or the digits of it that are told
  std::map<std::string, std::string> images;  // flags of `arguments` that name a file → SHA-256 of its pixels and size, where that is told
  std::vector<std::string> not_honored;       // one line each: what is said and cannot be, or is not, asked for again
};

// From our own words exactly; from A1111's `parameters` and ComfyUI's graph (`prompt`) as far as they tell. IoError where the file is no
// image; UsageError where it does not say how it was made.
Rerun rerun_of(const std::filesystem::path& image);

// The sum in Rerun::images for an image's file. Errors of Image::load.
std::string pixels_sum(const std::filesystem::path& image);

}  // namespace hearth
