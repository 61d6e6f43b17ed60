#include "bench/bench_model.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/assets.h"
#include "api/places.h"
#include "api/precision.h"
#include "backends/plan/plan_backend.h"
#include "bench/bench.h"
#include "bench/generated.h"
#include "core/files/file.h"
#include "core/files/json.h"
#include "core/memory.h"
#include "models/checkpoints.h"
#include "models/diffusion/generated_weights.h"
#include "models/request.h"
#include "sampling/guidance/guidance.h"
#include "weights/layout/configurations.h"
#include "weights/seeded.h"
#include "weights/seeded_file.h"

namespace hearth::api {
namespace {

namespace fs = std::filesystem;
using namespace models::diffusion;

Tensor seeded_tensor(Backend& device, const std::string& name, const Shape& shape) {
  return Tensor::from(device, shape, seeded_values(name, shape));
}

bool contains(const std::vector<std::string>& names, const std::string& name) { return std::ranges::find(names, name) != names.end(); }

// Writes a diffusers folder without weights: a built-in configuration and the vocabularies that it omits.
void write_configuration(const std::string& name, const fs::path& folder) {
  const std::vector<KnownFamily> families = models::image_files(assets_folder());
  const auto family = std::ranges::find_if(families, [&](const KnownFamily& f) { return fs::is_directory(f.configurations / name); });
  const fs::path from = family->configurations / name;
  const auto copy = [&](const fs::path& source, const fs::path& file) {
    if (!fs::exists(source) || fs::exists(folder / file)) return;
    fs::create_directories((folder / file).parent_path());
    fs::copy_file(source, folder / file);
  };
  copy(from / "model_index.json", "model_index.json");
  for (const Component& c : components_of(load_json(from / "model_index.json"), name))
    for (const std::string& file : text_files(c)) copy(published_file(from, fs::path(c.name) / file, families), fs::path(c.name) / file);
  for (const Vocabulary& v : family->files->vocabularies)
    if (!fs::exists(folder / v.component / v.instead))
      for (const std::string_view file : v.files) copy(assets_folder() / v.folder / file, fs::path(v.component) / file);
}

// A benchmark, or the built-in configuration of that name.
models::Benchmark benchmark_named(const std::string& benchmark) {
  for (const models::Entry& entry : models::entries())
    if (const auto* family = std::get_if<models::ImageFamily>(&entry.task))
      for (const models::Benchmark& b : family->benchmarks)
        if (b.name == benchmark) return b;
  return benchmark.c_str();
}

// Input channels of a denoiser in addition to the latents.
int64_t channels_beside(const Facts& facts) {
  switch (facts.beside) {
    case Beside::mask_and_image: return facts.codec.latent_channels + 1;
    case Beside::image: return facts.codec.latent_channels;
    case Beside::depth: return 1;
    case Beside::control: return facts.codec.latent_channels;
    case Beside::image_and_mask: return facts.codec.latent_channels + facts.codec.factor * facts.codec.factor;
    default: return 0;
  }
}

}  // namespace

DryNetworks::DryNetworks(const LatentModel& model, Backend& plan, const std::vector<Role>& roles) : networks_(model.components().size()) {
  for (size_t i = 0; i < networks_.size(); ++i) {
    const ComponentSpec& spec = model.components()[i];
    if (std::ranges::find(roles, spec.role) == roles.end()) continue;
    const auto requested = std::make_shared<RequestedTensors>();
    Weights weights(requested, plan);
    networks_[i] = spec.build(Scope(weights));
    weights_[spec.role].merge(requested->tensors);
  }
}

Conditioning benchmark_conditioning(const LatentModel& model, const Loaded& networks, Backend& device) {
  const models::ImageTask task{.request = {.prompt = "a lighthouse", .negative_prompt = "a lighthouse"}};
  models::ResolvedImage resolved{
      .width = 512, .height = 512, .steps = 20, .guidance = models::guidance_of(task.request, model.facts().guidance)};
  const std::vector<EncodedPrompt> prompts = model.read_prompts(task, true, device, resolved)->encode(networks, device);
  return concat(given_at(prompts.at(1).conditions[0], 0), given_at(prompts.at(0).conditions[0], 0));
}

BenchModel::BenchModel(const BenchOptions& options, std::vector<Role> roles)
    : options_(options), roles_(std::move(roles)), folder_(options.model == "demo" ? demo_model_folder() : fs::path(options.model)) {
  const bool generated = contains(image_benchmarks(), options.model);
  if (!generated && !options.keep.empty())
    fail<UsageError>("bench: --save-weights requires generated weights, but {} is a checkpoint", options.model);
  if (!generated && !fs::exists(folder_)) {
    fail<IoError>("bench: '{}' is not a checkpoint, expected one, or a model with generated weights: demo, {}, {}", options.model,
                  fmt::join(image_benchmarks(), ", "), fmt::join(language_benchmarks(), ", "));
  }
  if (generated) generate();
  try {
    if (!checkpoint_) checkpoint_ = models::open_checkpoint(folder_, places_of(folder_));
    if (members_.empty()) describe();
  } catch (...) {
    if (temporary_) fs::remove_all(folder_);
    throw;
  }
}

void BenchModel::describe() {
  members_.push_back(models::find_family(*checkpoint_).family.describe(*checkpoint_));
  if (auto second = members_[0]->second()) members_.push_back(std::move(second));
  check_size();
}

// Writes a checkpoint folder: configurations, vocabularies, weights.
void BenchModel::generate() {
  if (options_.keep.empty()) {
    std::string name = (fs::temp_directory_path() / "hearth-bench-XXXXXX").string();
    if (!mkdtemp(name.data())) fail<IoError>("bench: cannot create a folder in {}", fs::temp_directory_path().string());
    folder_ = name;
  } else {
    folder_ = options_.keep;
    std::error_code error;
    if (!fs::create_directory(folder_, error)) fail<IoError>("bench: cannot create the folder {}, expected a new name", options_.keep);
  }
  temporary_ = true;
  try {
    const models::Benchmark benchmark = benchmark_named(options_.model);
    write_configuration(std::string(benchmark.configuration), folder_);
    models::write_stand_ins(benchmark, folder_);
    checkpoint_ = models::open_checkpoint(folder_);
    describe();
    generate_weights();
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    throw;
  }
  temporary_ = options_.keep.empty();
}

// In a float type in the folders of the components; in a block type as a GGUF file for each denoiser and text encoder, and the rest in f16.
void BenchModel::generate_weights() {
  const DType of_precision = options_.precision == Precision::f32    ? DType::f32
                             : options_.precision == Precision::bf16 ? DType::bf16
                                                                     : DType::f16;
  const DType type = options_.weights.empty() ? of_precision : weight_type_named(options_.weights);
  std::map<std::string, fs::path> files;
  for (const auto& member : members_) {
    std::vector<std::string> floats, blocks;
    for (const ComponentSpec& spec : member->components()) {
      if (std::ranges::find(roles_, spec.role) == roles_.end()) continue;
      (is_blocked(type) && spec.role != Role::codec ? blocks : floats).push_back(spec.name);
    }
    if (!floats.empty()) write_generated_weights(*member, folder_, is_blocked(type) ? DType::f16 : type, floats, options_.progress);
    if (!blocks.empty()) files.merge(write_generated_gguf(*checkpoint_, *member, blocks, type, folder_, options_.progress));
  }
  if (!files.empty()) checkpoint_ = models::open_checkpoint(folder_, {.components = files});
}

BenchModel::~BenchModel() {
  std::error_code ignored;
  if (temporary_) fs::remove_all(folder_, ignored);
}

std::string BenchModel::name_of(Role role, size_t member) const {
  return std::ranges::find(members_[member]->components(), role, &ComponentSpec::role)->name;
}

std::array<int64_t, 2> BenchModel::pixels() const {
  const std::array<int64_t, 2> native = model().facts().native.value_or(std::array<int64_t, 2>{512, 512});
  return {options_.height.value_or(native[0]), options_.width.value_or(native[1])};
}

void BenchModel::check_size() const {
  const auto [height, width] = pixels();
  const Facts& facts = model().facts();
  const int64_t unit = facts.side_unit();
  if (width < unit || height < unit || width % unit || height % unit)
    fail<UsageError>("bench: the size is {} × {}, expected multiples of {}", width, height, unit);
  if (!facts.own_latents || !facts.size_of_run) return;
  if (const auto [H, W] = facts.size_of_run(height, width); H != height || W != width)
    fail<UsageError>("bench: the size is {} × {}, which this model does not make, expected {} × {}", width, height, W, H);
}

Shape BenchModel::latents(size_t member) const {
  const auto& own = model(member).facts().own_latents;
  if (!own) return image_latents();
  const auto [height, width] = pixels();
  const auto [h, w] = own->size(height, width);
  return {1, h, w, own->channels};
}

Shape BenchModel::image_latents() const {
  const auto [height, width] = pixels();
  const CodecConfig& codec = model().facts().codec;
  return {1, height / codec.factor, width / codec.factor, codec.latent_channels};
}

std::unique_ptr<Networks> BenchModel::open(Backend& device) const {
  const std::optional<WeightTypes> types = weight_types(options_.precision, device);
  const models::LoadRequest request{
      .variant = options_.variant, .types = types, .card_blocks = options_.gpu_layers.value_or(models::all_blocks)};
  std::vector<Networks::Member> members;
  for (const auto& member : members_) members.push_back({.checkpoint = *checkpoint_, .components = member->components(), .roles = roles_});
  return std::make_unique<Networks>(members, device, request);
}

int64_t BenchModel::step_images(size_t member) const {
  const Facts& facts = model(member).facts();
  if (member > 0 && !sampling::uses_guidance({.scale = facts.guidance})) return 1;
  return facts.scale_use == ScaleUse::factor ? 2 : 1;
}

std::function<void()> BenchModel::text_run(const Holding& networks, Backend& device) const {
  return [this, &networks, &device] { benchmark_conditioning(model(), networks.of(0), device); };
}

std::function<void()> BenchModel::step_run(const Holding& networks, Backend& device, size_t member) const {
  const Facts& facts = model(member).facts();
  MemoryLedger ledger;
  const auto plan = make_plan_backend(ledger);
  Conditioning given = benchmark_conditioning(model(), DryNetworks(model(), *plan, {Role::text_encoder}).loaded(), *plan);
  const int64_t images = step_images(member);
  const auto inputs = [&](const std::string& name, Shape shape) {
    shape[0] = images;
    return seeded_tensor(device, name, shape);
  };
  for (auto& [name, x] : given.tensors) x = inputs(name, x.shape());
  const Tensor x = inputs("x", latents(member)), before = member > 0 ? inputs("before", latents(0)) : Tensor();
  const int64_t more = channels_beside(facts);
  const Tensor beside = more ? inputs("beside", image_latents().with_last(more)) : Tensor();
  return [this, &networks, x, beside, before, given, member] {
    model(member).denoise(networks.of(member), x, 500, {.given = given, .beside = beside, .before = before});
  };
}

std::function<void()> BenchModel::steps_run(const Holding& networks, Backend& device) const {
  std::vector<std::function<void()>> steps;
  for (size_t member = 0; member < members(); ++member) steps.push_back(step_run(networks, device, member));
  return [steps] {
    for (const auto& step : steps) step();
  };
}

std::function<void()> BenchModel::decode_run(const Holding& networks, Backend& device) const {
  const Tensor z = seeded_tensor(device, "z", image_latents());
  return [this, &networks, z] { model().codec(networks.of(0)).decode(z); };
}

}  // namespace hearth::api

std::vector<std::string> hearth::image_benchmarks() {
  // The family of the demo model comes first: its benchmark is the default of the command.
  static const std::vector<std::string> all = [] {
    std::string_view first;
    try {
      first = models::find_family(models::open_checkpoint(api::demo_model_folder())).name;
    } catch (const Error&) {}  // without assets, the order is that of the families
    std::vector<std::string> names;
    for (const bool of_first : {true, false})
      for (const models::Entry& entry : models::entries())
        if (const auto* family = std::get_if<models::ImageFamily>(&entry.task); family && (entry.name == first) == of_first)
          for (const models::Benchmark& benchmark : family->benchmarks) names.emplace_back(benchmark.name);
    return names;
  }();
  return all;
}
