// Which weight of a model each module of an adapter changes. Trainers name modules after the official names of diffusers, transformers and
// PEFT, or after those of a model's original files, with dots or with underscores, behind prefixes of their own. All of these names follow
// from the names of the model's own tensors and the name maps of its networks (weights/layout): nothing else lists them.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/component.h"
#include "weights/layout/network_files.h"

namespace hearth::adapters {

// A network that adapters may change.
struct AdaptedNetwork {
  std::string component;  // in reports: "unet"
  ComponentRole role = ComponentRole::denoiser;
  TensorList tensors;                         // under official names
  const NetworkFiles* files = nullptr;        // its name maps; null: only the official names
  std::vector<std::string> prefixes;          // of its names in single files, "conditioner.embedders.0."; used besides the trainers' own
  std::vector<std::string> surplus;           // patterns of official names that files have and the network does not use
  std::map<std::string, std::string> others;  // other names of tensors → official ones: those of GGUF files
  // The order in which the network has the rows of a weight that an adapter has in another order: row i is the adapter's row order[i].
  // Empty: the same. `gguf`: the adapter is a GGUF file. Absent: always the same.
  std::function<std::vector<int64_t>(const std::string& weight, int64_t rows, bool gguf)> row_order;
};

// The weight that a module changes, or one of several: a module of an original file may be several official ones.
struct ChangedWeight {
  size_t network = 0;    // index
  std::string module;    // official name without ".weight"
  Form form;             // of the official weight in the module's
  std::string original;  // the module's name in the first original layout of its network; empty: none
  std::string weight() const { return module + ".weight"; }
  std::string bias() const { return module + ".bias"; }
};

class ModuleNames {
 public:
  explicit ModuleNames(std::span<const AdaptedNetwork> networks);

  // The weights of a module; empty if the model has none of that name.
  std::vector<ChangedWeight> find(std::string_view module) const;
  // Whether a module's name is one that the model's files have and its networks do not use.
  bool is_surplus(std::string_view module) const;

 private:
  struct Own {
    std::map<std::string, std::vector<ChangedWeight>, std::less<>> modules;  // names with underscores → weights
    std::vector<std::string> surplus;                                        // patterns with underscores
  };
  template <class F> bool any_place(std::string_view module, F accepts) const;

  std::span<const AdaptedNetwork> networks_;
  std::vector<Own> own_;
};

}  // namespace hearth::adapters
