#include "weights/checkpoint_files.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "core/files/file.h"
#include "core/files/json.h"
#include "weights/gguf/gguf.h"
#include "weights/listing.h"
#include "weights/torch/torch_file.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> pickled_endings{".bin", ".ckpt", ".pt", ".pth"};

// File name → the tensors that an index assigns to it.
using ShardMap = std::map<std::string, std::set<std::string>>;

ShardMap read_index(std::string_view text, const std::string& where) {
  const nlohmann::json json = parse_json(text, where);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || map == json.end() || !map->is_object() || map->empty())
    fail<IoError>("{}: has no weight_map from tensor names to files", where);
  ShardMap shards;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string()) fail<IoError>("{}: weight_map gives no file name for '{}'", where, tensor);
    const auto& name = file.get_ref<const std::string&>();
    if (name.empty() || name == "." || name == ".." || name.find_first_of(std::string_view("/\\\0", 3)) != name.npos)
      fail<IoError>("{}: '{}' is not the name of a file in this folder", where, name);
    if (!name.ends_with(".safetensors") && !name.ends_with(".bin"))
      fail<UnsupportedError>("{}: lists '{}', expected .safetensors or .bin", where, name);
    shards[name].insert(tensor);
  }
  return shards;
}

ShardMap read_index(const fs::path& index) { return read_index(read_file(index, int64_t(1) << 28), index.string()); }

// Decides by the first bytes, not by the name: a header length below 100 MB, followed by JSON.
bool is_safetensors(const fs::path& file) {
  char head[9];
  return std::ifstream(file, std::ios::binary).read(head, 9) && std::string_view(head + 4, 4) == std::string_view("\0\0\0\0", 4) &&
         head[8] == '{';
}

class ShardedSource : public TensorSource {
 public:
  ShardedSource(const std::string& where, const ShardMap& shards, const OpenShard& open) : where_(where) {
    std::vector<std::string> absent;
    std::map<std::string, std::shared_ptr<TensorSource>> opened;
    for (const auto& [name, tensors] : shards)
      if (!(opened[name] = open(name))) absent.push_back(name);
    if (!absent.empty()) fail<IoError>("{}: {} of {} shards are missing: {}", where_, absent.size(), shards.size(), shortened_list(absent));
    const std::string index = fs::path(where_).filename().string();
    for (const auto& [name, tensors] : shards) {
      const auto& shard = opened.at(name);
      std::vector<std::string> lacking, unlisted;
      for (const std::string& tensor : tensors)
        if (!shard->has(tensor)) lacking.push_back("'" + tensor + "'");
      for (const auto& [tensor, info] : shard->list()) {
        if (!tensors.contains(tensor)) unlisted.push_back("'" + tensor + "'");
        list_[tensor] = info;
        place_[tensor] = shard;
      }
      if (!lacking.empty()) fail<IoError>("{}: lacks {}, which {} lists for it", shard->describe(), shortened_list(lacking), index);
      if (!unlisted.empty())
        fail<IoError>("{}: holds {}, which {} does not list for it", shard->describe(), shortened_list(unlisted), index);
    }
  }

  std::string describe() const override { return where_; }
  std::map<std::string, TensorInfo> list() const override { return list_; }
  bool has(const std::string& name) const override { return place_.contains(name); }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    const auto found = place_.find(name);
    if (found == place_.end()) fail<WeightError>("{}: has no tensor '{}'", describe(), name);
    return found->second->read(name, wanted, backend);
  }
  void release(const std::string& name) override {
    if (const auto found = place_.find(name); found != place_.end()) found->second->release(name);
  }
  std::span<const std::byte> stored_bytes(const std::string& name) const override {
    const auto found = place_.find(name);
    return found == place_.end() ? std::span<const std::byte>() : found->second->stored_bytes(name);
  }
  bool mapped(const std::string& name) const override {
    const auto found = place_.find(name);
    return found != place_.end() && found->second->mapped(name);
  }
  void release_all() override {
    for (const auto& [name, shard] : place_) shard->release_all();
  }
  void require_unchanged() const override {
    for (const auto& [name, shard] : place_) shard->require_unchanged();
  }

 private:
  std::string where_;
  std::map<std::string, TensorInfo> list_;
  std::map<std::string, std::shared_ptr<TensorSource>> place_;
};

std::vector<std::string> file_names(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->is_regular_file(error)) names.push_back(it->path().filename().string());
  if (error) fail<IoError>("{}: cannot be listed: {}", folder.string(), error.message());
  std::ranges::sort(names);
  return names;
}

std::string variant_names(const std::vector<WeightFiles>& sets) {
  std::vector<std::string> names;
  for (const WeightFiles& set : sets) names.push_back(set.variant.empty() ? "full precision" : "'" + set.variant + "'");
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::vector<WeightFiles> find_weight_files(const fs::path& folder) {
  // The kinds of file that can hold the weights of a variant, in order of precedence.
  const std::array<std::regex, 8> kinds{
      std::regex(R"(diffusion_pytorch_model\.safetensors\.(?:index\.json|index\.([^.]+)\.json|([^.]+)\.index\.json))"),
      std::regex(R"(diffusion_pytorch_model(?:\.([^.]+))?\.safetensors)"),
      std::regex(R"(model(?:\.([^.]+))?\.safetensors)"),
      std::regex(R"(model\.safetensors\.(?:index\.json|index\.([^.]+)\.json|([^.]+)\.index\.json))"),
      std::regex(R"(diffusion_pytorch_model\.bin\.(?:index\.json|index\.([^.]+)\.json|([^.]+)\.index\.json))"),
      std::regex(R"(diffusion_pytorch_model(?:\.([^.]+))?\.bin)"),
      std::regex(R"(pytorch_model(?:\.([^.]+))?\.bin)"),
      std::regex(R"(pytorch_model\.bin\.(?:index\.json|index\.([^.]+)\.json|([^.]+)\.index\.json))"),
  };
  const std::regex shard(R"(.*\d{5}-of-\d{5}.*)");
  const std::vector<std::string> names = file_names(folder);
  std::map<std::string, WeightFiles> sets;  // "" sorts first
  std::smatch match;
  for (const std::regex& kind : kinds)
    for (const std::string& name : names) {
      if (!std::regex_match(name, match, kind) || std::regex_match(name, shard)) continue;
      const std::string variant = match.size() > 2 && match[2].matched ? match[2] : match[1];
      if (sets.contains(variant)) continue;
      WeightFiles& set = sets[variant];
      set.variant = variant;
      if (name.ends_with(".json")) {
        set.index = folder / name;
        for (const auto& [file, tensors] : read_index(set.index)) set.files.push_back(folder / file);
      } else {
        set.files = {folder / name};
      }
    }
  std::vector<WeightFiles> all;
  for (auto& [variant, set] : sets) all.push_back(std::move(set));
  return all;
}

WeightFiles choose_weight_files(const fs::path& folder, const std::string& variant) {
  const std::vector<WeightFiles> sets = find_weight_files(folder);
  for (const WeightFiles& set : sets)
    if (set.variant == variant) return set;
  if (!sets.empty()) {
    if (variant.empty()) fail<IoError>("{}: has no weights in full precision, only the variant {}", folder.string(), variant_names(sets));
    fail<IoError>("{}: has no weights of the variant '{}', only {}", folder.string(), variant, variant_names(sets));
  }
  std::vector<std::string> others, shards;
  for (const std::string& name : file_names(folder)) {
    const std::string ending = fs::path(name).extension().string();
    for (std::string_view other : {".bin", ".ckpt", ".pt", ".pth", ".msgpack", ".onnx", ".gguf", ".h5"})
      if (ending == other) others.push_back(name);
    if (ending == ".safetensors" || std::regex_match(name, std::regex(R"(.*\d{5}-of-\d{5}.*\.bin)"))) shards.push_back(name);
  }
  if (!shards.empty())
    fail<IoError>("{}: has {} but no index that lists the shards of each model", folder.string(), shortened_list(shards));
  constexpr const char* needed = "model.safetensors, diffusion_pytorch_model.safetensors, pytorch_model.bin or diffusion_pytorch_model.bin";
  if (!others.empty()) fail<UnsupportedError>("{}: has weights only as {}, expected {}", folder.string(), shortened_list(others), needed);
  fail<IoError>("{}: has no weights, expected {}", folder.string(), needed);
}

int64_t weight_files_bytes(const fs::path& path) {
  if (!fs::is_directory(path)) return int64_t(fs::file_size(path));
  int64_t sum = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.path().extension() == ".safetensors" || entry.path().extension() == ".bin") sum += int64_t(entry.file_size());
  return sum;
}

std::shared_ptr<TensorSource> open_tensor_file(const fs::path& file) {
  if (GgufFile::is_one(file)) return GgufFile::open(file);
  const std::string ending = file.extension().string();
  const bool pickled = std::ranges::count(pickled_endings, ending) > 0;
  if (pickled && !is_safetensors(file)) return TorchFile::open(file);
  return SafetensorsFile::open(file);
}

std::shared_ptr<TensorSource> open_weight_files(const WeightFiles& weights) {
  if (weights.index.empty()) return open_tensor_file(weights.files.at(0));
  const fs::path folder = weights.index.parent_path();
  return std::make_shared<ShardedSource>(weights.index.string(), read_index(weights.index), [&](const std::string& name) {
    std::error_code ignored;
    return fs::exists(folder / name, ignored) ? open_tensor_file(folder / name) : nullptr;
  });
}

std::shared_ptr<TensorSource> join_shards(std::string_view index, const std::string& where, const OpenShard& open) {
  return std::make_shared<ShardedSource>(where, read_index(index, where), open);
}

}  // namespace hearth
