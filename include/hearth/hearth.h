// hearth: run open-weight checkpoints as their makers publish them. The whole public interface.
//
//   hearth::Model model = hearth::Model::open("stable-diffusion-v1-5");
//   hearth::Generation made = model.generate({.prompt = "a lighthouse at dawn", .seed = 7});
//   made.images[0].save("lighthouse.png");
//
// Everything throws hearth::Error on failure, with one line that says what is wrong and what was needed (hearth/error.h).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hearth/choices.h"
#include "hearth/component.h"
#include "hearth/editing.h"
#include "hearth/error.h"
#include "hearth/image.h"
#include "hearth/option.h"
#include "hearth/progress.h"
#include "hearth/tokenizer.h"

namespace hearth {

const char* version();  // "0.1.0"

// A dense f32 array, row-major, outermost axis first.
struct Array {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

struct OpenOptions {
  std::map<std::string, ComponentOptions> components;  // by name; UsageError for one that no model has (list_components())
  // Of a single file: a diffusers folder whose configurations hold for it; weights need not be there. Default, also for a component that
  // the folder lacks: the built-in ones of the published model that has its geometry.
  std::filesystem::path config;
  bool ema = false;     // of a single file: the denoiser's averaged weights (model_ema) in place of its others
  std::string variant;  // "fp16" opens *.fp16.safetensors; "" the files without a variant
  // What computes; see list_backends(). Models that are opened with the same device, threads and pinning share it: its threads take turns
  // instead of competing for the processors.
  std::string device = "cpu";
  int threads = 0;           // 0 = all processors
  bool pin_threads = false;  // each thread, the calling one too, to a processor of its own as long as the model is open
  Precision precision = Precision::automatic;
  // Folder in which weights are kept as they are packed for this processor, so that the next opening need not; made where it is not
  // there. Empty: none.
  std::filesystem::path cache;
  // Told, in one line each, of a cache that is damaged or cannot be written, and of tensors in a single file that nothing uses.
  std::function<void(const std::string&)> warn;
  // Load each network when a run first needs it, so that a run that cannot be is refused before; names and shapes of all tensors
  // are checked at once.
  bool load_when_needed = false;
  // Bytes that the process may take while it runs; 0: no limit. A run takes the first of these ways that fits, or is refused with
  // UsageError: all networks in memory; each only while it works; and the autoencoder in tiles. Loads when needed.
  int64_t memory_limit = 0;
  // A second checkpoint that does the last steps of every image (Request::refiner_start), XL's refiner; its autoencoder is not used.
  std::filesystem::path refiner;
  // A small autoencoder (AutoencoderTiny: TAESD, TAESDXL) that makes previews: a file of its decoder, alone or with the encoder, in its
  // maker's layout or in diffusers', or a component's folder.
  std::filesystem::path preview_decoder;
  OnProgress progress;                        // phase "load"
  const std::atomic<bool>* cancel = nullptr;  // set from any thread: ends with Canceled
};

struct Debug {
  bool timing = false;  // time per op kind and per block
  bool shapes = false;  // every op with its shapes
  bool nan = false;     // count non-finite values after every op and name the first
};

// All that a run remembers after one of its steps: from it, the same request goes on to the same image, bit for bit.
struct RunState {
  std::map<std::string, Array> arrays;  // "state.x" [B, C, h, w] and what the sampler keeps beside it
  std::string json;                     // of which run, after which step
};

// A file of textual inversion for prompts: safetensors or PyTorch's, as A1111 or diffusers write it.
struct Embedding {
  std::filesystem::path file;
  std::string name;  // what prompts call it; default: the file's name without its ending, in plain prompts diffusers' token
};

struct Request {
  std::string prompt;
  std::optional<std::string> negative_prompt;  // absent: what the checkpoint takes for none: the empty prompt, or zeros (XL)
  std::optional<PromptSyntax> prompt_syntax;   // absent: by compat: a1111 and comfyui their own, else plain
  std::optional<Emphasis> emphasis;            // of prompts in A1111's syntax; absent: original
  std::vector<Embedding> embeddings;           // for both prompts
  std::optional<int64_t> width, height;        // pixels, multiples of the autoencoder's factor (8); default: the checkpoint's native size
  OptionValues options;                        // those that the model's family has of its own, by name (hearth/settings.h)
  std::optional<double> refiner_start;         // the part of the noise schedule after which the refiner goes on; default: 0.8
  int64_t steps = 50;
  double guidance = 7.5;        // classifier-free guidance; 1 runs without, less, too, but under compat "comfyui" and "a1111"
  std::string guidance_method;  // see list_guidance(); "" = cfg
  std::map<std::string, std::string> guidance_options;     // of the method, by name
  double guidance_rescale = 0;                             // 0 … 1: how far the result's deviation follows the prompt's answer
  std::optional<std::array<double, 2>> guidance_interval;  // guided only for σ/α between these two
  std::string sampler;                                     // see list_samplers(); may end in a schedule's name; "" = the checkpoint's own
  std::map<std::string, std::string> sampler_options;      // of the sampler, by name
  std::string schedule;                                    // see list_schedules(); "" = the checkpoint's own
  std::map<std::string, double> schedule_options;          // of the schedule, by name (list_schedules())
  std::vector<double> sigmas;                              // in place of a schedule: falling noise levels, steps + 1 of them, the last 0
  bool discard_penultimate = false;                        // one level more is made and the last but one left out; compat "" and "a1111"
  std::optional<uint64_t> seed;                            // image k of a batch uses seed + k; default: a random one, reported
  int64_t batch_size = 1;                                  // images computed together
  Compat compat = Compat::hearth;                          // noise, levels and start as this program has them
  std::optional<Rng> rng;                                  // absent: by compat; nv with hearth and a1111 only
  int64_t eta_noise_seed_delta = 0;  // compat "a1111": the noise of the steps comes from seeds this much higher (ENSD)
  int64_t batch_index = 0;           // compat "comfyui": the images are those from this number on of a larger batch
  std::optional<Array> noise;        // standard normal [batch, channels, height/8, width/8] in place of the seed's first draw
  Editing edit;                      // the image that the run starts from
  Variation variation;
  std::optional<Hires> hires;
  Preview preview;
  bool decode = true;      // false: stop at the latents
  int64_t stop_after = 0;  // sampler steps after which the run ends and Generation::state is filled in; 0: the whole run
  // Go on from here. UsageError unless sampler and its options, schedule, steps, size, strength, batch, seed, compat and what goes with it
  // (rng, eta_noise_seed_delta, batch_index) are those of the state. Model, prompts and guidance are not in it: with others than those of
  // the run that was stopped, the image is another.
  std::optional<RunState> resume;
  VaeTiling vae_tiling = VaeTiling::automatic;
  std::optional<int64_t> vae_tile;  // side in pixels, a multiple of 32; default: the size that the autoencoder was trained on
  bool deep_color = false;          // fill Image::rgb16 too
  bool last = false;                // the model is not needed after it: networks that have done their work are let go of
  Debug debug;

  OnProgress progress;  // phases "load" (when needed), "encode", "sample", "decode"
  const std::atomic<bool>* cancel = nullptr;
};

struct Generation {
  std::vector<Image> images;          // batch order; empty when decode was off
  std::vector<uint64_t> seeds;        // of each image: what it says of itself, its own or, where one generator drew them all, the run's
  uint64_t seed = 0;                  // of the run: the request's, or the random one that was taken for it
  uint64_t variation_seed = 0;        // likewise, of a run with a variation
  Array noise;                        // the standard normal tensor before any sigma, [B, C, h, w]
  Array latents;                      // as the last step returned them, before division by the scaling factor, [B, C, h, w]
  std::optional<RunState> state;      // with stop_after
  std::vector<std::string> warnings;  // e.g. the part of a prompt that did not fit
  std::string report;                 // JSON: resolved values, times, memory planned and measured, numbers per component
  std::string debug_text;             // what Request::debug asked for, for people; the report has the same in numbers
};

// UsageError that Image::save would end with, as far as the request alone tells: ending, options, size, length of the prompts.
void check_save(const std::filesystem::path& file, const SaveOptions& options, const Request& request);

class Job;

// Safe from several threads: runs at the same time give what they give one after the other.
class Model {
 public:
  // A diffusers folder, or a single file in CompVis' or Stability's layout. IoError, WeightError or UnsupportedError when it cannot be run,
  // before anything is computed.
  static Model open(const std::filesystem::path& path, const OpenOptions& options = {});
  // The small model that comes with hearth.
  static Model open_demo(const OpenOptions& options = {});

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  std::string family() const;
  std::string description() const;  // JSON: components, precisions, parameters, hashes, scheduler

  // A run that is ready to begin: what it needs is known, and a request that would be refused is refused. UsageError, UnsupportedError.
  Job prepare(const Request& request);
  Generation generate(const Request& request);  // prepare(request).run()

  // What generate() will take, found without computing anything. UsageError when it would be refused.
  struct Prediction {
    int64_t bytes = 0;  // most that the process takes
    std::string mode;   // "all networks stay in memory"
  };
  Prediction predict_memory(const Request& request);  // prepare(request).memory()

  // Pixels in [-1, 1], [B, 3, H, W] → mean of the latent distribution times the scaling factor, [B, C, H/8, W/8], and back.
  Array encode(const Array& pixels);
  Array decode(const Array& latents);

 private:
  friend class Job;
  friend struct CommonLevels;  // hearth/plots.h: prepares runs along one schedule, whatever their sampler
  struct Impl;
  Job prepare(const Request& request, bool common_levels);
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A request that was prepared. It refers to its model, which must outlive it.
class Job {
 public:
  Job(Job&&) noexcept;
  Job& operator=(Job&&) noexcept;
  ~Job();

  Model::Prediction memory() const;  // what run() will take
  Generation run();

 private:
  friend class Model;
  struct Impl;
  explicit Job(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// What this build knows, for menus and `hearth list`.
struct Named {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;
};
struct OptionInfo {
  std::string name, summary;
  std::string standard;              // its default, as one writes it
  double least = 0, most = 0;        // range; most may be infinite
  std::vector<std::string> choices;  // where given, the only values
};
struct SamplerInfo : Named {
  int order = 1;
  std::string calls;     // of the network for n steps: "2n-1"
  std::string noise;     // "never", "on request" (an option asks for it), "always"
  std::string schedule;  // that goes with it where nobody chooses
  bool needs_unconditional = false;
  std::vector<OptionInfo> options;
};
std::vector<SamplerInfo> describe_samplers();
std::vector<Named> list_models();
std::vector<Named> list_samplers();
std::vector<Named> list_guidance();
std::vector<Named> list_schedules();

// The noise levels and times that a run of so many steps would go through, for each schedule of list_schedules().
struct ScheduleLevels {
  std::string name;
  std::vector<double> sigmas;     // noise beside an image of weight 1 (flow models: the share of noise); the end included
  std::vector<double> timesteps;  // what the network is told at each step
  std::string refused;            // why this model, sampler or number of steps cannot take it; empty where it can
};
// `model` is a checkpoint, or empty: the demo model; `sampler` as in Request. Only configs are read.
std::vector<ScheduleLevels> schedule_levels(const std::filesystem::path& model, const std::string& sampler, int64_t steps);
std::vector<Named> list_backends();

// What a file or folder is: family, components, precisions, sizes, configs, what is missing or would be left unread; for
// an image (PNG, JPEG, WebP) its kind and how it was made. IoError when there is nothing to read.
struct Inspection {
  std::string text;  // for people, several lines
  std::string json;  // the same for programs
  bool usable = false;
};
Inspection inspect(const std::filesystem::path& path, const std::string& variant = {});

}  // namespace hearth
