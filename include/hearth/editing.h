// Runs that start from an image: image to image, painting into a part of it, outpainting, edits as told.
#pragma once

#include <array>
#include <functional>

#include "hearth/choices.h"
#include "hearth/image.h"

namespace hearth {

struct Editing {
  // The run has its size, rounded down to what the autoencoder takes, unless the request says another.
  std::optional<Image> image;
  ResizeMode resize = ResizeMode::stretch;
  // 0 … 1: how much of the run is done; 0 gives back what the autoencoder makes of the image. Default: 0.8, with a mask 1, of a refiner
  // alone 0.3; with compat = "diffusers" what the pipeline of the model has: of Stable Diffusion XL and its refiner 0.3, with a mask
  // 0.9999. Not for models that edit as they are told, which begin from noise.
  std::optional<double> strength;

  // White is painted anew, black stays as it is to the bit, gray is in between. Of the image's size.
  std::optional<Image> mask;
  bool mask_from_alpha = false;  // the mask is what is transparent of the image
  bool mask_invert = false;
  double mask_blur = 0;               // standard deviation in pixels
  std::optional<InpaintFill> fill;    // default: the image itself; the colors around it where the canvas is extended
  bool only_masked = false;           // the run is of the masked region alone, which is put back into the image
  int64_t mask_padding = 32;          // pixels around that region which the run sees
  std::array<int64_t, 4> outpaint{};  // pixels to add on the left, top, right and bottom, which are painted
  // Of models that edit as they are told, and of no others: how near they stay to the image; 1 and more. Default: 1.5.
  std::optional<double> image_guidance;

  // For models that are told how near things are, and needed by them, with an image or without: gray, the nearer the lighter, of any size
  // (it is stretched over the whole) and range (its darkest is the farthest, its lightest the nearest). 16 bits count where it has them.
  std::optional<Image> depth_map;

  std::string image_name, mask_name, depth_map_name;  // what metadata calls them
};

// A second pass at a larger size on what the first one made, before it is decoded: A1111's "hires. fix".
struct Hires {
  double scale = 2;  // 1 … 64; the sides are rounded down to what the autoencoder takes
  // "latent" (bilinear), "latent-antialiased", "latent-bicubic", "latent-bicubic-antialiased", "latent-nearest", "latent-nearest-exact";
  // or of the decoded image: "nearest", "bilinear", "bicubic", "lanczos".
  std::string upscaler = "latent";
  int64_t steps = 0;      // 0: as many as in the first pass; all of them are done, whatever the strength
  double strength = 0.7;  // 0 … 1: where in a longer schedule they begin
};

// The running image: by OpenOptions::preview_decoder, or as far as its latents tell, each of their pixels' color a linear function of
// its values, which is fitted to the checkpoint's autoencoder before the run. Batch order; of a sampler that draws image by image, one.
struct Preview {
  int64_t every = 1;                                                                        // steps; the last is always shown
  std::function<void(const std::vector<Image>& images, int64_t step, int64_t steps)> show;  // none: no preview
};

// The noise lies `strength` (0 … 1) of the way to that of another seed. All images of a batch then have one seed, and image k the
// variation seed + k.
struct Variation {
  std::optional<uint64_t> seed;  // default: a random one, reported
  double strength = 0;
};

}  // namespace hearth
