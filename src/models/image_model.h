// What an image model does, whatever its networks are. src/api turns it into the public interface.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/backend.h"
#include "hearth/hearth.h"
#include "media/pixels.h"
#include "models/loading.h"
#include "sampling/compat/compat.h"
#include "sampling/guidance/guidance.h"
#include "sampling/sampler.h"
#include "text/prompt/prompt.h"

namespace hearth::models {

// How near each point of an image is, the larger the nearer, in any range.
struct DepthMap {
  int64_t width = 0, height = 0;  // any
  std::vector<float> values;      // [height, width]
};

// An image that a run starts from, and the part of it that is painted anew.
struct ImageEdit {
  std::vector<Pixels> images;      // one, or one for each of the batch; of the request's size
  Tensor latents;                  // [B, h, w, C] on the host: in place of an image; may be undefined
  PixelMask mask;                  // of the request's size, 255: painted anew; 0 × 0: all of it is
  std::optional<double> strength;  // 0 … 1, how much of the run is done; absent: what the family takes for it
  bool all_steps = false;          // of a longer schedule, so many steps as the request says (sampling::Steps)
  enum class Fill { image, noise, nothing } fill = Fill::image;  // what of the latents stands under the mask at first
  std::optional<DepthMap> depth;  // for a network that is told it; over the whole image, also where there is none to start from
  bool starts() const { return latents || !images.empty(); }
};

// The state from which a stopped run continues. Tensors are [B, h, w, C] on the host. `guidance`: the running average of the guidance
// method; undefined where the method keeps none.
struct ResumePoint {
  sampling::State state;
  Tensor guidance;
};

// What a pass is asked for: the user's request, and in the forms that models work on what it brings along.
struct ImageTask {
  Request request;  // its size is that of the run
  uint64_t seed = 0, variation_seed = 0;
  ImageEdit edit;
  Tensor noise;                // [B, C, h, w] f32 on the host: in place of the seed's first draw; may be undefined
  int64_t steps_before = 0;    // of a first pass, for prompts that change (text::PromptReading)
  bool common_levels = false;  // sampling::common_schedule of the request's schedule, whatever the sampler; for comparing samplers
  std::shared_ptr<const ResumePoint> resume;
};

// What a request comes to.
struct ResolvedImage {
  Request request;  // with every default filled in; without the arrays and images that it brought
  int64_t width = 0, height = 0, steps = 0, batch = 0;
  std::string sampler, schedule;                     // canonical names
  std::optional<std::array<int64_t, 2>> first_pass;  // [width, height] of it, where there are two
  std::optional<double> strength;                    // of a run that starts from an image
  std::array<int64_t, 4> latents{};                  // [B, h, w, C]
  sampling::Guidance guidance;                       // with all options filled in
  sampling::Options sampler_options;                 // all that the sampler has
  int64_t network_calls = 0;                         // of the denoiser; each takes 2·B images with guidance. 0: not known before
  // Of the run (of two passes the second's) that the model does alone: σ of each step's call and of the end, and what the network is told
  // there. Empty where nothing is known before.
  std::vector<float> sigmas, timesteps;
  std::vector<std::string> warnings;  // one line each
  OptionValues options;               // those that were given, and the family's defaults of those that have one
  std::optional<double> refiner_start;
  int64_t chunks = 1;  // of 75 tokens, of the longest prompt
  std::vector<text::EmbeddingName> embeddings;
};

struct MemoryPlan {
  bool everything = true;       // all networks are in memory from the beginning; else each when its turn comes
  bool release = false;         // each is let go of as soon as it has done its work
  std::optional<int64_t> tile;  // the autoencoder decodes in tiles of so many latent pixels a side
  std::string mode;             // the same for people: "all networks stay in memory"
  std::vector<std::string> warnings;

  int64_t process = 0;      // most bytes that the process will take
  int64_t weights = 0;      // of it, held from the beginning
  int64_t activations = 0;  // most bytes beside them during the run; scratch of threads, some MB each, is not in it
};

struct ImageResult {
  std::vector<Tensor> images;                // [H, W, 3] in −1 … 1, not limited; batch order; empty without decode
  std::shared_ptr<const ResumePoint> state;  // where the run was stopped
  Tensor noise, latents;                     // [B, h, w, C]: standard normal before any sigma; as the last step returned them
  double load_seconds = 0, encode_seconds = 0, sample_seconds = 0, decode_seconds = 0;
  std::vector<double> step_seconds;       // one per step of the sampler
  std::vector<std::string> warnings;      // one line each
  std::map<std::string, double> largest;  // component → largest absolute value of its output
};

// A request that is ready to run: resolved once, its memory planned.
class ImageJob {
 public:
  virtual ~ImageJob() = default;

  virtual const ResolvedImage& resolved() const = 0;
  // Goes on from there. To be called before plan().
  virtual void resume(std::shared_ptr<const ResumePoint> state) = 0;
  // How it will be run, and what that takes, found by dry runs: the first of the memory modes that fits the limit. UsageError when none
  // does.
  virtual const MemoryPlan& plan() = 0;
  // As plan() says. Phases "load", "encode", "sample", "decode". NonFiniteError names component and step; Canceled.
  virtual ImageResult run(const OnProgress& progress) = 0;
};

// Safe from several threads: runs of one model at the same time give what they give one after the other.
class ImageModel {
 public:
  virtual ~ImageModel() = default;

  virtual std::string family() const = 0;
  virtual std::vector<ComponentReport> components() const = 0;
  virtual std::vector<std::string> notes() const = 0;  // what in the checkpoint was left aside, one line each
  virtual std::string scheduler() const = 0;           // the checkpoint's own, "PNDMScheduler"

  virtual int64_t factor() const = 0;  // pixels per latent pixel, each way

  // UsageError for a size, step count, batch, sampler, schedule or option that cannot be; nothing is computed.
  virtual std::unique_ptr<ImageJob> prepare(const ImageTask& task) = 0;

  // Images [B, H, W, 3] in −1 … 1 → mean of their latents on the denoiser's scale [B, h, w, C], and back.
  virtual Tensor encode(const Tensor& images) = 0;
  virtual Tensor decode(const Tensor& latents) = 0;
};

}  // namespace hearth::models
