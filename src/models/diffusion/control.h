// Networks that steer a run by images (ControlNets, T2I-Adapters), as a run uses them. A family says how its own are built and called.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "media/pixels.h"
#include "models/diffusion/codec.h"
#include "models/diffusion/conditioning.h"
#include "models/diffusion/networks.h"
#include "sampling/compat/compat.h"

namespace hearth::models::diffusion {

// Lists of tensors by name. Control networks and the denoiser that they are for agree on the names.
using TensorLists = std::map<std::string, std::vector<Tensor>, std::less<>>;

// What a control network sees of an image.
enum class ControlSight {
  pixels,
  latents,         // of the model's autoencoder
  masked_latents,  // of the image without what a mask covers, and the mask
};

// An image that a control network sees.
struct ControlInput {
  Tensor image;       // [1, H, W, 3], red green blue in 0 … 1, of the run's size
  Tensor latents;     // of a network that sees latents: raw ones (parts::RawLatents), [1 or B, h, w, C]
  Tensor mask;        // [1, h, w, 1], 1: covered
  Tensor to_fill;     // of a network that fills, in a run that does: as Beside::mask_and_image, [B, h, w, 1 + C], scaled for the denoiser
  std::string mode;   // of a network for several kinds of images
  double weight = 1;  // among several images of one network
};

// A call of a control network, as one of the denoiser.
struct ControlCall {
  const Tensor& x;  // [n, h, w, C], the latents that the denoiser receives
  float timestep = 0;
  const Conditioning& given;  // of n images
  double embedded_guidance = 1;
};

// What a control network adds to one call of the denoiser: each tensor times its factor.
struct ControlOutput {
  TensorLists tensors;
  std::map<std::string, std::vector<float>, std::less<>> factors;  // one for each tensor
};

// The settings of a control network in a run.
struct ControlSettings {
  double scale = 1, start = 0, end = 1;
  bool guess = false;

  friend auto operator<=>(const ControlSettings&, const ControlSettings&) = default;
};

// A control network that fits a model. It holds configurations, no weights.
class ControlModel {
 public:
  virtual ~ControlModel() = default;
  virtual std::string class_name() const = 0;  // "ControlNetModel"
  // The network from its weights.
  virtual std::shared_ptr<const void> build(const Scope& w) const = 0;
  // UsageError for settings or a mode that the network does not have.
  virtual void check(const ControlSettings& settings, const std::string& mode) const = 0;
  // UsageError if the network cannot see images of this size.
  virtual void check_size(int64_t /*width*/, int64_t /*height*/) const {}
  // Whether the network accepts several images, which it sees together.
  virtual bool fuses() const { return false; }
  virtual ControlSight sight() const { return ControlSight::pixels; }
  // Whether it also sees the image that a run starts from, and its mask. A run that has both is then like one of an inpainting model.
  virtual bool fills() const { return false; }
  // Pixels in 0 … 1 → as the autoencoder receives them, for a network that sees latents.
  virtual std::vector<float> for_autoencoder(std::vector<float> pixels, const std::string& mode) const;
  // Whether its latents are drawn from the run's generators, ahead of all other draws. If not, they are the posterior's mode.
  virtual bool draws() const { return false; }
  // Whether it acts only on the images under the prompt, not on those under the negative prompt.
  virtual bool spares_negative(const ControlSettings& settings) const { return settings.guess; }
  // Whether what it adds under the prompt is also added under the negative prompt, which it does not see.
  virtual bool sees_prompt_only() const { return false; }
  // Whether it acts at call i of n, in step j of m.
  virtual bool acts(const ControlSettings& settings, int64_t call, int64_t calls, int64_t step, int64_t steps) const;

  // What depends on the images alone: computed once for a run. `network`: what build() returned, loaded.
  virtual TensorLists prepare(const void* network, std::span<const ControlInput> images) const = 0;
  // `prepared`: of one image, or of B, if n is a multiple of B and the batch repeats them.
  virtual ControlOutput operator()(const void* network, const TensorLists& prepared, const ControlSettings& settings,
                                   const ControlCall& call) const = 0;
};

// A control network of a run with its images.
struct RunControl {
  size_t member = 0;  // of its component among the networks (Networks::add_control)
  std::shared_ptr<const ControlModel> model;
  ControlSettings settings;
  struct Image {
    Pixels pixels;   // of any size
    PixelMask mask;  // of any size; 0 × 0: none
    std::string mode;
    double weight = 1;
  };
  std::vector<Image> images;
  std::string file;      // for messages and reports
  size_t requested = 0;  // its place in the request
};

// Puts them into an order that does not depend on that of the request, so that sums do not, and combines images of one network that fuses
// them. Those with the scale 0 are left out.
std::vector<RunControl> in_fixed_order(std::vector<RunControl> controls);

// How many of them draw latents from the run's generators.
int64_t draws_of(std::span<const RunControl> controls);

// What the networks that see latents see of their images: raw latents [1 or B, h, w, C] on the host, undefined for the other networks.
// `latents`: [B, h, w, C] of the run. The draws are numbered in the order of `controls`; with compat = diffusers in that of the request.
std::vector<Tensor> encode_controls(std::span<const RunControl> controls, sampling::Compat compat, const sampling::NoiseRequest& draws,
                                    const std::array<int64_t, 4>& latents, const HostedCodec& codec, Backend& host);

// The control networks of a run while it computes.
class ActiveControls {
 public:
  // Members: those of `controls`, which must be loaded. `encoded`: of encode_controls(). `to_fill`: EncodedImage::to_fill.
  ActiveControls(std::span<const RunControl> controls, std::span<const Tensor> encoded, const Tensor& to_fill, const Holding& networks,
                 std::array<int64_t, 2> height_and_width, int64_t latent_factor, Backend& host, Backend& device);

  // The same for images begin to end − 1 of the run's batch.
  ActiveControls slice(int64_t begin, int64_t end) const;

  struct Moment {
    int64_t call = 0, calls = 0;  // denoiser calls; calls 0: not known, so that steps count
    int64_t step = 0, steps = 1;
  };
  // What all of them together add to a call whose first `negative` images are under the negative prompt. `prompt`: the conditioning of one
  // image under the prompt. Empty if none acts.
  TensorLists operator()(const Moment& moment, const ControlCall& call, int64_t negative, const Conditioning& prompt) const;

 private:
  std::span<const RunControl> controls_;
  std::vector<const void*> networks_;
  std::vector<TensorLists> prepared_;
};

}  // namespace hearth::models::diffusion
