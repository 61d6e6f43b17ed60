// Converts an image's metadata to the command that generates the image again.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace hearth {

// An image among the arguments of a command.
struct InputImage {
  std::string flag, file;  // "--init-image"
  std::string sha256;      // of its pixels and size: pixels_sum()
};

// A file among the arguments, of an adapter.
struct InputFile {
  std::string flag, file;  // "--lora"
  std::string sha256;      // file_sum()
};

struct Rerun {
  std::string source;                         // "hearth", "A1111" or "ComfyUI": the program whose metadata was read
  std::vector<std::string> arguments;         // of `hearth generate`, without --model and --output
  std::string model;                          // the checkpoint's name in the metadata; may be empty
  std::map<std::string, std::string> hashes;  // component → SHA-256 of its weights, or its first digits
  std::vector<InputImage> images;             // in `arguments`, as far as their checksums are recorded
  std::vector<InputFile> files;               // in `arguments`
  std::vector<std::string> not_reproduced;    // metadata that `arguments` does not reproduce, one line each
};

// Exact for hearth's own metadata; for A1111's `parameters` and ComfyUI's graph (`prompt`) as far as they describe the run. IoError if the
// file is not an image; UsageError if it has no such metadata.
Rerun rerun_of(const std::filesystem::path& image);

// InputImage::sha256 of an image file. Errors of Image::load.
std::string pixels_sum(const std::filesystem::path& image);
// InputFile::sha256 of a file; of a folder, that of its adapter. IoError.
std::string file_sum(const std::filesystem::path& file);

}  // namespace hearth
