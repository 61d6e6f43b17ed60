#include <unistd.h>
#include <ctime>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "api/assets.h"
#include "api/bench.h"
#include "api/precision.h"
#include "backends/plan/plan_backend.h"
#include "core/memory.h"
#include "core/threads.h"
#include "weights/checkpoint_files.h"
#include "weights/seeded.h"
#include "weights/seeded_file.h"

namespace hearth::api {
namespace {

namespace fs = std::filesystem;

constexpr std::array text_towers{"text_encoder", "text_encoder_2"};

double processor_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

template <class Network, class NetworkConfig> Network build(Weights& weights, const fs::path& folder, const char* component) {
  return Network(Scope(weights), NetworkConfig::from(Config::load(folder / component / "config.json")));
}

template <class Network, class NetworkConfig>
Network load(const fs::path& folder, const char* component, const BenchOptions& options, Backend& device) {
  const std::shared_ptr<TensorSource> source = open_weight_files(choose_weight_files(folder / component, options.variant));
  LoadOptions load_options{.ignore = {"*position_ids"}};
  const std::optional<WeightTypes> types = weight_types(options.precision, device);
  load_options.types = types ? *types : automatic_types(*source, device);
  Weights weights(source, device, load_options);
  Network network = build<Network, NetworkConfig>(weights, folder, component);
  weights.finish();
  return network;
}

// Weights made from their names, of the geometry of a component's config.
template <class Network, class NetworkConfig>
void write_component(const fs::path& folder, const char* component, const char* file, DType dtype) {
  MemoryLedger ledger;
  const auto plan = make_plan_backend(ledger);
  const auto asked = std::make_shared<AskedTensors>();
  Weights weights(asked, *plan);
  build<Network, NetworkConfig>(weights, folder, component);
  ThreadPool threads;
  write_seeded_file(folder / component / file, asked->asked, dtype, threads);
}

Tensor seeded_tensor(Backend& device, const char* name, const Shape& shape) {
  return Tensor::from(device, shape, seeded_values(name, shape));
}

}  // namespace

BenchTime time_of(int repeats, const std::function<void()>& run) {
  run();
  std::vector<BenchTime> times;
  for (int i = 0; i < repeats; ++i) {
    const double processor = processor_seconds();
    const auto start = std::chrono::steady_clock::now();
    run();
    times.push_back({.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
                     .processor_seconds = processor_seconds() - processor});
  }
  BenchTime median;
  for (double BenchTime::*which : {&BenchTime::seconds, &BenchTime::processor_seconds}) {
    std::ranges::sort(times, {}, which);
    median.*which = times[times.size() / 2].*which;
  }
  return median;
}

void Products::on_op(const OpEvent& event) {
  flop += event.flop;
  const bool bf16 = event.factors == DType::bf16 && ceilings.bf16_gflops > 0;
  least += event.flop * 1e-9 / (bf16 ? ceilings.bf16_gflops : ceilings.matrix_gflops);
}

BenchFolder::BenchFolder(const BenchOptions& options, const std::set<std::string>& components)
    : options_(options), folder_(options.model == "demo" ? demo_model_folder() : fs::path(options.model)) {
  if (options.model != "sd15" && options.model != "sdxl") {
    if (!options.keep.empty()) fail<UsageError>("bench: only generated weights can be kept, and {} is a checkpoint", options.model);
    if (!fs::is_directory(folder_))
      fail<IoError>("bench: '{}' is none of sd15, sdxl, demo, {}, and no checkpoint", options.model, bench_model_names());
    return;
  }
  if (options.keep.empty()) {
    std::string name = (fs::temp_directory_path() / "hearth-bench-XXXXXX").string();
    if (!mkdtemp(name.data())) fail<IoError>("bench: no folder can be made in {}", fs::temp_directory_path().string());
    folder_ = name;
  } else {
    folder_ = options.keep;
    std::error_code error;
    if (!fs::create_directory(folder_, error)) fail<IoError>("bench: the folder {} cannot be made, needed a new name", options.keep);
  }
  temporary_ = true;
  try {
    generate(components);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    throw;
  }
  temporary_ = options.keep.empty();
}

// A folder as it is published: configurations, vocabularies, weights.
void BenchFolder::generate(const std::set<std::string>& components) const {
  const auto copy = [](const fs::path& from, const fs::path& to) {
    fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  };
  copy(assets_folder() / "configs" / options_.model, folder_);
  for (const char* tokenizer : {"tokenizer", "tokenizer_2"})
    for (const char* file : {"vocab.json", "merges.txt"})
      if (fs::is_directory(folder_ / tokenizer)) copy(assets_folder() / "clip-vit-l-14" / file, folder_ / tokenizer / file);
  const DType dtype = options_.precision == Precision::f32 ? DType::f32 : options_.precision == Precision::bf16 ? DType::bf16 : DType::f16;
  int64_t done = 0;
  for (const std::string& component : components) {
    if (options_.progress) options_.progress({.phase = "write", .done = done++, .total = int64_t(components.size())});
    const char* file = "diffusion_pytorch_model.safetensors";
    if (component == "unet") write_component<parts::Unet, parts::UnetConfig>(folder_, "unet", file, dtype);
    if (component == "vae") write_component<parts::AutoencoderKl, parts::AutoencoderKlConfig>(folder_, "vae", file, dtype);
    if (component == "text_encoder")
      for (const char* tower : text_towers)
        if (fs::is_directory(folder_ / tower))
          write_component<parts::ClipTextModel, parts::ClipTextConfig>(folder_, tower, "model.safetensors", dtype);
  }
}

BenchFolder::~BenchFolder() {
  std::error_code ignored;
  if (temporary_) fs::remove_all(folder_, ignored);
}

std::vector<parts::ClipTextModel> BenchFolder::texts(Backend& device) const {
  std::vector<parts::ClipTextModel> texts;
  for (const char* tower : text_towers)
    if (fs::is_directory(folder_ / tower))
      texts.push_back(load<parts::ClipTextModel, parts::ClipTextConfig>(folder_, tower, options_, device));
  return texts;
}
parts::Unet BenchFolder::unet(Backend& device) const { return load<parts::Unet, parts::UnetConfig>(folder_, "unet", options_, device); }
parts::AutoencoderKl BenchFolder::vae(Backend& device) const {
  return load<parts::AutoencoderKl, parts::AutoencoderKlConfig>(folder_, "vae", options_, device);
}

std::array<int64_t, 2> BenchFolder::latents() const {
  const auto [height, width] = pixels();
  const int64_t f = factor(), H = height / f, W = width / f;
  if (H < 1 || W < 1 || height % f || width % f) fail<UsageError>("bench: {} × {} is not a size in multiples of {}", width, height, f);
  return {H, W};
}

std::array<int64_t, 2> BenchFolder::pixels() const {
  std::array<int64_t, 2> pixels{512, 512};
  if (const fs::path unet = folder_ / "unet/config.json"; fs::exists(unet))
    if (const auto latents = parts::UnetConfig::from(Config::load(unet)).sample_size)
      pixels = {(*latents)[0] * factor(), (*latents)[1] * factor()};
  return {options_.height.value_or(pixels[0]), options_.width.value_or(pixels[1])};
}

int64_t BenchFolder::factor() const { return parts::AutoencoderKlConfig::from(Config::load(folder_ / "vae/config.json")).factor(); }

std::function<void()> BenchFolder::text_run(const std::vector<parts::ClipTextModel>& texts) const {
  return [&texts] {
    for (const parts::ClipTextModel& text : texts)
      text(std::vector<std::vector<int32_t>>(2, std::vector<int32_t>(size_t(text.config.positions), 1)));
  };
}

std::function<void()> BenchFolder::unet_run(const parts::Unet& unet, Backend& device) const {
  const auto [H, W] = latents();
  const int64_t positions = parts::ClipTextConfig::from(Config::load(folder_ / "text_encoder/config.json")).positions;
  const Tensor x = seeded_tensor(device, "x", {2, H, W, unet.config.in_channels});
  const Tensor context = unet.config.context ? seeded_tensor(device, "context", {2, positions, unet.config.context}) : Tensor();
  const Tensor added = unet.config.added ? seeded_tensor(device, "added", {2, unet.config.added}) : Tensor();
  const Tensor guidance = unet.config.guidance ? seeded_tensor(device, "guidance", {2, unet.config.guidance}) : Tensor();
  return [&unet, x, given = parts::UnetConditions{.context = context, .added = added, .guidance = guidance}] {
    const float timestep = 500;
    unet(x, {&timestep, 1}, given);
  };
}

std::function<void()> BenchFolder::vae_run(const parts::AutoencoderKl& vae, Backend& device) const {
  const auto [H, W] = latents();
  return [&vae, z = seeded_tensor(device, "z", {1, H, W, vae.config.latent_channels})] { vae.decode(z); };
}

nlohmann::json machine_json(Backend& device, const Ceilings& ceilings) {
  nlohmann::json json = {{"isa", device.features()},
                         {"threads", device.threads().size()},
                         {"matrix_gflops", ceilings.matrix_gflops},
                         {"read_gbs", ceilings.read_gbs}};
  if (ceilings.bf16_gflops > 0) json["bf16_gflops"] = ceilings.bf16_gflops;
  return json;
}

std::string machine_text(Backend& device, const Ceilings& ceilings) {
  std::string bf16;
  if (ceilings.bf16_gflops > 0) bf16 = fmt::format(", of bf16 factors {:.0f}", ceilings.bf16_gflops);
  return fmt::format("{} {}, {} threads: {:.0f} GFLOP/s{}, reads {:.1f} GB/s (measured now)\n", device.name(), device.features(),
                     device.threads().size(), ceilings.matrix_gflops, bf16, ceilings.read_gbs);
}

}  // namespace hearth::api
