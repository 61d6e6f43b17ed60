// What a network is in files, as data of the network's own folder: the classes that it has in model_index.json, the names that its tensors
// have in each layout, and the sizes that tell one of its kind from another.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/files/config.h"
#include "weights/aliases.h"
#include "weights/layout/name_map.h"

namespace hearth {

// One way to name a network's tensors.
struct Spelling {
  std::string_view name;                // "original": whose it is, unique in the network
  std::vector<std::string_view> marks;  // names that are all there in a file that has it, behind the prefix
  // Its names and the official ones, given the tensors there are. `config`: the component's config.json, or null where it is not known.
  // Absent: the names are the official ones, but for NetworkFiles::aliases.
  NameMap (*reading)(const TensorList& stored, const nlohmann::json& config) = nullptr;
  NameMap (*writing)(const TensorList& official) = nullptr;  // the same, given the official tensors; absent: nobody writes it
  // Tensors by official name that files of this spelling hold beyond what the configuration asks for; absent: NetworkFiles::ignored.
  std::vector<std::string> (*surplus)(std::string_view class_name, const Config& config) = nullptr;
};

// The sizes of a network, as its tensors show them or as a config.json states them: equal where the one is the other's.
struct Geometry {
  std::map<std::string, std::vector<int64_t>> sizes;  // by what they are the sizes of
  std::string description;                            // for people: "channels 320, 640, 1280, 1280; context 768; 4 in, 4 out"

  friend bool operator==(const Geometry& a, const Geometry& b) { return a.sizes == b.sizes; }
};

struct NetworkFiles {
  std::vector<std::string_view> classes;  // the first is that of a network which comes without a word of its class
  std::vector<Spelling> spellings;
  std::span<const Alias> aliases = {};    // other names that published folders have for official ones
  std::vector<std::string> ignored = {};  // official names that makers ship and nothing needs
  // An autoencoder's first half, by the prefix of its names: files may hold the second alone. Empty: a network is whole.
  std::string_view encoder = {};
  std::string_view standard_config = {};  // that of a file which comes without one, as JSON; empty: there is none
  // Every denoiser has them: by them its built-in configurations are found. Malformed values count as not there: the network's own reader
  // refuses them.
  Geometry (*geometry)(const TensorList& official) = nullptr;
  Geometry (*stated_geometry)(const nlohmann::json& config) = nullptr;
};

}  // namespace hearth
