// How a language model of any family is loaded, and what is asked of its network without its numbers.
#pragma once

#include <map>

#include "models/language_family.h"
#include "models/loading.h"
#include "weights/language_checkpoint.h"

namespace hearth::models {

struct LoadedLanguageModel {
  std::unique_ptr<LanguageModel> model;
  ComponentReport report;
};

// All or nothing: WeightError that names what is missing, misshapen or left over, and the sizes that config.json leaves out where their
// defaults do not fit the tensors.
LoadedLanguageModel load_language_model(const LanguageFamily& family, const LanguageCheckpoint& checkpoint, Backend& device,
                                        const LoadRequest& request = {});

// The tensors of the checkpoint that the network needs, by published names. The same errors.
std::map<std::string, TensorInfo> needed_tensors(const LanguageFamily& family, const LanguageCheckpoint& checkpoint, Backend& device);
// The same of a network that is nowhere stored.
std::map<std::string, Shape> network_shapes(const LanguageFamily& family, const Config& config);

}  // namespace hearth::models
