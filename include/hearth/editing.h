// Runs that start from an image: image-to-image, inpainting, outpainting, instruction editing.
#pragma once

#include <array>
#include <functional>

#include "hearth/choices.h"
#include "hearth/image.h"

namespace hearth {

struct Editing {
  // The image to start from. Unless the request sets a size, the run has its size, rounded down to a multiple of the VAE's factor.
  std::optional<Image> image;
  ResizeMode resize = ResizeMode::stretch;
  // Part of the schedule that is executed, 0 … 1; 0 returns the image after VAE encode and decode. Default: 0.8; 1 with a mask; 0.3 for a
  // refiner alone; with compat = "diffusers" the default of the model's pipeline: 0.3 for Stable Diffusion XL and its refiner, 0.9999 with
  // a mask. Not supported by instruction editing models, which start from noise.
  std::optional<double> strength;

  // White is regenerated, black stays bit-identical, gray blends. Must have the image's size.
  std::optional<Image> mask;
  bool mask_from_alpha = false;  // use the image's transparency as the mask
  bool mask_invert = false;
  double mask_blur = 0;               // standard deviation in pixels
  std::optional<InpaintFill> fill;    // default: the image; a fill from the surrounding colors with `outpaint`
  bool only_masked = false;           // run on the masked region alone and paste it back into the image
  int64_t mask_padding = 32;          // pixels of context around that region
  std::array<int64_t, 4> outpaint{};  // pixels to add on the left, top, right and bottom, and generate
  // Image guidance scale, at least 1: how closely the result follows the image. For instruction editing models only. Default: 1.5.
  std::optional<double> image_guidance;

  // Depth map, required by depth-to-image models, with or without an image: gray, nearer is lighter. It may have any size (it is stretched
  // over the image) and any range (its darkest value is the farthest, its lightest the nearest). Uses 16 bits if it has them.
  std::optional<Image> depth_map;

  // Control image, required by models that follow one (edges, depth), with or without an image. It may have any size: it is stretched over
  // the image.
  std::optional<Image> control_image;

  std::string image_name, mask_name, depth_map_name, control_image_name;  // for metadata
};

// An image that the model looks at besides the prompt, for models that do: an image to edit, or an image prompt.
struct Reference {
  Image image;       // any size
  std::string name;  // for metadata
};

// A second pass: upscales the first pass's result before VAE decode and denoises it again. A1111's "hires. fix".
struct Hires {
  double scale = 2;  // 1 … 64; sides are rounded down to a multiple of the VAE's factor
  // "latent" (bilinear), "latent-antialiased", "latent-bicubic", "latent-bicubic-antialiased", "latent-nearest", "latent-nearest-exact";
  // or, on the decoded image, "nearest", "bilinear", "bicubic", "lanczos".
  std::string upscaler = "latent";
  int64_t steps = 0;      // 0: as many as in the first pass; always executed in full, whatever the strength
  double strength = 0.7;  // 0 … 1: the share of a longer schedule that these steps form
};

// Previews during sampling, decoded by OpenOptions::preview_decoder or else approximated: the color of a latent pixel is a linear function
// of its values, fitted to the checkpoint's VAE before the run. In batch order; a sampler that runs image by image shows one image.
struct Preview {
  int64_t every = 1;                                                                        // in steps; the last step is always shown
  std::function<void(const std::vector<Image>& images, int64_t step, int64_t steps)> show;  // none: no preview
};

// Interpolates the initial noise towards that of another seed by `strength` (0 … 1). All images of a batch then share the seed; image k
// uses the variation seed + k.
struct Variation {
  std::optional<uint64_t> seed;  // default: random, reported
  double strength = 0;
};

}  // namespace hearth
