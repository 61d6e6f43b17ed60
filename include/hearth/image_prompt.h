// Images as prompts, by adapters of a model (IP-Adapter).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hearth/image.h"

namespace hearth {

struct ImagePrompt {
  std::filesystem::path path;  // the adapter's file. The model must have been opened with an image encoder if the adapter sees an image
  Image image;                 // of any size; 0 × 0: none, for an adapter that sees a face's vector only
  std::string image_name;      // for metadata
  double scale = 1;            // how strongly the image acts; 0: the run is that without it, bit for bit
  std::optional<Image> mask;   // where it acts: white; stretched to the run's size. Absent: everywhere
  std::string mask_name;       // for metadata
  std::vector<float> face;     // the vector of a face, for FaceID adapters; from a file: read_face()
  std::string face_name;       // for metadata
  bool shortcut = false;       // of FaceID Plus v2: the face's own tokens are added
};

// The vector in a file of NumPy (.npy) or with one tensor (.safetensors, .pt). IoError, WeightError.
std::vector<float> read_face(const std::filesystem::path& file);

// "path=PATH,image=FILE" or "path=PATH,faceid=FILE" and, in any order, "scale=X", "mask=FILE" and "shortcut=on", separated by commas. A
// path may contain commas. UsageError that names what is wrong; the errors of Image::load and read_face.
ImagePrompt parse_image_prompt(const std::string& text);
// The text from which parse_image_prompt() makes it, without values that are the default.
std::string to_text(const ImagePrompt& prompt);

}  // namespace hearth
