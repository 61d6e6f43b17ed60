// Images as prompts (IP-Adapter), as a run uses them. A family says how its own are built, and what its denoiser makes of them.
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

// The tokens of an image, [1, T, W]: under the prompt, and under the negative prompt.
struct ImageTokens {
  Tensor prompt, negative;
};

// What an adapter sees.
struct ImagePromptInput {
  Pixels image;             // of any size; 0 × 0: none
  std::vector<float> face;  // the vector of a face; empty: none
  bool shortcut = false;    // the face's own tokens are added to those that it makes with the image
};

// An adapter that fits a model. It holds configurations, no weights.
class ImagePromptModel {
 public:
  virtual ~ImagePromptModel() = default;
  virtual std::string class_name() const = 0;  // "IPAdapter"
  // The network from its weights.
  virtual std::shared_ptr<const void> build(const Scope& w) const = 0;
  // `network`: what build() returned, loaded; `networks`: those of the model, its image encoder among them.
  virtual ImageTokens tokens(const void* network, const Loaded& networks, const ImagePromptInput& input, Backend& host) const = 0;
  // UsageError for an input that lacks what the adapter sees, or has more.
  virtual void check(const ImagePromptInput& input) const = 0;
  // Of an adapter whose file has a LoRA for the denoiser: its names of weights → the official ones.
  virtual std::map<std::string, std::string> changed_weights() const { return {}; }
};

// An image prompt of a run.
struct RunImagePrompt {
  size_t member = 0;  // of its adapter among the networks (Networks::add_control)
  std::shared_ptr<const ImagePromptModel> model;
  double scale = 1;
  ImagePromptInput input;
  Pixels mask;       // of any size; 0 × 0: the image acts everywhere
  std::string file;  // for messages and reports
};

// What the denoiser needs of an image prompt besides its tokens, which are in the conditionings.
struct ActiveImagePrompt {
  const void* network = nullptr;  // the adapter
  double scale = 1;
  std::vector<float> mask = {};  // [height, width] of the run's size, in 0 … 1; empty: everywhere
};

// Puts them into an order that does not depend on that of the request, so that sums do not. Those with the scale 0 are left out.
std::vector<RunImagePrompt> in_fixed_order(std::vector<RunImagePrompt> prompts);

// Name of an image prompt's tokens in Conditioning.
std::string tokens_name(size_t number);

// Adds the tokens of all image prompts to the conditionings of the prompt and, if there is one, the negative prompt.
void add_tokens(std::span<const RunImagePrompt> prompts, const Holding& networks, Backend& host, Backend& denoiser_device,
                std::vector<EncodedPrompt>& of_prompts);
std::vector<ActiveImagePrompt> active(std::span<const RunImagePrompt> prompts, const Holding& networks, int64_t width, int64_t height);

}  // namespace hearth::models::diffusion
