#include "hub/selection.h"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "core/error.h"
#include "core/files/json.h"
#include "core/text/suggest.h"
#include "hub/model_name.h"

namespace hearth::hub {
namespace {

using Files = std::vector<RemoteFile>;

std::string folder_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == path.npos ? "" : path.substr(0, slash);
}

bool matches_any(const std::string& path, const std::vector<std::string>& globs) {
  return std::ranges::any_of(globs, [&](const std::string& glob) { return ::fnmatch(glob.c_str(), path.c_str(), 0) == 0; });
}

// The sets of weights in one folder, by variant and format; weights/checkpoint_files.h defines the names.
struct WeightSet {
  Files single, shards;  // shards: with their index

  // If both exist, chooses as diffusers and transformers do.
  const Files& chosen() const {
    const bool both = !single.empty() && !shards.empty();
    if (both) return base(single[0].path).starts_with("diffusion_") ? shards : single;
    return single.empty() ? shards : single;
  }
};
using WeightSets = std::map<std::pair<std::string, std::string>, WeightSet>;  // {variant, "safetensors" or "bin"}

WeightSets weights_in(const Files& files, const std::string& folder) {
  static const std::regex single("(diffusion_pytorch_model|model|pytorch_model)(?:\\.([A-Za-z0-9_]+))?\\.(safetensors|bin)");
  static const std::regex shard(
      "(diffusion_pytorch_model|model|pytorch_model)(?:\\.([A-Za-z0-9_]+))?-\\d{5}-of-\\d{5}(?:\\.([A-Za-z0-9_]+))?\\.(safetensors|bin)");
  static const std::regex index(
      "(diffusion_pytorch_model|model|pytorch_model)\\.(safetensors|bin)(?:\\.([A-Za-z0-9_]+))??\\.index(?:\\.([A-Za-z0-9_]+))?\\.json");
  WeightSets sets;
  for (const RemoteFile& file : files) {
    if (folder_of(file.path) != folder) continue;
    const std::string name = base(file.path);
    std::smatch m;
    if (std::regex_match(name, m, single)) sets[{m[2], m[3]}].single.push_back(file);
    else if (std::regex_match(name, m, shard)) sets[{m[2].matched ? m[2] : m[3], m[4]}].shards.push_back(file);
    else if (std::regex_match(name, m, index)) sets[{m[3].matched ? m[3] : m[4], m[2]}].shards.push_back(file);
  }
  return sets;
}

const WeightSet* find_set(const WeightSets& sets, const std::string& variant) {
  for (const char* format : {"safetensors", "bin"})
    if (const auto found = sets.find({variant, format}); found != sets.end()) return &found->second;
  return nullptr;
}

class Selector {
 public:
  Selector(const Files& files, const Choice& choice, const std::string& model) : files_(files), choice_(choice), model_(model) {}

  Files named() const {
    std::vector<std::string> paths;
    for (const RemoteFile& file : files_) paths.push_back(file.path);
    const std::vector<std::string> matches = match_file(paths, choice_.file);
    if (matches.empty()) {
      Files models = of_endings({".gguf", ".safetensors", ".ckpt", ".dduf"});
      if (models.empty()) fail<UsageError>("{}: has no file '{}'{}", model_, choice_.file, did_you_mean(choice_.file, paths));
      fail<UsageError>("{}: has no file '{}'; it has {}", model_, choice_.file, shown(models));
    }
    Files taken;
    std::set<std::string> models;
    for (const RemoteFile& file : files_)
      if (std::ranges::find(matches, file.path) != matches.end()) {
        taken.push_back(file);
        models.insert(without_part(file.path));
      }
    if (models.size() > 1) fail<UsageError>("{}: '{}' matches {}, expected the name of one of them", model_, choice_.file, shown(taken));
    return taken;
  }

  Files by_globs() const {
    Files taken;
    for (const RemoteFile& file : files_)
      if ((choice_.all || matches_any(file.path, choice_.include)) && !matches_any(file.path, choice_.exclude)) taken.push_back(file);
    if (taken.empty()) fail<UsageError>("{}: no file of {} matches --include and --exclude", model_, files_.size());
    return taken;
  }

  Files by_default(const std::function<std::string()>& model_index) {
    if (has("model_index.json")) take_components(model_index());
    else if (has("config.json") && !weights_in(files_, "").empty()) take_folder("");
    else taken_ = only_model();
    check_variant();
    std::erase_if(taken_, [&](const RemoteFile& file) { return matches_any(file.path, choice_.exclude); });
    if (taken_.empty()) fail<UsageError>("{}: --exclude leaves nothing to download", model_);
    std::ranges::sort(taken_, {}, &RemoteFile::path);
    return taken_;
  }

 private:
  bool has(const std::string& path) const { return std::ranges::find(files_, path, &RemoteFile::path) != files_.end(); }

  Files of_endings(const std::vector<std::string>& endings) const {
    Files found;
    for (const RemoteFile& file : files_)
      if (std::ranges::any_of(endings, [&](const std::string& ending) { return file.path.ends_with(ending); })) found.push_back(file);
    return found;
  }

  void take_components(const std::string& index) {
    const nlohmann::json json = parse_json(index, model_ + ": model_index.json");
    if (!json.is_object()) fail<IoError>("{}: model_index.json is not a JSON object", model_);
    for (const RemoteFile& file : files_)
      if (file.path == "model_index.json") taken_.push_back(file);
    for (const auto& [name, value] : json.items()) {
      // hearth does not run the safety checker, which is larger than some models.
      const bool component = value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string();
      if (component && name != "safety_checker") take_folder(name);
    }
  }

  // Selects configurations, vocabularies and one set of weights.
  void take_folder(const std::string& folder) {
    static const std::array<std::string_view, 4> texts = {".json", ".txt", ".model", ".jinja"};
    for (const RemoteFile& file : files_) {
      const std::string name = base(file.path), its = folder_of(file.path);
      const bool text = std::ranges::any_of(texts, [&](std::string_view ending) { return name.ends_with(ending); });
      const bool read_by_no_program = name.find(".index.") != name.npos || name.starts_with("README") || name.starts_with("requirements");
      const bool of_templates = folder.empty() && its == "additional_chat_templates";
      if (of_templates || (its == folder && text && !read_by_no_program)) taken_.push_back(file);
    }
    const WeightSets sets = weights_in(files_, folder);
    if (sets.empty()) return;
    for (const auto& [key, set] : sets)
      if (!key.first.empty()) variants_.insert(key.first);
    const WeightSet* set = find_set(sets, choice_.variant);
    if (set && !choice_.variant.empty()) found_variant_ = true;
    if (!set) set = find_set(sets, "");
    if (!set) {
      lacking_ = folder.empty() ? "it" : folder;
      return;
    }
    const Files& weights = set->chosen();
    taken_.insert(taken_.end(), weights.begin(), weights.end());
  }

  void check_variant() const {
    if (!choice_.variant.empty() && !found_variant_) {
      if (variants_.empty()) fail<UsageError>("{}: has no weights of the variant '{}', expected no --variant", model_, choice_.variant);
      fail<UsageError>("{}: has no weights of the variant '{}', expected one of {}", model_, choice_.variant, fmt::join(variants_, ", "));
    }
    if (!lacking_.empty())
      fail<UsageError>("{}: {} has no weights in full precision, expected --variant with one of {}", model_, lacking_,
                       fmt::join(variants_, ", "));
  }

  Files only_model() const {
    for (const std::vector<std::string>& endings :
         {std::vector<std::string>{".gguf"}, {".safetensors"}, {".dduf"}, {".ckpt"}, {".pt", ".pth", ".bin"}}) {
      Files found = of_endings(endings);
      std::erase_if(found,
                    [](const RemoteFile& file) { return base(file.path).starts_with("mmproj") || base(file.path).starts_with("imatrix"); });
      std::set<std::string> models;
      for (const RemoteFile& file : found) models.insert(without_part(file.path));
      if (models.size() == 1) return found;
      if (models.size() > 1)
        fail<UsageError>("{}: contains {} models, expected the file of one, as in {}:{}: {}", model_, models.size(), model_,
                         *models.begin(), shown(found));
    }
    fail<UsageError>("{}: contains no model that hearth supports; pass --include PATTERN or --all to download files anyway", model_);
  }

  // "a.gguf (1.2 GB), b.gguf (3.4 GB in 2 parts)"
  static std::string shown(const Files& files) {
    std::map<std::string, std::pair<int64_t, int>> models;
    for (const RemoteFile& file : files) {
      auto& [size, parts] = models[without_part(file.path)];
      size = size < 0 || file.size < 0 ? -1 : size + file.size;
      ++parts;
    }
    std::string text;
    for (const auto& [name, sum] : models)
      text += fmt::format("{}{} ({}{})", text.empty() ? "" : ", ", name, shown_size(sum.first),
                          sum.second > 1 ? fmt::format(" in {} parts", sum.second) : "");
    return text;
  }

  const Files& files_;
  const Choice& choice_;
  const std::string& model_;
  Files taken_;
  std::set<std::string> variants_;
  bool found_variant_ = false;
  std::string lacking_;  // a component that has variants only
};

}  // namespace

Files select_files(const Listing& listing, const Choice& choice, const std::string& model,
                   const std::function<std::string()>& model_index) {
  if (listing.files.empty()) fail<UsageError>("{}: the repository has no files", model);
  Selector selector(listing.files, choice, model);
  if (!choice.file.empty()) return selector.named();
  if (choice.all || !choice.include.empty()) return selector.by_globs();
  return selector.by_default(model_index);
}

}  // namespace hearth::hub
