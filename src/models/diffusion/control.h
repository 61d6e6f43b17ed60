// Networks that steer a run by images (ControlNets, T2I-Adapters), as a run uses them. A family says how its own are built and called.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "media/pixels.h"
#include "models/diffusion/conditioning.h"
#include "models/diffusion/networks.h"

namespace hearth::models::diffusion {

// Lists of tensors by name. Control networks and the denoiser that they are for agree on the names.
using TensorLists = std::map<std::string, std::vector<Tensor>, std::less<>>;

// An image that a control network sees.
struct ControlInput {
  Tensor image;       // [1, H, W, 3], red green blue in 0 … 1, of the run's size
  std::string mode;   // of a network for several kinds of images
  double weight = 1;  // among several images of one network
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
  // Whether it acts only on the images under the prompt, not on those under the negative prompt.
  virtual bool spares_negative(const ControlSettings& settings) const { return settings.guess; }
  // Whether it acts at call i of n, in step j of m.
  virtual bool acts(const ControlSettings& settings, int64_t call, int64_t calls, int64_t step, int64_t steps) const;

  // What depends on the images alone: computed once for a run. `network`: what build() returned, loaded.
  virtual TensorLists prepare(const void* network, std::span<const ControlInput> images) const = 0;
  // x [n, h, w, C], the latents that the denoiser receives. `images`: how many of them prepare() received.
  virtual ControlOutput operator()(const void* network, const TensorLists& prepared, const ControlSettings& settings, const Tensor& x,
                                   float timestep, const Conditioning& given) const = 0;
};

// A control network of a run with its images.
struct RunControl {
  size_t member = 0;  // of its component among the networks (Networks::add_control)
  std::shared_ptr<const ControlModel> model;
  ControlSettings settings;
  struct Image {
    Pixels pixels;  // of any size
    std::string mode;
    double weight = 1;
  };
  std::vector<Image> images;
  std::string file;  // for messages and reports
};

// Puts them into an order that does not depend on that of the request, so that sums do not, and combines images of one network that fuses
// them. Those with the scale 0 are left out.
std::vector<RunControl> in_fixed_order(std::vector<RunControl> controls);

// The control networks of a run while it computes.
class ActiveControls {
 public:
  // Members: those of `controls`, which must be loaded. `size`: of the images, in pixels.
  ActiveControls(std::span<const RunControl> controls, const Holding& networks, std::array<int64_t, 2> height_and_width, Backend& host,
                 Backend& device);

  struct Moment {
    int64_t call = 0, calls = 0;  // denoiser calls; calls 0: not known, so that steps count
    int64_t step = 0, steps = 1;
  };
  // What all of them together add to a call whose first `negative` images are under the negative prompt. Empty if none acts.
  TensorLists operator()(const Moment& moment, const Tensor& x, float timestep, const Conditioning& given, int64_t negative) const;

 private:
  std::span<const RunControl> controls_;
  std::vector<const void*> networks_;
  std::vector<TensorLists> prepared_;
};

}  // namespace hearth::models::diffusion
