#include "models/language_loading.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "backends/plan/plan_backend.h"
#include "backends/split/split_backend.h"
#include "core/factors.h"
#include "core/memory.h"
#include "core/text/bytes.h"
#include "weights/aliases.h"
#include "weights/changes.h"
#include "weights/gguf/gguf_language.h"
#include "weights/offload.h"
#include "weights/seeded_file.h"

namespace hearth::models {
namespace {

// The value of a size that the tensors imply; nothing if they do not.
std::optional<int64_t> shown(const LanguageSize& size, const std::map<std::string, TensorInfo>& tensors, const Config& stated) {
  const auto matches = [&](const auto& t) { return rewrite(t.first, size.tensor, size.tensor).has_value(); };
  if (size.axis == LanguageSize::counted) return std::ranges::count_if(tensors, matches);
  const auto found = std::ranges::find_if(tensors, matches);
  if (found == tensors.end() || found->second.shape.rank() <= size.axis) return std::nullopt;
  const int64_t all = found->second.shape[size.axis], part = size.per.empty() ? 1 : stated.integer(std::string(size.per));
  return all % part == 0 ? std::optional(all / part) : std::nullopt;
}

// A size that config.json omits has its class's default, as in transformers; the tensors must match it.
void require_sizes(const LanguageFamily& family, const LanguageCheckpoint& checkpoint, const Config& stated) {
  const std::map<std::string, TensorInfo> tensors = checkpoint.tensors()->list();
  std::vector<std::string> wrong;
  for (const LanguageSize& size : family.sizes) {
    // If a product does not match, the wrong factor is known only once the others match.
    if (checkpoint.config().has(size.key) || (!size.per.empty() && !wrong.empty())) continue;
    const int64_t taken = stated.integer(std::string(size.key));
    if (const auto there = shown(size, tensors, stated); there && *there != taken)
      wrong.push_back(fmt::format("'{}' (its default is {}, the tensors have {})", size.key, taken, *there));
  }
  if (!wrong.empty()) fail<WeightError>("{}: lacks {}", checkpoint.config().where(), fmt::join(wrong, ", "));
  if (!family.experts) return;
  const int64_t experts = stated.integer(std::string(family.experts->key));
  if (const auto there = shown(*family.experts, tensors, stated); there && *there != experts)
    fail<WeightError>("{}: '{}' = {}, but the tensors have {} experts", checkpoint.config().where(), family.experts->key, experts, *there);
}

LoadOptions load_options(const LanguageFamily& family, const LanguageCheckpoint& checkpoint, const LoadRequest& request) {
  const Config stated = family.spell_out(checkpoint.config());
  require_sizes(family, checkpoint, stated);
  LoadOptions options{.types = request.types.value_or(WeightTypes{}), .progress = request.progress};
  options.types.in_place = true;
  options.ignore = checkpoint.unneeded(stated.boolean("tie_word_embeddings", false));
  return options;
}

ComponentReport report_of(const LanguageCheckpoint& checkpoint, const WeightTypes& types, const Weights::Report& weights) {
  ComponentReport report{.name = "model",
                         .class_name = checkpoint.class_name(),
                         .files = checkpoint.files(),
                         .held = types.hold ? std::string(name_of(*types.hold)) : "as stored",
                         .factors = "f32",
                         .parameters = weights.parameters,
                         .bytes = weights.bytes_held,
                         .kept_wider = weights.kept_wider};
  for (const auto& [name, info] : checkpoint.tensors()->list()) {
    report.stored[std::string(name_of(info.dtype))] += info.shape.numel();
    const WeightForm form{
        .hold = is_blocked(info.dtype) ? info.dtype : types.hold.value_or(info.dtype), .factors = types.factors, .in_place = true};
    if (info.shape.rank() == 2 && factors_for(form) != DType::f32) report.factors = name_of(factors_for(form));
  }
  return report;
}

}  // namespace

LoadedLanguageModel load_language_model(const LanguageFamily& family, const LanguageCheckpoint& checkpoint, Backend& device,
                                        const LoadRequest& request, const AdaptedLoading& adapted) {
  LoadOptions options = load_options(family, checkpoint, request);
  options.changes = adapted.changes;
  options.shared = adapted.shared;
  options.keep = adapted.keep;
  std::vector<std::string> blocks;
  if (dynamic_cast<SplitBackend*>(&device)) {
    Weights names(checkpoint.tensors(), device, options, Weights::Reading::names);
    family.build(checkpoint.config(), names);
    blocks = blocks_of(names.requested());
    options.offload = std::make_shared<const Offload>(blocks, request.card_blocks);
  }
  Weights weights(adapted.changes ? changed(checkpoint.tensors(), adapted.changes) : checkpoint.tensors(), device, options);
  LoadedLanguageModel loaded{.model = family.build(checkpoint.config(), weights), .report = {}};
  weights.finish();
  loaded.report = report_of(checkpoint, options.types, weights.report());
  if (options.offload)
    loaded.report.card = {
        .of_blocks = std::ssize(blocks), .blocks = options.offload->blocks_on_card(), .bytes = weights.report().bytes_on_card};
  return loaded;
}

int64_t card_bytes(const LanguageFamily& family, const LanguageCheckpoint& checkpoint, SplitBackend& device, const LoadRequest& request,
                   const AdaptedLoading& adapted, const UseLanguageModel& use, ComponentReport::Card* card) {
  MemoryLedger ledger;
  const auto twin = device.dry_twin(ledger);
  const LoadedLanguageModel dry = load_language_model(family, checkpoint, *twin, request, {.changes = adapted.changes});
  use(*dry.model);
  if (card) *card = *dry.report.card;
  return dynamic_cast<SplitBackend&>(*twin).card().ledger().use().peak;
}

int64_t most_card_blocks(const LanguageFamily& family, const LanguageCheckpoint& checkpoint, SplitBackend& device, const LoadRequest& given,
                         const AdaptedLoading& adapted, const UseLanguageModel& use, int64_t limit) {
  LoadRequest request = given;
  request.progress = {};
  ComponentReport::Card card;
  const auto bytes_with = [&](int64_t blocks) {
    request.card_blocks = blocks;
    return card_bytes(family, checkpoint, device, request, adapted, use, &card);
  };
  if (const int64_t least = bytes_with(0); least > limit) {
    const auto [needed, had] = in_gigabytes(least, limit);
    fail<UsageError>("open: the GPU needs {} GB besides layers, expected at most the {} GB that it may take (--gpu-memory)", needed, had);
  }
  int64_t fit = 0;  // with all blocks, what is outside of them is there, too
  for (int64_t next = card.of_blocks, too_many = card.of_blocks + 1; too_many - fit > 1; next = (fit + too_many) / 2)
    (bytes_with(next) <= limit ? fit : too_many) = next;
  return fit;
}

UseLanguageModel use_of_text(int64_t prompt, int64_t context, DType cache, bool all_logits) {
  return [prompt, context, cache, all_logits](LanguageModel& model) {
    const std::vector<int32_t> ids(size_t(prompt), 0);
    const auto text = model.start(context, cache);
    const auto ignored = [](int64_t, std::span<const float>) {};
    model.feed(*text, ids, all_logits ? 0 : prompt - 1, ignored);
    if (prompt < context) model.feed(*text, std::span(ids).first(1), 0, ignored);
  };
}

adapters::AdaptedNetwork adapted_network(const LanguageFamily& family, const LanguageCheckpoint& checkpoint) {
  adapters::AdaptedNetwork network{.component = "model", .role = ComponentRole::denoiser, .tensors = checkpoint.tensors()->list()};
  for (const auto& [name, place] : gguf_places_of(network.tensors, family.gguf))
    if (place.slices == 1) network.others.emplace(place.name, name);
  // GGUF files of some families interleave the halves of each head, in a weight and in an adapter.
  network.row_order = [of_model = checkpoint.gguf() != nullptr, heads = family.gguf.neighbors,
                       stated = std::make_shared<const Config>(family.spell_out(checkpoint.config()))](const std::string& weight,
                                                                                                       int64_t rows, bool of_adapter) {
    std::vector<int64_t> order;
    const auto found = std::ranges::find_if(heads, [&](const GgufHeads& h) { return rewrite(weight, h.names, h.names).has_value(); });
    if (of_model == of_adapter || found == heads.end()) return order;
    const int64_t count = stated->integer(std::string(found->count)), size = rows / count;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t head = row / size, i = row % size;
      order.push_back(head * size + (of_model ? i % 2 * (size / 2) + i / 2 : i % (size / 2) * 2 + i / (size / 2)));
    }
    return order;
  };
  return network;
}

std::map<std::string, TensorInfo> needed_tensors(const LanguageFamily& family, const LanguageCheckpoint& checkpoint, Backend& device) {
  Weights weights(checkpoint.tensors(), device, load_options(family, checkpoint, {}), Weights::Reading::names);
  family.build(checkpoint.config(), weights);
  weights.finish();
  std::map<std::string, TensorInfo> needed = checkpoint.tensors()->list();
  std::erase_if(needed, [&](const auto& t) { return !weights.names_read().contains(t.first); });
  return needed;
}

std::map<std::string, Shape> network_shapes(const LanguageFamily& family, const Config& config) {
  MemoryLedger ledger;
  const auto plan = make_plan_backend(ledger);
  const auto requested = std::make_shared<RequestedTensors>();
  Weights weights(requested, *plan);
  family.build(config, weights);
  return requested->tensors;
}

}  // namespace hearth::models
