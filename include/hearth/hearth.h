// hearth: runs open-weight checkpoints as published. This header is the interface for image models; it includes what that needs.
//
//   hearth::Model model = hearth::Model::open("stable-diffusion-v1-5");
//   hearth::Generation made = model.generate({.prompt = "a lighthouse at dawn", .seed = 7});
//   made.images[0].save("lighthouse.png");
//
// Every function reports failure by throwing hearth::Error with a one-line message: what is wrong and what is expected (hearth/error.h).
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
#include "hearth/control.h"
#include "hearth/editing.h"
#include "hearth/error.h"
#include "hearth/image.h"
#include "hearth/image_prompt.h"
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
  std::map<std::string, ComponentOptions> components;  // by name (list_components()); UsageError for an unknown name
  // For a single file: a diffusers folder that provides the configuration files; it need not contain weights. By default, and for a
  // component that the folder lacks: the built-in configuration of the published model with the same architecture.
  std::filesystem::path config;
  bool ema = false;     // for a single file: use the denoiser's averaged weights (model_ema)
  std::string variant;  // "fp16" opens *.fp16.safetensors; "" opens the files without a variant
  // See list_backends(). Models opened with the same device, threads and pinning share one device, so that their threads take turns
  // instead of competing for the CPUs.
  std::string device = "cpu";
  int threads = 0;           // 0: one per CPU
  bool pin_threads = false;  // pin each thread, including the calling one, to its own CPU while the model is open
  // Divides each network between the GPU that `device` names and the CPU: its first blocks run on the GPU, the others on the CPU. The parts
  // that belong to no block run where the last block runs. gpu_layers is the number of blocks of each network on the GPU. gpu_memory is a
  // limit in bytes for the GPU's memory: each run puts there as many blocks as fit, those of the denoiser first, and load_when_needed is
  // implied. With neither, a GPU that has its own memory is filled with what fits. UsageError if both are set, or if the device is no GPU.
  std::optional<int64_t> gpu_layers, gpu_memory;
  Precision precision = Precision::automatic;
  // Packed-weight cache: a folder that keeps weights as packed for this CPU, so that the next open() skips packing. Created if it does not
  // exist. Empty: no cache.
  std::filesystem::path cache;
  // Receives one-line warnings: the cache is damaged or cannot be written, a single file contains unused tensors.
  std::function<void(const std::string&)> warn;
  // Load each network when a run first needs it, so that invalid requests are refused before anything is loaded. open() still checks the
  // names and shapes of all tensors.
  bool load_when_needed = false;
  // Limit on the memory of the process during a run, in bytes; 0: no limit. A run uses the first mode that fits: all networks in memory;
  // each network only while it computes; the same with the VAE in tiles; the same with networks that are too large loaded block by block
  // while they compute, with as many blocks in memory as fit. UsageError if none fits. Implies load_when_needed.
  int64_t memory_limit = 0;
  // A second checkpoint, a refiner, that executes the last steps (Request::refiner_start); its VAE is not used.
  std::filesystem::path refiner;
  // A small VAE for previews (AutoencoderTiny, such as TAESD): a file with its decoder, alone or with the encoder, in the original or the
  // diffusers layout; or a component's folder.
  std::filesystem::path preview_decoder;
  OnProgress progress;                        // phase "load"
  const std::atomic<bool>* cancel = nullptr;  // set from any thread: ends with Canceled
};

struct Debug {
  bool timing = false;  // measure time per op and per block
  bool shapes = false;  // list every op with its shapes
  bool nan = false;     // stop at the first op that outputs non-finite values, with NonFiniteError
};

// Everything a run needs in order to continue after one of its steps: the same request then generates a bit-identical image.
struct RunState {
  std::map<std::string, Array> arrays;  // "state.x" [B, C, h, w] and the sampler's history
  std::string json;                     // identifies the run and the step
};

// A textual inversion file for prompts: safetensors or PyTorch, as written by A1111 or diffusers.
struct Embedding {
  std::filesystem::path file;
  std::string name;  // in prompts; default: the file name without its extension, in plain prompts the token from a diffusers file
};

// An adapter that changes weights for a run: LoRA, LoCon, LoHa, LoKr, DoRA, (IA)³ or differences of weights, in the layouts of kohya's
// scripts, diffusers, PEFT, OneTrainer, LyCORIS and the models' original files. The model's own weights stay as they are.
struct Lora {
  std::filesystem::path file;        // safetensors, PyTorch or GGUF; or PEFT's folder
  double scale = 1;                  // strength; 0: as without it; may be negative
  std::optional<double> text_scale;  // on text encoders; absent: scale
  // Factors of the strength for parts of the networks, by a pattern of module names, "down_blocks.1.*": '*' matches anything. Of several
  // that match, the last applies.
  std::vector<std::pair<std::string, double>> parts;
};

struct Request {
  std::string prompt;
  std::optional<std::string> negative_prompt;  // absent: the checkpoint's default: the empty prompt, or zeros, as its family has it
  std::optional<PromptSyntax> prompt_syntax;   // absent: by compat: that of a1111 or comfyui, else plain
  std::optional<Emphasis> emphasis;            // for prompts in A1111's syntax; absent: original
  std::vector<Embedding> embeddings;           // for both prompts
  std::vector<Lora> loras;                     // in any order
  std::filesystem::path lora_folder;           // of the files that <lora:NAME:SCALE> in a prompt in A1111's syntax names
  std::optional<int64_t> width, height;        // pixels, multiples of the model's unit (8 or 16); default: its native size
  OptionValues options;                        // specific to the model's family, by name (hearth/settings.h)
  std::optional<double> refiner_start;         // part of the noise schedule after which the refiner takes over; default: 0.8
  int64_t steps = 0;                           // 0: the model's own number, usually 50; with sigmas: theirs
  // Guidance scale; default: the model's own, usually 7.5. 1 and less turn guidance off, except less than 1 with compat "comfyui" and
  // "a1111". Some networks receive the scale as input instead.
  std::optional<double> guidance;
  std::string guidance_method;                             // see list_guidance(); "" = cfg
  std::map<std::string, std::string> guidance_options;     // of the method, by name
  double guidance_rescale = 0;                             // 0 … 1: rescale towards the conditional prediction's standard deviation
  std::optional<std::array<double, 2>> guidance_interval;  // apply guidance only if σ/α is between these two
  std::string sampler;                                     // see list_samplers(); may end in a schedule's name; "": the checkpoint's own
  std::map<std::string, std::string> sampler_options;      // of the sampler, by name
  std::string schedule;                                    // see list_schedules(); "": the checkpoint's own
  std::map<std::string, double> schedule_options;          // of the schedule, by name (list_schedules())
  std::vector<double> sigmas;                              // explicit schedule: steps + 1 decreasing sigmas, the last 0
  bool discard_penultimate = false;                        // compute one sigma more and drop the next-to-last; compat "" and "a1111"
  std::optional<uint64_t> seed;                            // image k of a batch uses seed + k; default: random, reported
  int64_t batch_size = 1;                                  // images generated together
  Compat compat = Compat::hearth;                          // the program whose noise, schedule and starting point to reproduce
  std::optional<Rng> rng;                                  // absent: by compat; nv only with hearth and a1111
  int64_t eta_noise_seed_delta = 0;                        // compat "a1111": offset of the seeds for step noise (ENSD)
  int64_t batch_index = 0;                                 // compat "comfyui": index of the first image within a larger batch
  std::optional<Array> noise;  // initial noise, standard normal [batch, channels, height/8, width/8]; default: from the seed
  Editing edit;                // the image that the run starts from
  // Images that the model looks at, in their order. UsageError for a model that looks at none.
  std::vector<Reference> references;
  // Networks that steer the run by images: all of them act together, in whatever order they are given. UsageError, WeightError or
  // UnsupportedError for one that does not fit the model.
  std::vector<Control> controls;
  // Images that act as prompts, by adapters, all together. Errors as for `controls`; UsageError for a model without an image encoder.
  std::vector<ImagePrompt> image_prompts;
  Variation variation;
  std::optional<Hires> hires;
  Preview preview;
  bool decode = true;      // false: stop at the latents
  int64_t stop_after = 0;  // stop after this many steps and fill in Generation::state; 0: run all steps
  // Resume from this state. UsageError unless sampler and its options, schedule, steps, size, strength, batch, seed, compat and its options
  // (rng, eta_noise_seed_delta, batch_index) equal those of the stopped run. Model, prompts and guidance are not checked: changing them
  // changes the image.
  std::optional<RunState> resume;
  VaeTiling vae_tiling = VaeTiling::automatic;
  std::optional<int64_t> vae_tile;  // side in pixels, a multiple of 32; default: the size that the VAE was trained on
  bool deep_color = false;          // fill Image::rgb16 too
  bool last = false;                // the model is not used after this run: unload each network once it is no longer needed
  Debug debug;

  OnProgress progress;  // phases "load" (with load_when_needed), "encode", "sample", "decode"
  const std::atomic<bool>* cancel = nullptr;
  // Set from any thread: the run ends after the step that it computes, and decodes the image as the model estimates it there. Steps that
  // are left, a refiner and a second pass are omitted. At least one step runs.
  const std::atomic<bool>* finish = nullptr;
};

struct Generation {
  std::vector<Image> images;    // in batch order; empty if Request::decode was false
  std::vector<uint64_t> seeds;  // of each image, as in its metadata: its own, or the run's if one generator draws noise for the whole batch
  uint64_t seed = 0;            // of the run: the request's, else the random one
  uint64_t variation_seed = 0;  // likewise, for a run with a variation
  Array noise;                  // initial noise, standard normal, before scaling by sigma, [B, C, h, w]
  Array latents;                // output of the last step, before division by the VAE's scaling factor, [B, C, h, w]
  std::optional<RunState> state;      // if Request::stop_after is set
  int64_t ended_after = 0;            // the step after which Request::finish ended the run; 0: all steps ran
  std::vector<std::string> warnings;  // for example the truncated part of a prompt
  std::string report;                 // JSON: resolved settings, times, planned and measured memory, one entry per component
  std::string debug_text;             // results of Request::debug as text; the report has them as JSON
};

// Throws the UsageError that Image::save would throw, as far as the request determines it: extension, options, size, length of the prompts.
void check_save(const std::filesystem::path& file, const SaveOptions& options, const Request& request);

class Job;

// Thread-safe: concurrent runs return the same results as consecutive ones.
class Model {
 public:
  // Opens a diffusers folder, or a single file in the CompVis or Stability layout. IoError, WeightError or UnsupportedError, before any
  // computation, if it cannot run.
  static Model open(const std::filesystem::path& path, const OpenOptions& options = {});
  // Opens the small model that is part of hearth.
  static Model open_demo(const OpenOptions& options = {});

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  std::string family() const;
  // What does not depend on a request.
  struct Traits {
    int64_t side_unit = 8;                                        // sides of images are multiples of it, in pixels
    int64_t weight_bytes = 0;                                     // of the networks in memory now
    bool previews = false;                                        // it supports Request::preview
    bool edits_references = false, references_as_prompt = false;  // what it makes of Request::references; neither: it refuses them
  };
  Traits traits() const;
  bool device_lost() const;         // a GPU of the model has failed for good: every run is an Error until the model is opened again
  std::string description() const;  // JSON: components, precisions, parameters, hashes, scheduler

  // Resolves and checks a request and plans its memory. UsageError, UnsupportedError.
  Job prepare(const Request& request);
  Generation generate(const Request& request);  // prepare(request).run()

  // Memory that generate() will need, found by a dry run. UsageError if the request would be refused.
  struct Prediction {
    int64_t bytes = 0;                 // peak memory of the process
    std::string mode;                  // "all networks stay in memory"
    std::optional<int64_t> gpu_bytes;  // peak memory of the GPU, with OpenOptions::gpu_layers or gpu_memory
  };
  Prediction predict_memory(const Request& request);  // prepare(request).memory()

  // VAE encode and decode. Pixels in [-1, 1], [B, 3, H, W] ↔ latents, [B, C, H/8, W/8]: the mean of their distribution times the scaling
  // factor.
  Array encode(const Array& pixels);
  Array decode(const Array& latents);

 private:
  friend class Job;
  friend struct CommonLevels;  // hearth/plots.h: prepares runs on one schedule for all samplers
  struct Impl;
  Job prepare(const Request& request, bool common_levels);
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A resolved and planned request. It refers to its model, which must outlive it.
class Job {
 public:
  Job(Job&&) noexcept;
  Job& operator=(Job&&) noexcept;
  ~Job();

  Model::Prediction memory() const;  // memory that run() will need
  Generation run();

 private:
  friend class Model;
  struct Impl;
  explicit Job(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// What this build supports, for menus and `hearth list`.
struct Named {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;
};
struct OptionInfo {
  std::string name, summary;
  std::string standard;              // its default, in the notation of the command line
  double least = 0, most = 0;        // range; most may be infinite
  std::vector<std::string> choices;  // if not empty, the only valid values
};
struct SamplerInfo : Named {
  int order = 1;
  std::string calls;     // denoiser calls for n steps: "2n-1"
  std::string noise;     // "never", "on request" (by an option), "always"
  std::string schedule;  // its default noise schedule
  bool needs_unconditional = false;
  std::vector<OptionInfo> options;
};
std::vector<SamplerInfo> describe_samplers();
std::vector<Named> list_models();
std::vector<Named> list_samplers();
std::vector<Named> list_guidance();
std::vector<Named> list_schedules();

// Sigmas and timesteps of a run of `steps` steps, for each schedule of list_schedules().
struct ScheduleLevels {
  std::string name;
  std::vector<double> sigmas;     // relative to an image of weight 1 (flow models: the share of noise); includes the final one
  std::vector<double> timesteps;  // what the denoiser receives at each step
  std::string refused;            // why the model, sampler or number of steps does not support the schedule; empty if it does
};
// `model`: a checkpoint; empty: the demo model. `sampler`: as in Request. Reads configuration files only.
std::vector<ScheduleLevels> schedule_levels(const std::filesystem::path& model, const std::string& sampler, int64_t steps);
std::vector<Named> list_backends();
// Names of devices, beside "vulkan:NUMBER" for one of several cards; and the backend of list_backends() that a name selects, such as
// "auto". UsageError for an unknown name.
std::vector<std::string> list_devices();
Named chosen_device(const std::string& name);

// Describes a file or folder. A checkpoint: family, components, precisions, sizes, configuration, missing and unused tensors. An image
// (PNG, JPEG, WebP): its format and metadata. An adapter: what it is for; with `model`, a checkpoint, how much of the adapter fits that.
// IoError if the path does not exist or cannot be read; UsageError for a model and what is no adapter.
struct Inspection {
  std::string text;  // human-readable, several lines
  std::string json;  // the same as JSON
  bool usable = false;
};
Inspection inspect(const std::filesystem::path& path, const std::string& variant = {}, const std::filesystem::path& model = {});

}  // namespace hearth
