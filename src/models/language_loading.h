// Loading of language models of any family, and queries of their networks without data.
#pragma once

#include <map>

#include "adapters/adapters.h"
#include "models/language_family.h"
#include "models/loading.h"
#include "weights/language_checkpoint.h"

namespace hearth {
class SplitBackend;  // backends/split/split_backend.h
}

namespace hearth::models {

struct LoadedLanguageModel {
  std::unique_ptr<LanguageModel> model;
  ComponentReport report;
};

// A network of a checkpoint beside another one of the same checkpoint.
struct AdaptedLoading {
  std::shared_ptr<const WeightChanges> changes;  // null: none
  std::shared_ptr<const LoadedWeights> shared;   // what the other one loaded; null: there is no other one
  std::shared_ptr<LoadedWeights> keep;           // receives what is loaded, for further ones; null: there are none
};

// All or nothing: WeightError names missing, misshapen and unused tensors, and the sizes that config.json omits and whose
// defaults do not match the tensors.
LoadedLanguageModel load_language_model(const LanguageFamily& family, const LanguageCheckpoint& checkpoint, Backend& device,
                                        const LoadRequest& request = {}, const AdaptedLoading& adapted = {});

// What such a model takes of the card of a device with two sides, when `use` works with it: the peak of a dry run, in bytes. The request
// decides which blocks are there. `card`: receives what is there of the network.
using UseLanguageModel = std::function<void(LanguageModel& dry)>;
int64_t card_bytes(const LanguageFamily& family, const LanguageCheckpoint& checkpoint, SplitBackend& device, const LoadRequest& request,
                   const AdaptedLoading& adapted, const UseLanguageModel& use, ComponentReport::Card* card = nullptr);
// The most blocks with which it takes at most `limit` bytes. UsageError if it takes more without any.
int64_t most_card_blocks(const LanguageFamily& family, const LanguageCheckpoint& checkpoint, SplitBackend& device,
                         const LoadRequest& request, const AdaptedLoading& adapted, const UseLanguageModel& use, int64_t limit);
// Feeds a prompt and the token behind it, with room for a text of `context` tokens; logits of the last two, or of all.
UseLanguageModel use_of_text(int64_t prompt, int64_t context, DType cache, bool all_logits = false);

// The network as adapters see it.
adapters::AdaptedNetwork adapted_network(const LanguageFamily& family, const LanguageCheckpoint& checkpoint);

// The tensors that the network needs from the checkpoint, by published names. The same errors.
std::map<std::string, TensorInfo> needed_tensors(const LanguageFamily& family, const LanguageCheckpoint& checkpoint, Backend& device);
// The same for a network without a checkpoint.
std::map<std::string, Shape> network_shapes(const LanguageFamily& family, const Config& config);

}  // namespace hearth::models
