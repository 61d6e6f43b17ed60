// How the files of a network look, as data that the network's folder supplies: its classes in model_index.json, the names of its tensors in
// each layout, and the sizes that distinguish its instances.
#pragma once

#include <algorithm>
#include <nlohmann/json_fwd.hpp>

#include "core/files/config.h"
#include "weights/aliases.h"
#include "weights/gguf/gguf_writer.h"
#include "weights/layout/name_map.h"

namespace hearth {

// A network of a file that says by itself what its tensors are.
struct SelfDescribed {
  std::shared_ptr<TensorSource> tensors;  // under official names
  std::string config;                     // the JSON of config.json
};

// One way to name a network's tensors.
struct Spelling {
  std::string_view name;                // "original"; unique in the network
  std::vector<std::string_view> marks;  // names, after the prefix, that every file in this spelling has
  // The map from its names to the official ones, given the tensors of a file. `config`: the component's config.json, or null if unknown.
  // Absent: the names are the official ones, except for NetworkFiles::aliases.
  NameMap (*reading)(const TensorList& stored, const nlohmann::json& config) = nullptr;
  NameMap (*writing)(const TensorList& official) = nullptr;  // the same, given the official tensors; absent: writing is not supported
  // In place of `reading`, for files with a configuration of their own: opens such a file. Errors of reading it.
  SelfDescribed (*opening)(const std::shared_ptr<TensorSource>& file) = nullptr;
  // Official names of tensors in files of this spelling that the configuration does not use; absent: NetworkFiles::ignored.
  std::vector<std::string> (*surplus)(std::string_view class_name, const Config& config) = nullptr;
};

// The sizes of a network, from its tensors or from a config.json. The two compare equal if the tensors match the config: if all sizes that
// both know are equal. Files may lack a tensor that tells a size.
struct Geometry {
  std::map<std::string, std::vector<int64_t>> sizes;  // by name of the size
  std::string description;                            // for messages: "channels 320, 640, 1280, 1280; context 768; 4 in, 4 out"

  friend bool operator==(const Geometry& a, const Geometry& b) {
    return std::ranges::all_of(a.sizes, [&](const auto& size) {
      const auto other = b.sizes.find(size.first);
      return other == b.sizes.end() || other->second == size.second;
    });
  }
};

// How a network is written to a GGUF file of its own.
struct GgufLayout {
  std::string_view spelling = {};  // of its names; empty, or one that cannot be written: the official names
  // Official names of matrices that keep the type in which they are stored: small ones, and those on which everything depends.
  std::vector<std::string> exact = {};
  // Official names of matrices to which mixed types (q4_k_m) give one step more: those that lose most.
  std::vector<std::string> important = {};
  std::string_view architecture = {};  // general.architecture of a network with one of its own; empty: the family's
  void (*describe)(const Config& config, GgufValues& values) = nullptr;  // writes that architecture's keys; absent: it has none
};

struct NetworkFiles {
  std::vector<std::string_view> classes;                         // the first applies to a network whose class is not stated
  bool (*other_classes)(std::string_view class_name) = nullptr;  // whether a class is one of many more; absent: there are no more
  std::vector<Spelling> spellings;
  std::span<const Alias> aliases = {};    // names in published folders that differ from the official ones
  std::vector<std::string> ignored = {};  // official names of tensors that publishers ship and no program needs
  // The prefix of an autoencoder's encoder; files may hold the decoder alone. Empty: a network is always complete.
  std::string_view encoder = {};
  // The JSON config of a file that comes without one, given its tensors: the published configuration, with sizes of the tensors where
  // publications differ in nothing else. nullopt: no publication has such tensors. Absent: the checkpoint's configuration applies.
  std::optional<std::string> (*standard_config)(const TensorList& official) = nullptr;
  std::string_view fallback_config = {};  // the JSON config if neither the file nor the checkpoint has one; empty: none
  // Every denoiser has both functions, which select its built-in configuration. They treat malformed values as absent: the network's own
  // reader refuses them.
  Geometry (*geometry)(const TensorList& official) = nullptr;
  Geometry (*stated_geometry)(const nlohmann::json& config) = nullptr;
  GgufLayout gguf = {};

  bool has_class(std::string_view class_name) const {
    return std::ranges::find(classes, class_name) != classes.end() || (other_classes && other_classes(class_name));
  }
};

}  // namespace hearth
