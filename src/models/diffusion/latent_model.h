// The interface of a family of latent diffusion models (Rombach et al. 2022, arXiv 2112.10752) to the run that they share: components,
// conditioning of prompts, calls of the network, capabilities. It holds configurations, no weights.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/diffusion/autoencoder.h"
#include "models/diffusion/conditioning.h"
#include "models/diffusion/control.h"
#include "models/diffusion/image_prompts.h"
#include "models/diffusion/networks.h"
#include "models/image_model.h"
#include "models/option.h"
#include "sampling/compat/compat.h"

namespace hearth::models::diffusion {

// Inputs of a denoiser in addition to the latents, as further channels.
enum class Beside {
  nothing,
  mask_and_image,  // 1 + C channels: the mask, and the image with the masked part gray
  image,           // C channels: the image, for instruction editing
  depth,           // 1 channel: the depth map
  control,         // C channels: the control image
  image_and_mask,  // C + f² channels: the image with the masked part gray, and the mask's f × f pixels of each latent pixel, row by row
};

// What the requested guidance scale is to the network.
enum class ScaleUse {
  factor,  // of the difference between its predictions under the two prompts
  input,   // an input: it is called once
  none,    // distilled without an input for it
};

// What a model does with reference images, which it looks at besides the prompt.
enum class ReferenceImages {
  none,       // it does not look at any
  as_prompt,  // image encoders add them to the prompt's conditioning: LatentModel::with_references
  as_latents  // the denoiser receives their latents: Call::references
};

// Default strengths of runs that start from an image.
struct Strengths {
  double image = 0.8, mask = 1;
};

// Properties of a model, known once its configurations are read.
struct Facts {
  std::string_view family;
  std::span<const Option> options;  // the family's own
  CodecConfig codec;
  sampling::SchedulerConfig scheduler;           // as changed by the reference pipeline on loading
  std::optional<std::array<int64_t, 2>> native;  // [height, width] in pixels
  std::vector<std::string> notes;                // ignored or changed parts of the checkpoint, one line each

  int64_t patch = 1;                 // latent pixels that the denoiser reads as one, each way
  std::optional<int64_t> most_side;  // in pixels, if the denoiser cannot work on larger images
  // The size in which a run from noise alone makes images, [height, width] in pixels, given the requested one. Absent, or if the family's
  // option `without_size_of_run` is given: the requested size.
  std::array<int64_t, 2> (*size_of_run)(int64_t height, int64_t width) = nullptr;
  std::string_view without_size_of_run = {};
  bool resizes_to_request = false;  // such images are resized and cropped to the requested size
  bool rounds_calls_up = false;     // a run from an image executes ⌈strength·n⌉ steps, not ⌊strength·n⌋: sampling::part_of_run

  Beside beside = Beside::nothing;
  ReferenceImages reference_images = ReferenceImages::none;
  // [height, width] in pixels in which a reference image of this size is encoded; absent: its own, rounded down to multiples of
  // side_unit().
  std::array<int64_t, 2> (*size_of_reference)(int64_t height, int64_t width) = nullptr;
  bool has_size_of_reference = false;   // that of the last reference image is the default size of the run
  bool image_beside_is_scaled = false;  // the input image is scaled like the latents
  ScaleUse scale_use = ScaleUse::factor;
  int64_t steps = 50;     // default number
  double guidance = 7.5;  // default scale
  // The reference's pipeline adds scale · (prompt − negative) to the prediction under the prompt: a scale s is s + 1 of classifier-free
  // guidance, and 0 is off. In ComfyUI and A1111's descendants the scale of these models is that of others.
  bool guidance_is_beyond_prompt = false;
  // Classifier-free guidance is off without a negative prompt, which may be empty, as in the reference's pipeline; not in ComfyUI and
  // A1111's descendants.
  bool guidance_needs_negative = false;
  // The reference's method of guidance, and its options where they differ from the method's own; ComfyUI and A1111's descendants use `cfg`.
  std::string_view guidance_method = "cfg";
  std::span<const std::pair<std::string_view, std::string_view>> guidance_options = {};
  // Of a model whose latents are not those of the images: a second one makes those from them (LatentModel::second). `codec` has the
  // images' latents, `size` gives [h, w] of its own for an image of height × width pixels.
  struct OwnLatents {
    int64_t channels = 0;
    std::array<int64_t, 2> (*size)(int64_t height, int64_t width) = nullptr;
  };
  std::optional<OwnLatents> own_latents = {};
  // The family's options with the number of steps and the guidance scale of a second model.
  std::string_view steps_option = {}, guidance_option = {};
  // The family's option with the scale of classifier-free guidance of a network that receives the requested scale as input, or none.
  // Empty: it has no classifier-free guidance.
  std::string_view true_guidance = {};
  Strengths strengths = {}, reference_strengths = {};  // the second: of the reference's pipelines, for compat = diffusers
  // A1111's names of published step tables that select other tables for this family: {"ays", "ays_sdxl"}.
  std::span<const std::pair<std::string_view, std::string_view>> step_tables = {};
  // With a shift by size: µ of an image of this many tokens in this many steps; absent: of the scheduler's line.
  double (*mu)(double tokens, int64_t steps) = nullptr;
  std::optional<sampling::FlowTable> flow_in_a1111 = {};  // of a flow network in A1111's descendants: sampling::own_schedule

  int64_t side_unit() const { return codec.factor * patch; }  // sides of images are multiples of it, in pixels
};

// Parsed prompts: everything that does not need the text encoders' weights.
class ReadPrompts {
 public:
  virtual ~ReadPrompts() = default;
  virtual bool has_negative() const = 0;
  virtual std::vector<std::string> unused() const { return {}; }  // components that encode() does not use
  // First the prompt, then the negative prompt if there is one.
  virtual std::vector<EncodedPrompt> encode(const Loaded& networks, Backend& host) const = 0;
};

// One denoiser call.
struct Call {
  const Conditioning& given;
  Tensor beside = {};                            // [n, h, w, K]: Facts::beside; undefined if there is none
  Tensor before = {};                            // [n, h, w, C]: for a second model, the first one's latents; zeros for the negative prompt
  std::span<const Tensor> references = {};       // ReferenceImages::as_latents: [1, h, w, C] of each, the same for all images
  const sampling::Guidance* guidance = nullptr;  // whose perturbation applies to the last `perturbed` of the n images
  int64_t perturbed = 0;
  double embedded_guidance = 1;  // the scale that the network receives, if it has an input for it
  std::span<const ActiveImagePrompt> image_prompts = {};
  const TensorLists* control = nullptr;  // what control networks add; names of LatentModel::control_for's; null: nothing
};

class LatentModel {
 public:
  virtual ~LatentModel() = default;

  const Facts& facts() const { return facts_; }
  const std::vector<ComponentSpec>& components() const { return components_.specs; }
  const Codec& codec(const Loaded& networks) const { return networks[codec_]; }

  // UnsupportedError for guidance that the network does not support.
  virtual void check_guidance(const sampling::Guidance& guidance) const = 0;
  // Parses the request's prompts; the negative prompt too if `use_negative` is set or the prompt is composed. `resolved` has size, guidance
  // and steps, and receives chunks, embeddings, options and warnings. Errors of the prompt parsers.
  virtual std::unique_ptr<ReadPrompts> read_prompts(const ImageTask& task, bool use_negative, Backend& host,
                                                    ResolvedImage& resolved) const = 0;
  // The prompt's conditionings with the task's reference images, for ReferenceImages::as_prompt; its image encoders are loaded.
  virtual EncodedPrompt with_references(const Loaded& networks, const ImageTask& task, EncodedPrompt prompt, Backend& host) const;
  // x [n, h, w, C] at a timestep of the training scale → the network's prediction, as x.
  virtual Tensor denoise(const Loaded& networks, const Tensor& x, float timestep, const Call& call) const = 0;
  // A control network of a file, for this model. UnsupportedError if the family has none; WeightError if it is for another model.
  // `denoiser`: this model's tensors, from which a file that holds differences only is completed.
  virtual std::shared_ptr<const ControlModel> control_for(GivenComponent& given, const std::shared_ptr<TensorSource>& denoiser) const;
  // The adapter of an image prompt, for this model. Errors as control_for(); UsageError if the model lacks an image encoder.
  virtual std::shared_ptr<const ImagePromptModel> image_prompt_for(const GivenComponent& given,
                                                                   const std::shared_ptr<TensorSource>& denoiser) const;
  // UsageError or WeightError unless `refiner`, a second checkpoint, can execute the last steps of this model's runs.
  virtual void require_refiner(const LatentModel& refiner, const std::string& where) const;
  // A model of the same checkpoint that makes the images' latents, from noise and in steps of its own, from those of this one. It has the
  // same conditionings. nullptr if this model makes them itself.
  virtual std::unique_ptr<const LatentModel> second() const { return nullptr; }
  virtual const AutoencoderConfig* autoencoder() const { return nullptr; }  // the codec's, if it is one

 protected:
  Facts facts_;
  ComponentList components_;
  Slot<Codec> codec_;
};

}  // namespace hearth::models::diffusion
