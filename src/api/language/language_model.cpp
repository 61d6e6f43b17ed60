#include "hearth/language.h"

#include <algorithm>

#include "api/assets.h"
#include "api/gpu_share.h"
#include "api/language/language_state.h"
#include "api/precision.h"
#include "api/run_scope.h"
#include "backends/backends.h"
#include "backends/split/split_backend.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/observe.h"
#include "core/threads.h"
#include "hub/local_model.h"
#include "models/adapter_use.h"
#include "models/language_loading.h"
#include "models/language_registry.h"
#include "weights/changes.h"

namespace hearth {
namespace {

using api::Clock, api::OptionalCancel, api::seconds_since;

// End tokens are those of generation_config.json, even an empty list, else those of config.json.
void read_defaults(const LanguageCheckpoint& checkpoint, api::LanguageState& s) {
  const std::filesystem::path file = checkpoint.root() / "generation_config.json";
  std::error_code error;
  if (!checkpoint.gguf() && std::filesystem::exists(file, error)) {
    const Config generation = Config::load(file);
    s.defaults = sampling::GenerationDefaults::read(generation);
    if (generation.has("eos_token_id")) return;
  }
  const Config& c = checkpoint.config();
  if (!c.has("eos_token_id")) return;
  const std::string text = c.dump("eos_token_id");
  const std::vector<int64_t> ids = text.starts_with('[') ? c.integers("eos_token_id") : std::vector<int64_t>{c.integer("eos_token_id")};
  for (const int64_t id : ids)
    if (id >= 0) s.defaults.eos_token_ids.push_back(int32_t(id));
}

std::shared_ptr<const WeightChanges> changes_of(std::span<const Lora> loras, const models::LanguageFamily& family,
                                                const LanguageCheckpoint& checkpoint, api::LanguageState& s) {
  if (loras.empty()) return nullptr;
  std::vector<adapters::AdapterUse> uses;
  for (const Lora& lora : loras) uses.push_back(models::use_of(lora));
  const adapters::AdaptedNetwork network = models::adapted_network(family, checkpoint);
  adapters::Adapters made = adapters::read_adapters(uses, {&network, 1});
  for (const adapters::Coverage& c : made.coverage) s.adapter_notes.push_back(adapters::text_of(c));
  const auto found = made.changes.find(network.component);
  if (found == made.changes.end()) return nullptr;
  s.config["adapters"] = found->second->key;  // a saved text is one of these
  return found->second;
}

}  // namespace

struct LanguageModel::Impl : api::LanguageState {
  LanguageOptions options;  // it was opened with
  std::shared_ptr<const LanguageCheckpoint> checkpoint;
  std::shared_ptr<LoadedWeights> loaded;  // for models with adapters; null for one of them
};

struct LanguageModelAccess {
  static api::LanguageState& state_of(LanguageModel& model) { return *model.impl_; }
  // shared: the weights that another model of this checkpoint has loaded, or null.
  static LanguageModel open(const std::shared_ptr<const LanguageCheckpoint>& checkpoint, const LanguageOptions& options,
                            const std::shared_ptr<const LoadedWeights>& shared, const models::UseLanguageModel& use = {});
};

DType api::dtype_of(CacheType type) {
  switch (type) {
    case CacheType::f16: return DType::f16;
    case CacheType::bf16: return DType::bf16;
    case CacheType::q8_0: return DType::q8_0;
    default: return DType::f32;
  }
}

api::LanguageState& api::state_of(LanguageModel& model) { return LanguageModelAccess::state_of(model); }

LanguageModel::LanguageModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LanguageModel::LanguageModel(LanguageModel&&) noexcept = default;
LanguageModel& LanguageModel::operator=(LanguageModel&&) noexcept = default;
LanguageModel::~LanguageModel() = default;

LanguageModel LanguageModelAccess::open(const std::shared_ptr<const LanguageCheckpoint>& opened, const LanguageOptions& options,
                                        const std::shared_ptr<const LoadedWeights>& shared, const models::UseLanguageModel& given_use) {
  const auto start = Clock::now();
  const OptionalCancel cancel(options.cancel);
  const LanguageCheckpoint& checkpoint = *opened;
  const auto [name, family] = models::find_family(checkpoint);
  auto impl = std::make_unique<LanguageModel::Impl>();
  impl->checkpoint = opened;
  impl->options = options;
  impl->options.progress = {}, impl->options.cancel = nullptr, impl->options.before_loading = {};
  impl->family = name;
  read_defaults(checkpoint, *impl);
  static_cast<api::Wording&>(*impl) = checkpoint.gguf() ? api::Wording::of_gguf(checkpoint.root(), checkpoint.gguf()->metadata())
                                                        : api::Wording::of_folder(checkpoint.root());
  const BackendOptions named{.name = options.device, .threads = options.threads, .pinned = options.pin_threads};
  api::GpuShare share = api::gpu_share(options.gpu_layers, options.gpu_memory);
  impl->device = api::open_model_device(named, share);
  api::require_divided(share, {&impl->device, 1});
  impl->cache_type = api::dtype_of(options.cache_type);
  const Config stated = family.spell_out(checkpoint.config());
  for (const std::string& key : stated.keys()) impl->config[key] = stated.dump(key);
  impl->tensors = checkpoint.tensors();
  impl->gguf_places = [own = &family, tensors = impl->tensors] { return gguf_places_of(tensors->list(), own->gguf); };
  for (const auto& [tensor, info] : impl->tensors->list()) impl->weight_bytes += int64_t(bytes_of(info.dtype, info.shape.numel()));
  impl->quantized = checkpoint.quantized();
  if (options.loras.empty()) impl->loaded = std::make_shared<LoadedWeights>();
  const models::AdaptedLoading adapted{
      .changes = changes_of(options.loras, family, checkpoint, *impl), .shared = shared, .keep = impl->loaded};
  models::LoadRequest request{.variant = options.variant, .types = api::held_types(options.precision, *impl->device)};
  if (share.layers) request.card_blocks = *share.layers;
  if (auto* const device = dynamic_cast<SplitBackend*>(impl->device.get())) {
    const auto use_of_one = [&](models::LanguageModel& dry) {
      const int64_t context = options.gpu_context.value_or(std::min<int64_t>(dry.sizes().positions, 8192));
      if (!share.by_default) impl->card_context = context;  // else a longer one may fit as well
      models::use_of_text(context, context, impl->cache_type, true)(dry);
    };
    if (share.memory)
      request.card_blocks = models::most_card_blocks(family, checkpoint, *device, request, adapted,
                                                     given_use ? given_use : models::UseLanguageModel(use_of_one), *share.memory);
    impl->options.gpu_layers = request.card_blocks, impl->options.gpu_memory.reset();  // also of a model with adapters
    impl->card_bytes = [opened, own = &family, device, request, changes = adapted.changes, cache = impl->cache_type](int64_t prompt,
                                                                                                                     int64_t context) {
      return models::card_bytes(*own, *opened, *device, request, {.changes = changes}, models::use_of_text(prompt, context, cache));
    };
  }
  if (options.before_loading) {
    MemoryLedger ledger;
    const auto twin = impl->device->dry_twin(ledger);
    models::LoadedLanguageModel dry = models::load_language_model(family, checkpoint, *twin, request, {.changes = adapted.changes});
    impl->model = std::move(dry.model), impl->card = dry.report.card;
    LanguageModel unread(std::move(impl));
    options.before_loading(unread);
    impl = std::move(unread.impl_);
    impl->model.reset();
  }
  request.progress = options.progress;
  models::LoadedLanguageModel loaded = models::load_language_model(family, checkpoint, *impl->device, request, adapted);
  impl->model = std::move(loaded.model), impl->card = loaded.report.card;
  impl->load_seconds = seconds_since(start);
  return LanguageModel(std::move(impl));
}

LanguageModel LanguageModel::open(const std::filesystem::path& given, const LanguageOptions& options) {
  return api::open_language_model(given, options, {});
}

LanguageModel api::open_language_model(const std::filesystem::path& given, const LanguageOptions& options,
                                       const models::UseLanguageModel& use) {
  const std::filesystem::path path = given.empty() ? demo_language_model_folder() : hub::local_model(given);
  const auto checkpoint = std::make_shared<const LanguageCheckpoint>(models::open_language_checkpoint(path, options.variant));
  return LanguageModelAccess::open(checkpoint, options, nullptr, use);
}

LanguageModel LanguageModel::adapted(const std::vector<Lora>& loras) const {
  if (!impl_->loaded) fail<UsageError>("a model with adapters was asked for one with others, expected the model without");
  LanguageOptions options = impl_->options;
  options.loras = loras;
  return LanguageModelAccess::open(impl_->checkpoint, options, impl_->loaded);
}

LanguageModel LanguageModel::open_demo(const LanguageOptions& options) { return open(api::demo_language_model_folder(), options); }

std::string LanguageModel::family() const { return impl_->family; }
int64_t LanguageModel::positions() const { return impl_->model->sizes().positions; }
int64_t LanguageModel::vocabulary() const { return impl_->model->sizes().vocabulary; }
int64_t LanguageModel::weight_bytes() const { return impl_->weight_bytes; }
const QuantizedWeights& LanguageModel::quantized() const { return impl_->quantized; }
std::vector<std::string> LanguageModel::adapter_notes() const { return impl_->adapter_notes; }
double LanguageModel::load_seconds() const { return impl_->load_seconds; }
bool LanguageModel::device_lost() const { return impl_->device->lost(); }

int64_t LanguageModel::cache_bytes(int64_t context) const { return impl_->model->cache_bytes(context, impl_->cache_type); }

LanguageModel::Plan LanguageModel::plan(const CompletionRequest& request) const { return api::plan(*impl_, request); }

Completion LanguageModel::complete(const CompletionRequest& request) {
  const OptionalCancel cancel(request.cancel);
  return api::complete(*impl_, request);
}

Perplexity LanguageModel::perplexity(const PerplexityRequest& request) {
  const OptionalCancel cancel(request.cancel);
  return api::perplexity(*impl_, request);
}

ImatrixReport LanguageModel::write_imatrix(const ImatrixRequest& request) {
  const OptionalCancel cancel(request.cancel);
  return api::write_imatrix(*impl_, request);
}

void LanguageModel::save_state(const std::filesystem::path& path) const { api::write_state(path, *impl_); }

void LanguageModel::load_state(const std::filesystem::path& path) {
  impl_->saved = api::read_state(path, *impl_);
  impl_->text.reset();
  impl_->fed.clear();
}

std::string LanguageModel::render(const ChatMessages& chat) const { return impl_->render(chat); }

std::vector<int32_t> LanguageModel::chat_ids(const std::string& rendered) const { return impl_->ids_of(rendered); }

}  // namespace hearth
