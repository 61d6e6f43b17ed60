#include "models/sd1/networks.h"

#include <functional>

#include "backends/plan/plan_backend.h"
#include "core/error.h"
#include "weights/packed_cache.h"

namespace hearth::models::sd1 {
namespace {

struct Opened {
  std::shared_ptr<TensorSource> source;
  std::vector<std::filesystem::path> paths;
  std::vector<std::string> ignored;
  ComponentReport report;
};

Opened open_component(const Checkpoint& checkpoint, const std::string& name, const std::string& variant) {
  Opened c{.source = checkpoint.tensors(name, variant),
           .paths = checkpoint.files(name, variant).files,
           .ignored = checkpoint.ignored(name),
           .report = {.name = name, .class_name = checkpoint.component(name).class_name}};
  for (const auto& file : c.paths) c.report.files.push_back(file.lexically_relative(checkpoint.root()).string());
  for (const auto& [tensor, info] : c.source->list()) c.report.stored[std::string(name_of(info.dtype))] += info.shape.numel();
  return c;
}

int64_t bytes_of(const TensorSource& source) {
  int64_t bytes = 0;
  for (const auto& [name, info] : source.list()) bytes += info.shape.numel() * int64_t(size_of(info.dtype));
  return bytes;
}

// Builds a network of a component's tensors: all or nothing.
template <class Network, class NetworkConfig>
Network build(Opened& c, const NetworkConfig& config, Backend& device, const std::optional<WeightTypes>& asked, const LoadRequest& request,
              const OnProgress& progress) {
  const WeightTypes types = asked ? *asked : automatic_types(*c.source, device);
  std::unique_ptr<PackedCache> cache;
  if (device.computes()) cache = open_cache(request.cache, c.paths, types, device, request.warn);
  Weights weights(c.source, device, {.types = types, .progress = progress, .cache = cache.get(), .ignore = c.ignored});
  Network network(Scope(weights), config);
  weights.finish();
  if (cache) cache->finish(device.threads());
  c.report.held = types.hold ? std::string(name_of(*types.hold)) : "as stored";
  c.report.factors = name_of(types.factors);
  c.report.parameters = weights.report().parameters;
  c.report.bytes = weights.report().bytes_held;
  c.report.kept_wider = weights.report().kept_wider;
  return network;
}

}  // namespace

Networks Networks::load(const Checkpoint& checkpoint, const Sd1Config& config, Backend& device, const LoadRequest& request) {
  Opened text = open_component(checkpoint, "text_encoder", request.variant);
  Opened unet = open_component(checkpoint, "unet", request.variant);
  Opened vae = open_component(checkpoint, "vae", request.variant);

  // One progress over all three.
  const int64_t total = bytes_of(*text.source) + bytes_of(*unet.source) + bytes_of(*vae.source);
  int64_t before = 0;
  const OnProgress progress = [&](const Progress& p) {
    if (request.progress) request.progress({.phase = "load", .done = before + p.done, .total = total});
  };
  auto text_model = build<parts::ClipTextModel>(text, config.text, device, request.text, request, progress);
  before += bytes_of(*text.source);
  auto unet_model = build<parts::Unet>(unet, config.unet, device, request.denoiser, request, progress);
  before += bytes_of(*unet.source);
  auto vae_model = build<parts::AutoencoderKl>(vae, config.vae, device, request.autoencoder, request, progress);
  return {std::move(text_model), std::move(unet_model), std::move(vae_model), {text.report, unet.report, vae.report}};
}

std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant) {
  MemoryLedger ledger;
  const auto device = make_plan_backend(ledger);
  std::vector<ComponentCheck> checks;
  const auto attempt = [&](std::string component, const std::function<void()>& step) {
    checks.push_back({std::move(component), {}});
    try {
      step();
    } catch (const Error& e) { checks.back().problem = e.what(); }
  };
  const auto builds = [&]<class Network, class NetworkConfig>(const char* name, const NetworkConfig& config) {
    Opened c = open_component(checkpoint, name, variant);
    build<Network>(c, config, *device, {}, {}, {});
  };
  attempt("text_encoder",
          [&] { builds.operator()<parts::ClipTextModel>("text_encoder", parts::ClipTextConfig::from(checkpoint.config("text_encoder"))); });
  attempt("unet", [&] { builds.operator()<parts::Unet>("unet", parts::UnetConfig::from(checkpoint.config("unet"))); });
  attempt("vae", [&] { builds.operator()<parts::AutoencoderKl>("vae", parts::AutoencoderKlConfig::from(checkpoint.config("vae"))); });
  attempt("tokenizer", [&] { text::ClipTokenizer::load(checkpoint.folder("tokenizer")); });
  attempt("scheduler",
          [&] { sampling::SchedulerConfig::read(checkpoint.config("scheduler"), checkpoint.component("scheduler").class_name); });
  attempt("checkpoint", [&] { Sd1Config::from(checkpoint); });
  // What is wrong with one component is wrong with the whole, too; once is enough.
  for (size_t i = 0; i + 1 < checks.size(); ++i)
    if (checks[i].problem == checks.back().problem) checks.back().problem.clear();
  return checks;
}

}  // namespace hearth::models::sd1
