// Images as prompts, by adapters of a model (IP-Adapter).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "hearth/image.h"

namespace hearth {

struct ImagePrompt {
  std::filesystem::path path;  // the adapter's file. The model must have been opened with an image encoder
  Image image;                 // of any size
  std::string image_name;      // for metadata
  double scale = 1;            // how strongly the image acts; 0: the run is that without it, bit for bit
  std::optional<Image> mask;   // where it acts: white; stretched to the run's size. Absent: everywhere
  std::string mask_name;       // for metadata
};

// "path=PATH,image=FILE" and, in any order, "scale=X" and "mask=FILE", separated by commas. A path may contain commas. UsageError that
// names what is wrong; the errors of Image::load.
ImagePrompt parse_image_prompt(const std::string& text);
// The text from which parse_image_prompt() makes it, without values that are the default.
std::string to_text(const ImagePrompt& prompt);

}  // namespace hearth
