// Networks that steer a run by an image: ControlNets, T2I-Adapters.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "hearth/image.h"

namespace hearth {

struct Control {
  std::filesystem::path path;  // a file or folder with the network
  Image image;                 // edges, depth, a pose …: whatever the network was trained on. It is stretched to the run's size
  std::string image_name;      // for metadata
  std::optional<Image> mask;   // of a network that fills parts of its image: white where it fills
  std::string mask_name;       // for metadata
  double scale = 1;            // of what the network adds; 0: the run is that without it, bit for bit
  double start = 0, end = 1;   // the part of the run in which it acts
  std::string mode;            // of a network for several kinds of images: openpose, depth, scribble, canny, normal, segment
  bool guess = false;          // guess mode: acts on the prompt's half of the guidance only, weaker in the outer layers
  std::string preprocess;      // makes the control image of `image`: see preprocess(). Empty: it is the control image
};

// "path=PATH,image=FILE" and, in any order, "mask=FILE", "scale=X", "start=F", "end=F", "mode=NAME", "guess=on", "preprocess=HOW",
// separated by commas. A path may contain commas. UsageError that names what is wrong; the errors of Image::load.
Control parse_control(const std::string& text);
// The text from which parse_control() makes it, without values that are the default.
std::string to_text(const Control& control);

}  // namespace hearth
