// What an image model does, whatever its networks are. src/api turns it into the public interface.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/backend.h"
#include "hearth/option.h"
#include "hearth/progress.h"
#include "media/pixels.h"
#include "models/loading.h"
#include "sampling/compat.h"
#include "sampling/guidance.h"
#include "sampling/sampler.h"
#include "text/prompt/prompt.h"

namespace hearth::models {

// A file of textual inversion, and what prompts call it; "": diffusers' token where the prompt is plain and the file has one, else the
// file's name without its ending.
struct EmbeddingFile {
  std::filesystem::path file;
  std::string name;
};

// How near each point of a picture is, the larger the nearer, in any range.
struct DepthMap {
  int64_t width = 0, height = 0;  // any
  std::vector<float> values;      // [height, width]
};

// A picture that a run starts from, and the part of it that is painted anew.
struct ImageEdit {
  std::vector<Pixels> pictures;    // one, or one for each of the batch; of the request's size
  Tensor latents;                  // [B, h, w, C] on the device: in place of a picture; may be undefined
  PixelMask mask;                  // of the request's size, 255: painted anew; 0 × 0: all of it is
  std::optional<double> strength;  // 0 … 1, how much of the run is done; absent: what the family takes for it
  bool all_steps = false;          // of a longer schedule, so many steps as the request says (sampling::Steps)
  enum class Fill { picture, noise, nothing } fill = Fill::picture;  // what of the latents stands under the mask at first
  std::optional<DepthMap> depth;  // for a network that is told it; over the whole picture, also where there is none to start from
  bool starts() const { return latents || !pictures.empty(); }
};

struct ImageRequest {
  std::string prompt;
  std::optional<std::string> negative_prompt;  // absent: what the family takes for none, the empty prompt or zeros
  text::PromptSyntax syntax = text::PromptSyntax::plain;
  text::Emphasis emphasis = text::Emphasis::original;
  OptionValues options;  // of the model's family, by name
  std::vector<EmbeddingFile> embeddings;
  std::optional<int64_t> width, height;  // pixels; the checkpoint's native size where absent
  std::optional<double> refiner_start;   // the part of the noise schedule after which the refiner goes on: 0.8 where absent
  int64_t steps = 50;
  int64_t steps_before = 0;  // of a first pass, for prompts that change (text::PromptReading)
  sampling::Guidance guidance;
  std::string sampler, schedule;  // "" = the checkpoint's own
  std::map<std::string, std::string> sampler_options;
  std::map<std::string, double> schedule_options;
  std::vector<double> sigmas;        // in place of a schedule
  bool discard_penultimate = false;  // sampling::ScheduleChoice::drops_penultimate; hearth, a1111
  uint64_t seed = 0;
  int64_t batch = 1;
  sampling::Compat compat = sampling::Compat::hearth;
  std::optional<sampling::Rng> rng;             // sampling::NoiseRequest
  int64_t eta_seed_delta = 0, first_image = 0;  // the same
  sampling::NoiseRequest::Variation variation;
  Tensor noise;  // [B, C, h, w] f32 on the device: in place of the seed's first draw; may be undefined
  ImageEdit edit;
  std::optional<double> image_guidance;  // of a network that edits as it is told, and of no other; absent: 1.5
  // A second pass at so many times the size, on what the first one made.
  struct Hires {
    double scale = 2;
    std::string upscaler = "latent";
    int64_t steps = 0;  // 0: as many as in the first
    double strength = 0.7;
  };
  std::optional<Hires> hires;
  // The running picture, as the preview decoder makes it or as far as it can be told from its latents alone, after every so many steps and
  // after the last.
  struct Preview {
    int64_t every = 1;
    std::function<void(const std::vector<Pixels>& pictures, int64_t step, int64_t steps)> show;
  };
  std::optional<Preview> preview;
  bool common_levels = false;  // sampling::common_schedule of `schedule`, whatever the sampler; for comparing samplers
  bool decode = true;
  int64_t stop_after = 0;  // sampler steps; 0: all
  // Go on from here: tensors on the device, [B, h, w, C]; `guidance` is what guidance remembered, may be undefined.
  struct Resume {
    sampling::State state;
    Tensor guidance;
  };
  std::shared_ptr<const Resume> resume;
  bool last = false;  // the networks are not needed after it: each is let go of as soon as it has done its work
  enum class Tiling { automatic, on, off } vae_tiling = Tiling::automatic;  // automatic: only where the memory limit asks for it
  std::optional<int64_t> vae_tile;                                          // side in pixels; the size it was trained on where absent
};

// The request with every default filled in.
struct ResolvedImage {
  int64_t width = 0, height = 0, steps = 0, batch = 0;
  std::string sampler, schedule;                     // canonical names
  std::optional<std::array<int64_t, 2>> first_pass;  // [width, height] of it, where there are two
  std::optional<double> strength;                    // of a run that starts from a picture
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
  std::vector<Tensor> pictures;                       // [H, W, 3] in −1 … 1, not limited; batch order; empty without decode
  std::shared_ptr<const ImageRequest::Resume> state;  // where the run was stopped
  Tensor noise, latents;                              // [B, h, w, C]: standard normal before any sigma; as the last step returned them
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
  virtual void resume(std::shared_ptr<const ImageRequest::Resume> state) = 0;
  // How it will be run, and what that takes, found by dry runs: the first of the memory modes that fits the limit. UsageError when none
  // does.
  virtual const MemoryPlan& plan() = 0;
  // As plan() says. Phases "load", "encode", "sample", "decode". NonFiniteError names component and step; Cancelled.
  virtual ImageResult run(const OnProgress& progress) = 0;
};

// Safe from several threads: runs of one model at the same time give what they give one after the other.
class ImageModel {
 public:
  virtual ~ImageModel() = default;

  virtual std::string family() const = 0;  // "sd1"
  virtual std::vector<ComponentReport> components() const = 0;
  virtual std::vector<std::string> notes() const = 0;  // what in the checkpoint was left aside, one line each
  virtual std::string scheduler() const = 0;           // the checkpoint's own, "PNDMScheduler"

  virtual int64_t factor() const = 0;  // pixels per latent pixel, each way

  // UsageError for a size, step count, batch, sampler, schedule or option that cannot be; nothing is computed.
  virtual std::unique_ptr<ImageJob> prepare(const ImageRequest& request) = 0;

  // Pictures [B, H, W, 3] in −1 … 1 → mean of their latents on the denoiser's scale [B, h, w, C], and back.
  virtual Tensor encode(const Tensor& pictures) = 0;
  virtual Tensor decode(const Tensor& latents) = 0;
};

}  // namespace hearth::models
