// The interface of image models, independent of their networks. src/api converts it to the public interface.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "adapters/coverage.h"
#include "core/backend.h"
#include "hearth/hearth.h"
#include "media/pixels.h"
#include "models/loading.h"
#include "sampling/compat/compat.h"
#include "sampling/guidance/guidance.h"
#include "sampling/sampler.h"
#include "text/prompt/prompt.h"

namespace hearth::models {

// A depth map of an image: larger is nearer, in any range.
struct DepthMap {
  int64_t width = 0, height = 0;  // any
  std::vector<float> values;      // [height, width]
};

// The image that a run starts from, and its mask.
struct ImageEdit {
  std::vector<Pixels> images;      // one, or one per image of the batch; of the request's size
  Tensor latents;                  // [B, h, w, C] on the host: replaces the image; may be undefined
  PixelMask mask;                  // of the request's size, 255: regenerated; 0 × 0: everything is
  std::optional<double> strength;  // 0 … 1, part of the schedule that is executed; absent: the family's default
  bool all_steps = false;          // executes all requested steps, of a longer schedule (sampling::Steps)
  enum class Fill { image, noise, nothing } fill = Fill::image;  // initial latents under the mask
  // For networks that take one; each covers the whole image, in any size, and needs no input image.
  std::optional<DepthMap> depth;
  std::optional<Pixels> control;
  bool starts() const { return latents || !images.empty(); }
  bool encodes() const { return starts() || control; }  // the run uses the encoder
};

// A control network of a run, and the image that it sees.
struct ControlTask {
  Control control;  // without its images
  Pixels image;     // of any size
  PixelMask mask;   // of any size; 0 × 0: none
};

// An image prompt of a run.
struct ImagePromptTask {
  ImagePrompt prompt;  // without its images
  Pixels image, mask;  // of any size; mask 0 × 0: everywhere
};

// The state from which a stopped run resumes. Tensors are [B, h, w, C] on the host. `guidance`: the running average of the guidance
// method; undefined if the method keeps none.
struct ResumePoint {
  sampling::State state;
  Tensor guidance;
};

// The task of a pass: the user's request, and its inputs converted for the models.
struct ImageTask {
  Request request;  // its size is that of the run
  uint64_t seed = 0, variation_seed = 0;
  ImageEdit edit;
  std::vector<Pixels> references;  // images that the model looks at, of any size
  std::vector<ControlTask> controls;
  std::vector<ImagePromptTask> image_prompts;
  Tensor noise;                  // [B, C, h, w] f32 on the host: replaces the initial noise; may be undefined
  int64_t steps_before = 0;      // of a first pass, for prompts that change (text::PromptReading)
  bool decode_if_ended = false;  // decodes if Request::finish ends it: no second pass follows
  bool one_of_two = false;       // one of two passes: it has the size that it asks for, whatever sizes the model prefers
  bool common_levels = false;    // uses sampling::common_schedule for any sampler; for comparing samplers
  std::shared_ptr<const ResumePoint> resume;
};

// A resolved request.
struct ResolvedImage {
  Request request;                                      // with every default filled in; without its arrays and images
  int64_t width = 0, height = 0, steps = 0, batch = 0;  // the size of the run
  std::optional<std::array<int64_t, 2>> resized_to;     // [width, height] of the images, if it is not that of the run
  std::string sampler, schedule;                        // canonical names
  std::optional<std::array<int64_t, 2>> first_pass;     // its [width, height], if there are two passes
  std::optional<double> strength;                       // of a run that starts from an image
  std::array<int64_t, 4> latents{};                     // [B, h, w, C] of the images
  std::array<int64_t, 4> noise{};     // the same of the initial noise: other ones if the images' have a network of their own
  sampling::Guidance guidance;        // classifier-free guidance, with all options filled in
  double embedded_guidance = 1;       // the scale that the network receives, if it has an input for it
  sampling::Options sampler_options;  // all that the sampler has
  int64_t network_calls = 0;          // denoiser calls; each takes 2·B images with guidance. 0: not known in advance
  // Of the run (with two passes, the second) if one model executes it: σ at each step's call and at the end, and the timesteps there.
  // Empty if not known in advance.
  std::vector<float> sigmas, timesteps;
  std::vector<std::string> warnings;  // one line each
  OptionValues options;               // those that were given, and defaults of the family
  std::optional<double> refiner_start;
  int64_t chunks = 1;  // of 75 tokens, of the longest prompt
  std::vector<text::EmbeddingName> embeddings;
  std::vector<adapters::Coverage> adapters;  // of each of the request's LoRAs
};

struct MemoryPlan {
  bool everything = true;               // all networks are in memory from the start; else each when it is needed
  bool release = false;                 // each is released as soon as its work is done
  std::optional<int64_t> tile;          // the autoencoder decodes in tiles with sides of this many latent pixels
  Residence resident;                   // components whose blocks do not all stay in memory while they work
  OnCard on_card = {};                  // where the run decides it (LoadRequest::card_memory)
  std::map<std::string, int64_t> held;  // bytes of each component's weights that stay in memory while it works
  std::string base_mode, mode;          // in words: "all networks stay in memory"; the second with the residence
  std::vector<std::string> warnings;

  int64_t process = 0;      // peak memory of the process, in bytes
  int64_t weights = 0;      // of it, held from the start
  int64_t activations = 0;  // largest number of other bytes during the run, without the threads' scratch of some MB each
  // The same of the cards of devices with two sides, which are not memory of the process; absent: there are none.
  struct Card {
    int64_t weights = 0, activations = 0;
    int64_t peak() const { return weights + activations; }
  };
  std::optional<Card> card = {};
};

struct ImageResult {
  std::vector<Tensor> images;                // [H, W, 3] in −1 … 1, not clamped; batch order; empty without decode
  std::shared_ptr<const ResumePoint> state;  // set if the run was stopped
  Tensor noise, latents;                     // [B, h, w, C]: standard normal, before scaling by sigma; as the last step returned them
  double load_seconds = 0, encode_seconds = 0, sample_seconds = 0, decode_seconds = 0;
  std::vector<double> step_seconds;       // one per step of the sampler
  std::vector<std::string> warnings;      // one line each
  int64_t ended_after = 0;                // the step after which Request::finish ended it; 0: none
  std::map<std::string, double> largest;  // component → largest absolute value of its output
};

// A request that is ready to run: resolved once, its memory planned.
class ImageJob {
 public:
  virtual ~ImageJob() = default;

  virtual const ResolvedImage& resolved() const = 0;
  // Resumes from a state. Must be called before plan().
  virtual void resume(std::shared_ptr<const ResumePoint> state) = 0;
  // The memory mode and what it takes, found by dry runs: the first mode that fits the limit. UsageError if none does.
  virtual const MemoryPlan& plan() = 0;
  // The control networks of the request.
  virtual std::vector<ComponentReport> controls() const = 0;
  // Runs as plan() says. Phases "load", "encode", "sample", "decode". NonFiniteError names component and step; Canceled.
  virtual ImageResult run(const OnProgress& progress) = 0;
};

// Thread-safe: concurrent runs of one model give the same results as consecutive ones.
class ImageModel {
 public:
  virtual ~ImageModel() = default;

  virtual std::string family() const = 0;
  virtual std::vector<ComponentReport> components() const = 0;
  virtual std::vector<std::string> notes() const = 0;  // ignored parts of the checkpoint, one line each
  virtual std::string scheduler() const = 0;           // the checkpoint's own, "PNDMScheduler"

  virtual int64_t factor() const = 0;     // pixels per latent pixel, each way
  virtual int64_t side_unit() const = 0;  // sides of images are multiples of it, in pixels
  virtual bool shows_previews() const = 0;
  virtual bool edits_references() const = 0;      // reference images are what the run edits
  virtual bool references_as_prompt() const = 0;  // they are part of the prompt

  // UsageError for an invalid size, step count, batch, sampler, schedule or option; nothing is computed.
  virtual std::unique_ptr<ImageJob> prepare(const ImageTask& task) = 0;

  // Images [B, H, W, 3] in −1 … 1 → mean of their latents on the denoiser's scale [B, h, w, C], and back.
  virtual Tensor encode(const Tensor& images) = 0;
  virtual Tensor decode(const Tensor& latents) = 0;
};

}  // namespace hearth::models
