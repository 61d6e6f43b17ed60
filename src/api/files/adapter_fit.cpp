#include "api/files/adapter_fit.h"

#include <stdlib.h>

#include <fmt/ranges.h>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "adapters/adapter_file.h"
#include "api/assets.h"
#include "api/places.h"
#include "backends/plan/plan_backend.h"
#include "core/error.h"
#include "core/files/json.h"
#include "core/memory.h"
#include "hub/local_model.h"
#include "models/adapter_use.h"
#include "models/checkpoints.h"
#include "models/control_files.h"
#include "models/registry.h"
#include "weights/layout/configurations.h"
#include "weights/listing.h"
#include "weights/seeded_file.h"

namespace hearth::api {
namespace {

namespace fs = std::filesystem;

class TemporaryLinks {
 public:
  TemporaryLinks() {
    std::string name = (fs::temp_directory_path() / "hearth-XXXXXX").string();
    if (!::mkdtemp(name.data())) fail<IoError>("inspect: cannot create a folder in {}", fs::temp_directory_path().string());
    path = name;
  }
  TemporaryLinks(const TemporaryLinks&) = delete;
  TemporaryLinks& operator=(const TemporaryLinks&) = delete;
  ~TemporaryLinks() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

// The networks of a checkpoint without weights, as adapters see them.
std::vector<adapters::AdaptedNetwork> networks_without_weights(const fs::path& folder) {
  const Checkpoint checkpoint = models::open_checkpoint(folder, {.assets = assets_folder()});
  const auto model = models::find_family(checkpoint).family.describe(checkpoint);
  std::vector<adapters::AdaptedNetwork> all;
  for (const models::diffusion::ComponentSpec& spec : model->components()) {
    if (spec.role != models::Role::text_encoder && spec.role != models::Role::denoiser) continue;
    MemoryLedger ledger;
    const auto plan = make_plan_backend(ledger);
    const auto requested = std::make_shared<RequestedTensors>();
    Weights weights(requested, *plan);
    spec.build(Scope(weights));
    adapters::AdaptedNetwork& network = all.emplace_back();
    network.component = spec.name;
    network.role = spec.role == models::Role::denoiser ? ComponentRole::denoiser : ComponentRole::text_encoder;
    for (const auto& [name, shape] : requested->tensors) network.tensors[name].shape = shape;
    network.files = checkpoint.network(spec.name);
    network.prefixes = checkpoint.prefixes(spec.name);
    network.surplus = network.files ? network.files->ignored : std::vector<std::string>();
  }
  return all;
}

std::string kinds_of(const adapters::AdapterFile& file, std::set<int64_t>& ranks) {
  std::map<std::string, int64_t> kinds;
  for (const adapters::Module& m : file.modules) {
    const bool dora = m.has("dora_scale") || m.has("magnitude");
    const char* kind = m.has("down")                            ? dora           ? "DoRA"
                                                                  : m.has("mid") ? "LoCon with a core"
                                                                                 : "LoRA"
                       : m.has("hada_w1_a")                     ? "LoHa"
                       : m.has("lokr_w1") || m.has("lokr_w1_a") ? "LoKr"
                       : m.has("weight") || m.has("ia3")        ? "(IA)³"
                       : m.has("diff") || m.has("set_weight")   ? "differences"
                                                                : "biases";
    ++kinds[kind];
    if (m.has("down") && file.info(m, "down").shape.rank() > 0) ranks.insert(file.info(m, "down").shape[0]);
    if (m.has("hada_w1_b") && file.info(m, "hada_w1_b").shape.rank() > 0) ranks.insert(file.info(m, "hada_w1_b").shape[0]);
  }
  std::vector<std::string> texts;
  for (const auto& [kind, modules] : kinds) texts.push_back(fmt::format("{} of {} modules", kind, modules));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

void link_configuration(const KnownFamily& family, const std::string& name, const fs::path& folder) {
  const std::vector<KnownFamily> families = models::image_files(assets_folder());
  const fs::path from = family.configurations / name;
  const auto link = [&](const fs::path& source, const fs::path& file) {
    if (!fs::exists(source) || fs::exists(folder / file)) return;
    fs::create_directories((folder / file).parent_path());
    fs::create_symlink(fs::absolute(source), folder / file);
  };
  link(from / "model_index.json", "model_index.json");
  for (const Component& c : components_of(load_json(from / "model_index.json"), name))
    for (const std::string& file : text_files(c)) link(published_file(from, fs::path(c.name) / file, families), fs::path(c.name) / file);
  for (const Vocabulary& v : family.files->vocabularies)
    if (!fs::exists(folder / v.component / v.instead))
      for (const std::string_view file : v.files) link(assets_folder() / v.folder / file, fs::path(v.component) / file);
}

std::vector<Fit> fits_of(const fs::path& adapter) {
  std::vector<Fit> fits;
  const std::vector<KnownFamily> families = models::image_files(assets_folder());
  for (const models::Entry& entry : models::entries()) {
    const auto* own = std::get_if<models::ImageFamily>(&entry.task);
    if (!own || !own->files) continue;
    const auto family = std::ranges::find(families, own->files, &KnownFamily::files);
    std::map<std::string, models::Benchmark> configurations;  // those that stand for the family
    for (const models::Benchmark& b : own->benchmarks) configurations.emplace(b.configuration, b);
    for (const auto& [name, benchmark] : configurations) {
      if (!fs::is_directory(family->configurations / name)) continue;
      const TemporaryLinks folder;
      link_configuration(*family, name, folder.path);
      models::write_stand_ins(benchmark, folder.path);
      const adapters::Coverage coverage = adapters::cover(adapter, networks_without_weights(folder.path));
      const std::string shown = load_json(family->configurations / name / "model_index.json").value("_name", name);
      if (coverage.weights > 0) fits.push_back({shown, coverage});
    }
  }
  std::ranges::sort(fits, {}, [](const Fit& f) { return std::pair(f.missing(), f.model); });
  std::erase_if(fits, [&](const Fit& f) { return f.missing() > fits[0].missing(); });
  const auto twice = std::ranges::unique(fits, {}, &Fit::model);
  fits.erase(twice.begin(), twice.end());
  return fits;
}

std::string describe_adapter(const fs::path& adapter, const fs::path& model) {
  const adapters::AdapterFile file = adapters::open_adapter(adapter);
  std::set<int64_t> ranks;
  std::string text = fmt::format("adapter: {}", kinds_of(file, ranks));
  if (!ranks.empty()) text += fmt::format("; {} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
  text += "\n";
  if (!file.unknown.empty())
    text += fmt::format("{} tensors are no part of an adapter: {}\n", file.unknown.size(), shortened_list(file.unknown));
  const auto say = [&](std::string_view what, const adapters::Coverage& c) {
    text += fmt::format("{}: {} of {} modules\n", what, c.modules, c.modules + int64_t(c.absent.size() + c.surplus.size()));
    if (!c.absent.empty()) text += fmt::format("  lacks {}\n", shortened_list(c.absent));
  };
  if (!model.empty()) {
    const fs::path path = hub::local_model(model);
    const Checkpoint checkpoint = models::open_checkpoint(path, places_of(path));
    say("fits " + model.string(), adapters::cover(adapter, models::adapted_networks(checkpoint, {})));
    return text;
  }
  const std::vector<Fit> fits = fits_of(adapter);
  for (const Fit& fit : fits) say("for " + fit.model, fit.coverage);
  if (fits.empty()) text += "for no image model of this build\n";
  return text;
}

std::string describe_control(const fs::path& network, const fs::path& model) {
  const fs::path path = hub::local_model(model);
  const Checkpoint checkpoint = models::open_checkpoint(path, places_of(path));
  const auto described = models::find_family(checkpoint).family.describe(checkpoint);
  const auto is_denoiser = [](const models::diffusion::ComponentSpec& c) { return c.role == models::Role::denoiser; };
  const std::string denoiser = std::ranges::find_if(described->components(), is_denoiser)->name;
  GivenComponent given = models::open_control_network(network);
  try {
    models::require_control_for(described->facts().family, given);
    const auto fits = described->control_for(given, checkpoint.tensors(denoiser, {}));
    return fmt::format("fits {}: {}\n", model.string(), fits->class_name());
  } catch (const WeightError& e) {
    return fmt::format("does not fit {}: {}\n", model.string(), e.what());
  } catch (const UnsupportedError& e) { return fmt::format("does not fit {}: {}\n", model.string(), e.what()); }
}

}  // namespace hearth::api
