// What a family of latent diffusion models (Rombach et al. 2022, arXiv 2112.10752) tells the run that all of them share: its components,
// how prompts become conditionings, how the network is asked, and what it can do. It holds configurations, no weights.
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
#include "models/diffusion/networks.h"
#include "models/image_model.h"
#include "models/option.h"
#include "sampling/compat/scheduler_config.h"

namespace hearth::models::diffusion {

// What a denoiser takes beside the latents, along the channels of its input.
enum class Beside {
  nothing,
  mask_and_image,  // 1 + C channels: where to paint, and the image with that part gray
  image,           // C channels: the image; the network edits it as the prompt says
  depth,           // 1 channel: how near each point is
};

// How much of a run is done on an image where nobody says.
struct Strengths {
  double image = 0.8, mask = 1;
};

// What is known of a model once its configurations are read.
struct Facts {
  std::string_view family;
  std::span<const Option> options;  // the family's own
  CodecConfig codec;
  sampling::SchedulerConfig scheduler;           // as the reference pipeline changes it on loading
  std::optional<std::array<int64_t, 2>> native;  // [height, width] in pixels
  std::vector<std::string> notes;                // what was left aside or changed, one line each

  Beside beside = Beside::nothing;
  bool image_beside_is_scaled = false;                 // that image is on the latents' scale
  bool embeds_guidance = false;                        // the network is told the guidance scale instead of being asked twice
  Strengths strengths = {}, reference_strengths = {};  // the second as the reference's pipelines have them, with compat = diffusers
  // A1111's labels of published step tables that mean other tables with this family: {"ays", "ays_sdxl"}.
  std::span<const std::pair<std::string_view, std::string_view>> step_tables = {};
};

// Prompts as a model has read them: all is known but what its text encoders make of them.
class ReadPrompts {
 public:
  virtual ~ReadPrompts() = default;
  virtual bool has_negative() const = 0;
  // First the prompt, then the negative one where there is one.
  virtual std::vector<EncodedPrompt> encode(const Loaded& networks, Backend& host) const = 0;
};

// One call of the network.
struct Call {
  const Conditioning& given;
  Tensor beside = {};                            // [n, h, w, K]: Facts::beside; undefined where there is none
  const sampling::Guidance* guidance = nullptr;  // whose disturbance the last `disturbed` of the n get
  int64_t disturbed = 0;
};

class LatentModel {
 public:
  virtual ~LatentModel() = default;

  const Facts& facts() const { return facts_; }
  const std::vector<ComponentSpec>& components() const { return components_.specs; }
  const Codec& codec(const Loaded& networks) const { return networks[codec_]; }

  // UnsupportedError for guidance that the network cannot do.
  virtual void check_guidance(const sampling::Guidance& guidance) const = 0;
  // The request's prompts, under the negative one too where `ask_negative` says so or the prompt is composed. `resolved` has size, guidance
  // and steps, and gets what is found out about prompts: chunks, embeddings, options, warnings. Errors of the prompts' readers.
  virtual std::unique_ptr<ReadPrompts> read_prompts(const ImageTask& task, bool ask_negative, Backend& host,
                                                    ResolvedImage& resolved) const = 0;
  // x [n, h, w, C] at a timestep of the training scale → the network's answer, as x.
  virtual Tensor denoise(const Loaded& networks, const Tensor& x, float timestep, const Call& call) const = 0;
  // UsageError or WeightError unless `refiner`, a second checkpoint's, can do the last steps of this one's images.
  virtual void require_refiner(const LatentModel& refiner, const std::string& where) const;
  virtual const AutoencoderConfig* autoencoder() const { return nullptr; }  // the codec's, where it is one

 protected:
  Facts facts_;
  ComponentList components_;
  Slot<Codec> codec_;
};

}  // namespace hearth::models::diffusion
