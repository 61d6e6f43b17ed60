// `hearth bench`: how fast this machine runs a Stable Diffusion 1.x checkpoint, part by part, against the machine's own
// ceilings measured in the same run.
#include "hearth/hearth.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "api/assets.h"
#include "api/precision.h"
#include "backends/backends.h"
#include "backends/cpu/ceilings.h"
#include "backends/plan/plan_backend.h"
#include "core/memory.h"
#include "core/observe.h"
#include "core/threads.h"
#include "parts/autoencoder_kl/autoencoder_kl.h"
#include "parts/clip/clip_text.h"
#include "parts/unet/unet.h"
#include "weights/checkpoint_files.h"
#include "weights/seeded.h"
#include "weights/seeded_file.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

// The three networks of a folder in the published layout.
struct Networks {
  Networks(Weights& text_weights, Weights& unet_weights, Weights& vae_weights, const fs::path& folder)
      : text(Scope(text_weights), parts::ClipTextConfig::from(Config::load(folder / "text_encoder/config.json"))),
        unet(Scope(unet_weights), parts::UnetConfig::from(Config::load(folder / "unet/config.json"))),
        vae(Scope(vae_weights), parts::AutoencoderKlConfig::from(Config::load(folder / "vae/config.json"))) {}

  parts::ClipTextModel text;
  parts::Unet unet;
  parts::AutoencoderKl vae;
};

const LoadOptions load_options{.ignore = {"*position_ids"}};

Networks load(const fs::path& folder, const std::string& variant, Backend& device, const std::optional<WeightTypes>& types) {
  const auto open = [&](const char* component) {
    LoadOptions options = load_options;
    const std::shared_ptr<TensorSource> source = open_weight_files(choose_weight_files(folder / component, variant));
    options.types = types ? *types : automatic_types(*source, device);
    return Weights(source, device, options);
  };
  Weights text = open("text_encoder"), unet = open("unet"), vae = open("vae");
  Networks networks(text, unet, vae, folder);
  text.finish(), unet.finish(), vae.finish();
  return networks;
}

// A folder of its own that disappears with it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "hearth-bench-XXXXXX").string();
    if (!mkdtemp(name.data())) fail<IoError>("bench: no folder can be made in {}", fs::temp_directory_path().string());
    path = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  fs::path path;
};

// A checkpoint of the geometry of `configs` with weights made from their names.
void write_checkpoint(const fs::path& configs, const fs::path& folder, DType dtype, ThreadPool& threads, const OnProgress& progress) {
  MemoryLedger ledger;
  const auto plan = make_plan_backend(ledger);
  const auto text = std::make_shared<AskedTensors>(), unet = std::make_shared<AskedTensors>(), vae = std::make_shared<AskedTensors>();
  Weights text_weights(text, *plan), unet_weights(unet, *plan), vae_weights(vae, *plan);
  const Networks asked(text_weights, unet_weights, vae_weights, configs);
  fs::copy(configs, folder, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  int64_t done = 0;
  const auto write = [&](const char* file, const AskedTensors& tensors) {
    if (progress) progress({.phase = "write", .done = done++, .total = 3});
    write_seeded_file(folder / file, tensors.asked, dtype, threads);
  };
  write("text_encoder/model.safetensors", *text);
  write("vae/diffusion_pytorch_model.safetensors", *vae);
  write("unet/diffusion_pytorch_model.safetensors", *unet);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Flop : Observer {
  void on_op(const OpEvent& event) override { sum += event.flop; }
  double sum = 0;
};

struct Part {
  std::string name;
  double seconds = 0, gflop = 0;
};

// Median of `repeats` runs after one that warms up; the work is counted in that one.
template <class F> Part measure(const std::string& name, int repeats, F run) {
  Part part{.name = name};
  {
    Flop flop;
    const ObserverScope scope(flop);
    run();
    part.gflop = flop.sum * 1e-9;
  }
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    times.push_back(seconds_since(start));
  }
  std::ranges::sort(times);
  part.seconds = times[times.size() / 2];
  return part;
}

Tensor seeded_tensor(Backend& device, const char* name, const Shape& shape) {
  return Tensor::from(device, shape, seeded_values(name, shape));
}

// The process's high-water mark starts again from what it holds now, where the system allows it.
void reset_process_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace

Bench bench(const BenchOptions& options) {
  if (options.repeats < 1) fail<UsageError>("bench: {} repeats, needed at least 1", options.repeats);
  const auto device = make_backend({.name = options.device, .threads = options.threads});
  std::atomic<bool> never = false;
  const CancelScope cancel(options.cancel ? *options.cancel : never);

  const bool generated = options.model == "sd15";
  std::optional<TemporaryFolder> temporary;
  fs::path folder = options.model == "demo" ? api::demo_model_folder() : fs::path(options.model);
  const DType stored = options.precision == Precision::f32 ? DType::f32 : options.precision == Precision::bf16 ? DType::bf16 : DType::f16;
  if (generated) {
    temporary.emplace();
    folder = temporary->path;
    write_checkpoint(api::assets_folder() / "configs/sd15", folder, stored, device->threads(), options.progress);
  } else if (!fs::is_directory(folder)) {
    fail<IoError>("bench: '{}' is neither sd15, demo nor a folder", options.model);
  }
  const auto note = [&](const char* phase, int64_t done) {
    if (options.progress) options.progress({.phase = phase, .done = done, .total = 4});
  };

  note("measure", 0);
  const Ceilings ceilings = measure_ceilings(*device);
  device->release_cached();
  reset_process_peak();
  MemoryLedger::process().reset_peak();

  // Twice: the first reads the file into the page cache and is not what "load" means here.
  const std::optional<WeightTypes> types = api::weight_types(options.precision, *device);
  std::vector<Part> parts;
  { load(folder, options.variant, *device, types); }
  const auto start = std::chrono::steady_clock::now();
  const Networks networks = load(folder, options.variant, *device, types);
  parts.push_back({.name = "load", .seconds = seconds_since(start)});

  const int64_t factor = networks.vae.config.factor(), H = options.height / factor, W = options.width / factor;
  if (H < 1 || W < 1 || options.height % factor || options.width % factor)
    fail<UsageError>("bench: {} × {} is not a size in multiples of {}", options.width, options.height, factor);

  note("measure", 1);
  const std::vector<std::vector<int32_t>> ids(2, std::vector<int32_t>(size_t(networks.text.config.positions), 1));
  parts.push_back(measure("text", options.repeats, [&] { networks.text(ids); }));

  note("measure", 2);
  const Tensor x = seeded_tensor(*device, "x", {2, H, W, networks.unet.config.in_channels});
  const Tensor context = seeded_tensor(*device, "context", {2, networks.text.config.positions, networks.unet.config.context});
  const float timestep = 500;
  parts.push_back(measure("unet_step", options.repeats, [&] { networks.unet(x, {&timestep, 1}, context); }));

  note("measure", 3);
  const Tensor z = seeded_tensor(*device, "z", {1, H, W, networks.vae.config.latent_channels});
  parts.push_back(measure("vae_decode", options.repeats, [&] { networks.vae.decode(z); }));
  note("measure", 4);

  nlohmann::json json;
  json["machine"] = {{"isa", device->features()},
                     {"threads", device->threads().size()},
                     {"matrix_gflops", ceilings.matrix_gflops},
                     {"read_gbs", ceilings.read_gbs}};
  json["model"] = {{"name", options.model}, {"width", options.width}, {"height", options.height}, {"guidance", true}};
  std::string text = fmt::format("{} {}, {} threads: {:.0f} GFLOP/s, reads {:.1f} GB/s (measured now)\n", device->name(),
                                 device->features(), device->threads().size(), ceilings.matrix_gflops, ceilings.read_gbs);
  for (const Part& part : parts) {
    nlohmann::json& entry = json["parts"][part.name] = {{"seconds", part.seconds}};
    text += fmt::format("{:<12} {:9.3f} s", part.name, part.seconds);
    if (part.gflop > 0) {
      const double fraction = part.gflop / part.seconds / ceilings.matrix_gflops;
      entry["gflop"] = part.gflop;
      entry["fraction"] = fraction;
      text += fmt::format("  {:8.1f} GFLOP  {:5.1f} % of the matrix ceiling", part.gflop, 100 * fraction);
    }
    text += "\n";
  }
  json["peak_memory_bytes"] = process_peak_bytes();
  json["buffers_peak_bytes"] = MemoryLedger::process().use().peak;
  text += fmt::format("peak memory  {:9.2f} GB\n", double(process_peak_bytes()) * 1e-9);
  return {.text = text, .json = json.dump()};
}

}  // namespace hearth
