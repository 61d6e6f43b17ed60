// Runs that start from an image: image-to-image, inpainting, instruction editing (Brooks et al. 2023, arXiv 2211.09800:
// InstructPix2Pix), and generation with a depth map or a control image. After diffusers' pipelines for image-to-image, inpainting,
// InstructPix2Pix, depth, Fill and control, 0.39.0; differences of A1111 and ComfyUI are noted where they are implemented.
#pragma once

#include "models/diffusion/latent_model.h"
#include "sampling/compat/partial.h"

namespace hearth::models::diffusion {

// How a run starts and proceeds, as far as its request and schedule determine.
struct EditPlan {
  std::optional<double> strength;  // absent: the run does not use one
  bool from_noise = true;          // starts from noise alone, even if there is an image
  bool by_times = false;           // A1111's samplers with timesteps of their own: sampling::rest_by_times
  sampling::RunPart part;
  sampling::Start start;
  sampling::EncodingDraws encodings;
  bool keeps = false;          // the unmasked part is restored after, or in, each denoiser call
  bool control_fills = false;  // control networks see the image and the mask (ControlModel::fills)
};

// UsageError if request, image, mask and model cannot be combined. `width`, `height`: of the run. `control_fills`: it has
// control networks that fill.
EditPlan plan_edit(const Facts& model, const ImageTask& task, const sampling::Sampler& sampler, int64_t width, int64_t height,
                   bool control_fills);
// The part of `whole`, the schedule of plan.part.steps steps, that the run executes; fills in the plan's start.
sampling::Schedule begun_on_the_way(EditPlan& plan, const ImageTask& task, const sampling::Sampler& sampler,
                                    const sampling::Schedule& whole);

// The input image of a run, encoded, each tensor for the whole batch; undefined if not needed.
struct EncodedImage {
  Tensor z;        // [B, h, w, C]
  Tensor noise;    // [B, h, w, C]: the run's initial noise
  Tensor mask;     // [B, h, w, 1], 1: regenerated
  Tensor beside;   // [B, h, w, n]: additional input channels of the network
  Tensor to_fill;  // [B, h, w, 1 + C]: Beside::mask_and_image for control networks

  EncodedImage slice(int64_t begin, int64_t end) const;  // of the batch
};
// `latents`: [B, h, w, C] of the run, as ResolvedImage::latents. Leaves `noise` undefined.
EncodedImage encode_image(const Facts& model, const ImageTask& task, const EditPlan& plan, const sampling::NoiseRequest& draws,
                          const std::array<int64_t, 4>& latents, const HostedCodec& codec, Backend& host);

// The depth map on the grid of the latents, resized like torch's bicubic interpolation, from −1 (farthest) to 1 (nearest): [1, h, w, 1].
// UsageError if all depths are equal.
Tensor depth_channel(const DepthMap& depth, int64_t height, int64_t width, Backend& host);

// The mask's f × f pixels of each latent pixel: [1, h, w, f²], row by row. They are 0 or 1 (from 128 on), in ComfyUI 0 … 1.
Tensor mask_pixels(const PixelMask& mask, sampling::Compat compat, int64_t height, int64_t width, Backend& host);

// The mask on the grid of the latents, as the program of `compat` computes it: [1, h, w, 1].
//   hearth, diffusers   0 or 1 (from 128 on), of every f-th pixel
//   a1111               resized by Pillow, bicubic, then 0 or 1
//   comfyui             0 … 1, bilinear
Tensor latent_mask(const PixelMask& mask, sampling::Compat compat, int64_t height, int64_t width, Backend& host);

}  // namespace hearth::models::diffusion
