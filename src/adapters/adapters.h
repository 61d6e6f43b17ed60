// The adapters of a run: files and strengths → the changes of each network's weights.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "adapters/coverage.h"
#include "adapters/module_names.h"
#include "core/error.h"
#include "weights/changes.h"

namespace hearth::adapters {

// Strengths of parts of a network.
struct PartStrength {
  std::string pattern;  // of official or original module names, "down_blocks.1.*", "input_blocks.4.*"; '*' matches anything
  double factor = 1;    // of the strength
};

// An adapter and how strongly it acts: 0 is the same as without it, negative strengths act in the other direction.
struct AdapterUse {
  std::filesystem::path path;
  double strength = 1;              // on the denoiser, or on a language model
  double text_strength = 1;         // on text encoders
  std::vector<PartStrength> parts;  // of all that match a module, the last applies
  bool among_others = false;        // the file holds more than the adapter, which is no error
};

struct Adapters {
  std::map<std::string, std::shared_ptr<const WeightChanges>> changes;  // by component; only those that change
  std::vector<Coverage> coverage;                                       // of each use
};

// Nothing of an adapter is in the model.
struct ForeignAdapter : WeightError {
  using WeightError::WeightError;
  std::filesystem::path path;
};

// Reads the headers of all files and checks that every tensor has its place: WeightError that names the modules that the model lacks, or
// what the adapter is for. The values are read when networks are built. The order of `uses` does not change a bit.
enum class Pairs { beside, merged };  // pairs of low rank: branches beside their weights, or part of the changed weights
Adapters read_adapters(std::span<const AdapterUse> uses, std::span<const AdaptedNetwork> networks, Pairs pairs = Pairs::beside);

// The same without an error for what the model lacks, for inspection.
Coverage cover(const std::filesystem::path& path, std::span<const AdaptedNetwork> networks);

}  // namespace hearth::adapters
