// Runs that begin with an image: image to image, painting into a part of it, editing as told (Brooks et al. 2023, arXiv 2211.09800:
// InstructPix2Pix), and under a map of depths. After diffusers' pipelines of image to image,
// inpainting, InstructPix2Pix and depth, 0.39.0; what A1111 and ComfyUI do otherwise
// stands where it is done.
#pragma once

#include "models/diffusion/latent_model.h"
#include "sampling/compat/partial.h"

namespace hearth::models::diffusion {

// How a run begins and goes on, as far as its request and schedule tell.
struct EditPlan {
  std::optional<double> strength;  // absent: the run does not depend on one
  bool from_noise = true;          // from noise alone, whatever image there is
  bool by_times = false;           // A1111's samplers that go by times: sampling::rest_by_times
  sampling::RunPart part;
  sampling::Start start;
  sampling::EncodingDraws encodings;
  bool keeps = false;  // what is not masked is put back after, or in, each call of the network
};

// UsageError where request, image, mask and model do not go together. `width`, `height`: of the run.
EditPlan plan_edit(const Facts& model, const ImageTask& task, const sampling::Sampler& sampler, int64_t width, int64_t height);
// The part of `whole`, the schedule of plan.part.steps steps, that the run takes; fills in the plan's start.
sampling::Schedule begun_on_the_way(EditPlan& plan, const ImageTask& task, const sampling::Sampler& sampler,
                                    const sampling::Schedule& whole);

// An image as the run works on it, each for all of the batch; undefined where it is not needed.
struct EncodedImage {
  Tensor z;       // [B, h, w, C]
  Tensor noise;   // [B, h, w, C]: the run's first
  Tensor mask;    // [B, h, w, 1], 1: painted
  Tensor beside;  // [B, h, w, n]: the network's further channels

  EncodedImage slice(int64_t begin, int64_t end) const;  // of the batch
};
// `latents`: [B, h, w, C] of the run, as ResolvedImage::latents. Leaves `noise` undefined.
EncodedImage encode_image(const Facts& model, const ImageTask& task, const EditPlan& plan, const sampling::NoiseRequest& draws,
                          const std::array<int64_t, 4>& latents, const Codec& codec, Backend& host);

// The depths on the grid of the latents, as torch's bicubic interpolation has them there, the farthest −1 and the nearest 1: [1, h, w, 1].
// UsageError where all are one.
Tensor depth_channel(const DepthMap& depth, int64_t height, int64_t width, Backend& host);

// The mask on the grid of the latents as the program of `compat` makes it: [1, h, w, 1].
//   hearth, diffusers   0 or 1 (from 128 on), of every f-th pixel
//   a1111               resized by Pillow, bicubic, then 0 or 1
//   comfyui             0 … 1, bilinear
Tensor latent_mask(const PixelMask& mask, sampling::Compat compat, int64_t height, int64_t width, Backend& host);

}  // namespace hearth::models::diffusion
