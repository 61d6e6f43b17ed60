#include "models/stable_diffusion/networks.h"

#include <functional>

#include "backends/plan/plan_backend.h"
#include "core/error.h"
#include "models/checkpoints.h"
#include "models/clip_files.h"
#include "weights/packed_cache.h"

namespace hearth::models::stable_diffusion {
namespace {

namespace fs = std::filesystem;

// Several loads, told as one.
struct Overall {
  const OnProgress& progress;
  int64_t total, before = 0;

  OnProgress part() const {
    return [this](const Progress& p) {
      if (progress) progress({.phase = "load", .done = before + p.done, .total = total});
    };
  }
};

// What a text encoder's states do not depend on where they are those of a layer before the last one and are not pooled: some merged files
// hold NaN there.
std::vector<std::string> idle_tensors(const Family& family, const parts::ClipTextConfig& c) {
  if (family.clip_skip < 2 || family.final_norm || c.projection) return {};
  return {fmt::format("text_model.encoder.layers.{}.*", c.layers - 1), "text_model.final_layer_norm.*"};
}

}  // namespace

template <class Self> auto Networks::files(Self& self) {
  std::vector<decltype(&self.unet_files_)> all;
  for (auto& c : self.text_files_) all.push_back(&c);
  all.push_back(&self.unet_files_);
  if (self.vae_files_) all.push_back(&*self.vae_files_);
  return all;
}

Networks::Component Networks::open(const Checkpoint& checkpoint, const std::string& name, const std::string& variant,
                                   const std::optional<WeightTypes>& asked, const Backend& device) {
  Component c{.source = checkpoint.tensors(name, variant),
              .paths = checkpoint.files(name, variant).files,
              .ignored = checkpoint.ignored(name),
              .part_of_files = checkpoint.part_of_files(name),
              .report = {.name = name, .class_name = checkpoint.component(name).class_name}};
  for (const auto& file : c.paths) c.report.files.push_back(checkpoint.shown(file));
  describe(c, asked, device);
  return c;
}

void Networks::describe(Component& c, const std::optional<WeightTypes>& asked, const Backend& device) {
  for (const auto& [tensor, info] : c.source->list()) {
    const int64_t bytes = int64_t(bytes_of(info.dtype, info.shape.numel()));
    c.bytes += bytes;
    c.largest = std::max(c.largest, bytes);
    c.report.stored[std::string(name_of(info.dtype))] += info.shape.numel();
  }
  c.types = asked ? *asked : automatic_types(*c.source, device);
  c.report.held = c.types.hold ? std::string(name_of(*c.types.hold)) : "as stored";
  c.report.factors = name_of(c.types.factors);
}

void Networks::open_preview(const fs::path& path) {
  const GivenComponent given = open_component(path, "vae");
  if (given.class_name != "AutoencoderTiny")
    fail<UnsupportedError>("{}: previews are decoded by an AutoencoderTiny (TAESD), this is an {}", path.string(), given.class_name);
  preview_config_ = parts::AutoencoderTinyConfig::from(given.own_config());
  check_preview(preview_config_, vae_config_, path.string());
  preview_files_ = Component{.source = given.tensors,
                             .paths = given.files,
                             .ignored = {"encoder.*"},
                             .part_of_files = "preview",
                             .report = {.name = "preview", .class_name = given.class_name}};
  describe(*preview_files_, {}, *device_);
}

Networks::Networks(const Checkpoint& checkpoint, const StableDiffusionConfig& config, Backend& device, const LoadRequest& request)
    : Networks(checkpoint, config, device, request, nullptr) {
  vae_files_ = open(checkpoint, "vae", request.variant, request.types_of("vae"), device);
  if (!request.preview_decoder.empty()) open_preview(request.preview_decoder);
  if (request.refiner) refiner = std::shared_ptr<Networks>(new Networks(*request.refiner, *config.refiner, device, request, &checkpoint));
}

Networks::Networks(const Checkpoint& checkpoint, const StableDiffusionConfig& config, Backend& device, const LoadRequest& request,
                   const Checkpoint* refined)
    : unet_files_(open(checkpoint, "unet", request.variant, request.types_of("unet"), device)),
      unet_config_(config.unet),
      vae_config_(config.vae),
      device_(&device),
      cache_(request.cache),
      warn_(request.warn) {
  for (const StableDiffusionConfig::Tower& tower : config.towers) {
    text_files_.push_back(
        open(checkpoint, std::string(tower.names.encoder), request.variant, request.types_of(tower.names.encoder), device));
    text_configs_.push_back(tower.config);
    text_files_.back().idle = idle_tensors(*config.family, tower.config);
  }
  if (refined)
    for (Component* c : files(*this)) {
      c->report.name = "refiner/" + c->report.name;
      c->report.files.clear();
      for (const auto& file : c->paths)
        c->report.files.push_back(fs::absolute(file).lexically_relative(fs::absolute(refined->root())).string());
    }
  require_cache(cache_, device);
}

Networks Networks::on(Backend& twin, MemoryLedger& ledger) const {
  Networks other = *this;
  other.refiner = nullptr;
  other.clear();
  other.device_ = &twin;
  other.ledger_ = &ledger;
  if (refiner) other.refiner = std::make_shared<Networks>(refiner->on(twin, ledger));
  return other;
}

void Networks::clear_texts() {
  texts.clear();
  if (refiner) refiner->clear_texts();
}

void Networks::clear() {
  texts.clear(), unet.reset(), vae.reset(), preview.reset();
  if (refiner) refiner->clear();
}

template <class Network, class NetworkConfig>
Network Networks::build(Component& c, const NetworkConfig& config, Weights::Reading reading, const OnProgress& progress) {
  std::unique_ptr<PackedCache> cache;
  LoadOptions options{.types = c.types, .progress = progress, .ignore = c.ignored, .idle = c.idle};
  if (device_->computes() && reading == Weights::Reading::full && !cache_.empty()) {
    cache = open_cache(cache_, c.paths, c.types, *device_, warn_, c.part_of_files);
    options.cache = cache.get();
    options.cache_of_part = [folder = cache_, paths = c.paths, whole = c.part_of_files, types = c.types, device = device_,
                             warn = warn_](const std::string& part) {
      return open_cache(folder, paths, types, *device, warn, whole.empty() ? part : whole + ", " + part);
    };
  }
  Weights weights(c.source, *device_, options, reading);
  Network network(Scope(weights), config);
  weights.finish();
  if (cache) cache->finish(device_->threads());
  c.report.parameters = weights.report().parameters;
  c.report.bytes = weights.report().bytes_held;
  c.report.kept_wider = weights.report().kept_wider;
  if (const auto& bad = weights.report().non_finite; !bad.empty() && warn_ && reading == Weights::Reading::full)
    warn_(fmt::format("{}: '{}'{} with NaN or infinite values; nothing is made of the last layer unless clip skip is 1", c.report.name,
                      bad[0], bad.size() > 1 ? fmt::format(" and {} more tensors", bad.size() - 1) : ""));
  if (ledger_) {  // the file's pages are let go of tensor by tensor
    ledger_->add(c.largest);
    ledger_->add(-c.largest);
  }
  return network;
}

void Networks::load_texts(const OnProgress& progress) {
  Overall all{progress, text_bytes()};
  if (texts.empty()) {
    std::vector<parts::ClipTextModel> loaded;
    for (size_t i = 0; i < text_files_.size(); ++i) {
      loaded.push_back(build<parts::ClipTextModel>(text_files_[i], text_configs_[i], Weights::Reading::full, all.part()));
      all.before += text_files_[i].bytes;
    }
    texts = std::move(loaded);
  }
  if (refiner) refiner->load_texts(all.part());
}
void Networks::load_unet(const OnProgress& progress) {
  if (!unet) unet.emplace(build<parts::Unet>(unet_files_, unet_config_, Weights::Reading::full, progress));
}
void Networks::load_vae(const OnProgress& progress) {
  if (!vae) vae.emplace(build<Vae>(*vae_files_, vae_config_, Weights::Reading::full, progress));
}
void Networks::load_preview(const OnProgress& progress) {
  if (!preview && preview_files_)
    preview.emplace(build<PreviewDecoder>(*preview_files_, preview_config_, Weights::Reading::full, progress));
}

void Networks::load(const OnProgress& progress) {
  const int64_t of_texts = text_bytes(), of_unet = unet ? 0 : unet_files_.bytes, of_vae = vae || !vae_files_ ? 0 : vae_files_->bytes;
  Overall all{progress, bytes_to_load()};
  load_texts(all.part());
  all.before += of_texts;
  load_unet(all.part());
  all.before += of_unet;
  if (vae_files_) load_vae(all.part());
  all.before += of_vae;
  const int64_t of_preview = preview || !preview_files_ ? 0 : preview_files_->bytes;
  load_preview(all.part());
  all.before += of_preview;
  if (refiner) refiner->load(all.part());
}

void Networks::check(Weights::Reading reading) {
  for (size_t i = 0; texts.empty() && i < text_files_.size(); ++i)
    build<parts::ClipTextModel>(text_files_[i], text_configs_[i], reading, {});
  if (!unet) build<parts::Unet>(unet_files_, unet_config_, reading, {});
  if (!vae && vae_files_) build<Vae>(*vae_files_, vae_config_, reading, {});
  if (!preview && preview_files_) build<PreviewDecoder>(*preview_files_, preview_config_, reading, {});
  if (refiner) refiner->check(reading);
}

void Networks::require_unchanged() const {
  for (const Component* c : files(*this)) c->source->require_unchanged();
  if (preview_files_) preview_files_->source->require_unchanged();
  if (refiner) refiner->require_unchanged();
}

int64_t Networks::text_bytes() const {
  int64_t bytes = refiner ? refiner->text_bytes() : 0;
  if (texts.empty())
    for (const Component& c : text_files_) bytes += c.bytes;
  return bytes;
}

int64_t Networks::bytes_to_load() const {
  int64_t bytes = text_bytes() + (unet ? 0 : unet_files_.bytes) + (vae || !vae_files_ ? 0 : vae_files_->bytes);
  if (preview_files_ && !preview) bytes += preview_files_->bytes;
  if (refiner && !refiner->unet) bytes += refiner->unet_files_.bytes;
  return bytes;
}

int64_t Networks::bytes_loaded() const {
  int64_t bytes = (unet ? unet_files_.report.bytes : 0) + (vae ? vae_files_->report.bytes : 0) + (refiner ? refiner->bytes_loaded() : 0);
  if (preview) bytes += preview_files_->report.bytes;
  if (!texts.empty())
    for (const Component& c : text_files_) bytes += c.report.bytes;
  return bytes;
}

std::vector<ComponentReport> Networks::reports() const {
  std::vector<ComponentReport> reports;
  for (const Component* c : files(*this)) reports.push_back(c->report);
  if (refiner)
    for (ComponentReport& report : refiner->reports()) reports.push_back(std::move(report));
  return reports;
}

std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const Family& family, const std::string& variant) {
  MemoryLedger ledger;
  const auto device = make_plan_backend(ledger);
  std::vector<ComponentCheck> checks;
  const auto attempt = [&](std::string component, const std::function<void()>& step) {
    checks.push_back({std::move(component), {}});
    try {
      step();
    } catch (const Error& e) { checks.back().problem = e.what(); }
  };
  const auto builds = [&]<class Network, class NetworkConfig>(std::string_view name, const NetworkConfig& config) {
    Weights weights(checkpoint.tensors(name, variant), *device, {.ignore = checkpoint.ignored(name)}, Weights::Reading::names);
    const Network network(Scope(weights), config);
    weights.finish();
  };
  for (const TowerNames& tower : family.towers)
    attempt(std::string(tower.encoder), [&] {
      const parts::ClipTextConfig config =
          parts::ClipTextConfig::from(checkpoint.config(tower.encoder), checkpoint.component(tower.encoder).class_name);
      builds.operator()<parts::ClipTextModel>(tower.encoder, config);
    });
  attempt("unet", [&] { builds.operator()<parts::Unet>("unet", parts::UnetConfig::from(checkpoint.config("unet"))); });
  attempt("vae", [&] { builds.operator()<Vae>("vae", VaeConfig::from(checkpoint)); });
  for (const TowerNames& tower : family.towers)
    attempt(std::string(tower.tokenizer), [&] { text::ClipTokenizer::parse(clip_files(checkpoint, tower.tokenizer)); });
  attempt("scheduler",
          [&] { sampling::SchedulerConfig::read(checkpoint.config("scheduler"), checkpoint.component("scheduler").class_name); });
  attempt("checkpoint", [&] { StableDiffusionConfig::from(checkpoint, family); });
  // What is wrong with one component is wrong with the whole, too; once is enough.
  for (size_t i = 0; i + 1 < checks.size(); ++i)
    if (checks[i].problem == checks.back().problem) checks.back().problem.clear();
  return checks;
}

}  // namespace hearth::models::stable_diffusion
