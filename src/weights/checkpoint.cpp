#include "weights/checkpoint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/files/json.h"
#include "weights/layout/float8.h"
#include "weights/listing.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

// Whether it is a file, or a folder with configurations, vocabularies or similar files.
bool holds_text(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return fs::exists(path, error);
  const auto is_text = [](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    return (name.ends_with(".json") && name.find(".index.") == name.npos) || name.ends_with(".txt") || name.ends_with(".model");
  };
  return std::any_of(fs::directory_iterator(path, error), fs::directory_iterator(), is_text);
}

bool is_one_of(const std::vector<std::string_view>& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

}  // namespace

Checkpoint Checkpoint::open(const fs::path& path, const CheckpointPlaces& places) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  Checkpoint checkpoint;
  checkpoint.families_ = places.families;
  checkpoint.root_ = checkpoint.configs_ = path;
  if (!fs::exists(status)) fail<IoError>("{}: no such file or folder", path.string());
  const bool archived = fs::is_regular_file(status) && DdufFile::is_one(path);
  if (fs::is_regular_file(status) && !archived) {
    checkpoint.take_single_file(places);
    checkpoint.name_given_classes();
    return checkpoint;
  }
  if (!archived && !fs::is_directory(status)) fail<IoError>("{}: neither a file nor a folder", path.string());
  const char* what = archived ? "a DDUF file" : "a folder";
  if (!places.config.empty()) fail<UsageError>("{}: {} has its own configurations; --config is for single files", path.string(), what);
  if (places.averaged) fail<UsageError>("{}: {} has one set of weights; --ema is for single files", path.string(), what);
  if (archived) {
    checkpoint.archive_ = DdufFile::open(path);
  } else {
    if (fs::is_empty(path, error))
      fail<IoError>("{}: the folder is empty, expected a diffusers folder with model_index.json", path.string());
    if (error) fail<IoError>("{}: cannot be listed: {}", path.string(), error.message());
    if (!fs::exists(path / "model_index.json", error))
      fail<IoError>("{}: has no model_index.json, which a diffusers folder needs", path.string());
  }
  checkpoint.read_index();
  for (auto& [name, given] : open_all_given(places.components, places.families, places.variant))
    checkpoint.take_component(name, std::move(given));
  checkpoint.name_given_classes();
  return checkpoint;
}

void Checkpoint::read_index() {
  const fs::path file = configs_of("model_index.json") / "model_index.json";
  const std::string text = index_text();
  index_ = Config::parse(text, file.string());
  pipeline_class_ = index_.text("_class_name");
  const nlohmann::json entries = parse_json(text, file.string());
  for (const auto& [name, value] : entries.items())
    if (value.is_array() || value.is_null()) index_.no_effect({name});
  components_ = components_of(entries, file.string());
}

void Checkpoint::take_single_file(const CheckpointPlaces& places) {
  single_file_ = true;
  averaged_ = places.averaged;
  assets_ = places.assets;
  std::map<std::string, GivenComponent> others = open_all_given(places.components, families_, places.variant);
  SingleFile file =
      open_single_file(root_, {.families = families_, .config = places.config, .averaged = places.averaged, .given = &others});
  may_be_of_ = std::move(file.families);
  if (file.chosen) published_ = file.chosen->configuration.folder, patch_ = file.chosen->patch;
  configs_ = places.config.empty() ? published_ : places.config;
  contents_ = std::move(file.contents);
  if (!file.unknown.empty())
    notes_.push_back(fmt::format("{} unknown tensors of the file are ignored: {}", file.unknown.size(), shortened_list(file.unknown)));
  read_index();
  if (places.config.empty()) {
    published_name_ = index_.text("_name", "");
    for (const std::string& change : file.chosen->changes) published_name_ += ", " + change;
  }
  note_published();
  fill_slots(std::move(file.parts));
  for (auto& [name, given] : others) take_component(name, std::move(given));
}

void Checkpoint::note_published() {
  std::vector<std::string> taken;
  for (const Component& c : components_)
    if (configs_ != published_ && is_published(c.name)) taken.push_back(c.name);
  if (!taken.empty())
    notes_.push_back(fmt::format("{} has no {}: taken from the built-in configuration '{}'", configs_.string(), fmt::join(taken, ", "),
                                 published_.filename().string()));
}

// Assigns each network to one of its slots that model_index.json has, preferably one of its class. If a file has only one text encoder, it
// is the model's only text encoder, whatever its slot (the refiner's is its second); likewise for the other roles.
void Checkpoint::fill_slots(std::vector<SingleFile::FoundComponent> parts) {
  std::vector<SingleFile::FoundComponent*> left;
  const auto is_free = [&](const Component& c) { return has_weights(c) && !given_.contains(c.name); };
  const auto first = [&](const auto& fits) {
    return std::ranges::find_if(components_, [&](const Component& c) { return is_free(c) && fits(c); });
  };
  for (SingleFile::FoundComponent& part : parts) {
    const auto in_slot = [&](const Component& c) { return std::ranges::find(part.slots, c.name, &Slot::name) != part.slots.end(); };
    const auto of_class = [&](const Component& c) { return in_slot(c) && part.component.network->has_class(c.class_name); };
    auto place = first(of_class);
    if (place == components_.end()) place = first(in_slot);
    if (place == components_.end()) left.push_back(&part);
    else given_[place->name] = std::move(part.component);
  }
  for (SingleFile::FoundComponent* part : left) {
    const auto same_role = [&](const Component& c) {
      const Slot* slot = slot_of(families_, c.name);
      return slot && slot->role == part->slots[0]->role && part->component.network->has_class(c.class_name);
    };
    if (const auto place = first(same_role); place != components_.end()) given_[place->name] = std::move(part->component);
    else notes_.push_back(fmt::format("the file's {} is not used: {} has none", part->slots[0]->label, pipeline_class_));
  }
}

void Checkpoint::take_component(const std::string& name, GivenComponent given) {
  const Slot* slot = slot_of(families_, name);
  if (slot && !slot->adds.empty()) added_.push_back(name);
  else if (!has(name)) fail<UsageError>("{}: {} has no {} that could be replaced", root_.string(), pipeline_class_, label_of(name));
  if (!has(name)) components_.push_back({.name = name, .library = "", .class_name = given.class_name});
  given_.insert_or_assign(name, std::move(given));
}

bool Checkpoint::is_added(std::string_view name) const { return std::ranges::find(added_, name) != added_.end(); }

bool Checkpoint::is_decoder_alone(std::string_view name) const {
  const GivenComponent* other = given(name);
  return other && other->decoder_alone;
}

void Checkpoint::name_given_classes() {
  for (Component& c : components_)
    if (const GivenComponent* other = given(c.name); other && !other->network->has_class(c.class_name)) c.class_name = other->class_name;
}

const GivenComponent* Checkpoint::given(std::string_view name) const {
  const auto found = given_.find(std::string(name));
  return found == given_.end() ? nullptr : &found->second;
}

std::vector<std::string> Checkpoint::lacking() const {
  std::vector<std::string> names;
  if (single_file_)
    for (const Component& c : components_)
      if (has_weights(c) && !given(c.name)) names.push_back(c.name);
  return names;
}

void Checkpoint::refuse_absent(std::string_view name) const {
  fail<WeightError>("{}: holds no {}, only {}: give one with {}", root_.string(), label_of(name), contents_, flag_of(name));
}

std::string Checkpoint::shown(const fs::path& file) const {
  const fs::path own = fs::absolute(root_).lexically_normal(), folder = is_file() ? own.parent_path() : own;
  const fs::path whole = fs::absolute(file).lexically_normal(), inside = whole.lexically_relative(folder);
  return (inside.empty() || *inside.begin() == ".." ? whole : inside).string();
}

fs::path Checkpoint::found(const std::string& shown) const {
  const fs::path own = fs::absolute(root_).lexically_normal();
  return (is_file() ? own.parent_path() : own) / shown;
}

const Component* Checkpoint::find(std::string_view name) const {
  const auto found = std::ranges::find(components_, name, &Component::name);
  return found == components_.end() ? nullptr : &*found;
}

const Component& Checkpoint::component(std::string_view name) const {
  const Component* found = find(name);
  if (!found) fail<WeightError>("{}: model_index.json has no component '{}', which {} needs", root_.string(), name, pipeline_class_);
  return *found;
}

fs::path Checkpoint::folder(std::string_view name) const {
  const fs::path path = configs_ / component(name).name;
  if (!is_there(name)) fail<IoError>("{}: no such folder, but model_index.json lists the component '{}'", path.string(), name);
  return path;
}

bool Checkpoint::is_there(std::string_view name) const {
  if (single_file_) return true;
  std::error_code ignored;
  return archive_ ? archive_->has_folder(component(name).name) : fs::is_directory(configs_ / component(name).name, ignored);
}

bool Checkpoint::is_published(std::string_view name) const {
  const auto hold = [&](const fs::path& configs) { return holds_text(published_file(configs, name, families_)); };
  return !published_.empty() && (configs_ == published_ || (!hold(configs_) && hold(published_)));
}

std::optional<std::string> Checkpoint::read(const fs::path& file) const {
  if (archive_) return archive_->has(file.string()) ? std::optional(archive_->text(file.string())) : std::nullopt;
  const fs::path path = single_file_ ? published_file(configs_of(file.begin()->string()), file, families_) : configs_ / file;
  std::error_code ignored;
  return fs::exists(path, ignored) ? std::optional(read_file(path, int64_t(1) << 28)) : std::nullopt;
}

std::optional<std::string> Checkpoint::text_file(std::string_view name, const std::string& file) const {
  const fs::path place = component(name).name;
  if (const GivenComponent* other = given(name)) {
    std::error_code error;
    const fs::path path = other->config.parent_path() / file;
    if (!other->config.empty() && fs::exists(path, error)) return read_file(path, int64_t(1) << 28);
    if (is_added(name)) return std::nullopt;
  }
  folder(name);
  if (auto text = read(place / file)) return text;
  if (!single_file_) return std::nullopt;
  if (!holds_text(published_file(configs_of(name), place, families_)))
    fail<IoError>("{}: no such file, and no built-in configuration matches the sizes of the single file",
                  (configs_ / place / file).string());
  if (assets_.empty()) return std::nullopt;
  for (const ImageFiles* family : may_be_of_)
    for (const Vocabulary& v : family->vocabularies)
      if (v.component == name && is_one_of(v.files, file) && !read(place / v.instead)) return read_file(assets_ / v.folder / file);
  return std::nullopt;
}

void Checkpoint::require_class(std::string_view name, std::initializer_list<std::string_view> classes) const {
  const Component& found = component(name);
  if (std::ranges::find(classes, found.class_name) == classes.end())
    fail<UnsupportedError>("{}: component '{}' has the class {}, expected {}", root_.string(), name, found.class_name,
                           fmt::join(classes, ", "));
}

std::string Checkpoint::config_file_name(std::string_view name) const { return hearth::config_file_name(component(name)); }

std::string Checkpoint::config_text(std::string_view name) const {
  const GivenComponent* other = given(name);
  if (other)
    if (auto text = other->config_text()) return *text;
  if (is_added(name))
    fail<WeightError>("{}: the {} has no configuration, and its sizes are those of no published one, expected a folder with config.json",
                      other->files.at(0).string(), label_of(name));
  const fs::path file = fs::path(component(name).name) / config_file_name(name);
  const bool has_fallback = other && !other->network->fallback_config.empty();
  if (!has_fallback) folder(name);
  const auto text = is_there(name) ? read(file) : std::nullopt;
  if (!text && has_fallback) return std::string(other->network->fallback_config);
  const std::string where = (configs_of(name) / file).string();
  if (!text) fail<IoError>("read {}: No such file or directory", where);
  if (patch_.empty() || !is_scheduler(component(name)) || !is_published(name)) return *text;
  nlohmann::json json = parse_json(*text, where);
  for (const auto& [key, value] : patch_) json[key] = nlohmann::json::parse(value);
  return json.dump(2) + "\n";
}

Config Checkpoint::config(std::string_view name) const {
  const GivenComponent* other = given(name);
  const fs::path own = configs_of(name) / component(name).name / config_file_name(name);
  return other && other->config_text() ? other->own_config() : Config::parse(config_text(name), own.string());
}

std::string Checkpoint::index_text() const {
  const auto text = read("model_index.json");
  if (!text) fail<IoError>("{}: has no model_index.json, which a diffusers folder needs", configs_.string());
  return *text;
}

WeightFiles Checkpoint::files(std::string_view name, const std::string& variant) const {
  const bool is_given = !variant.empty() && std::ranges::any_of(given_, [&](const auto& entry) { return entry.second.variant == variant; });
  if (is_file() && !variant.empty() && !is_given)
    fail<UsageError>("{}: a single file has no variants, but '{}' was requested", root_.string(), variant);
  if (const GivenComponent* other = given(name)) return {.variant = other->variant, .index = {}, .files = other->files};
  if (single_file_) refuse_absent(component(name).name);
  if (archive_) return {.variant = {}, .index = {}, .files = {root_}};
  const fs::path own = folder(name);
  const auto has_variant = [&](const fs::path& folder) {
    return std::ranges::any_of(find_weight_files(folder), [&](const WeightFiles& set) { return set.variant == variant; });
  };
  if (is_given && !has_variant(own)) return choose_weight_files(own, "");
  if (!variant.empty() && !has_variant(own))
    for (const Component& other : components_)
      if (std::error_code ignored; fs::is_directory(root_ / other.name, ignored) && has_variant(root_ / other.name))
        return choose_weight_files(own, "");
  return choose_weight_files(own, variant);
}

std::shared_ptr<TensorSource> Checkpoint::tensors(std::string_view name, const std::string& variant) const {
  const WeightFiles chosen = files(name, variant);
  if (const GivenComponent* other = given(name)) return other->tensors;
  const auto source = archive_ ? archive_->tensors(component(name).name) : open_weight_files(chosen);
  const NetworkFiles* network = network_of(families_, component(name).class_name);
  return aliased(with_float8_scales(source), network ? network->aliases : std::span<const Alias>());
}

std::string Checkpoint::part_of_files(std::string_view name) const {
  if (!is_file() && !given(name)) return {};
  const Slot* slot = slot_of(families_, name);
  return std::string(name) + (averaged_ && slot && slot->role == ComponentRole::denoiser ? ", averaged" : "");
}

const NetworkFiles* Checkpoint::network(std::string_view name) const {
  const GivenComponent* other = given(name);
  return other ? other->network : network_of(families_, component(name).class_name);
}

const GgufFile* Checkpoint::gguf(std::string_view name) const {
  const GivenComponent* other = given(name);
  return other ? other->gguf.get() : nullptr;
}

std::vector<std::string> Checkpoint::prefixes(std::string_view name) const {
  std::vector<std::string> all;
  for (const KnownFamily& family : families_)
    for (const NetworkPlace& place : family.files->places)
      if (place.slot->name == name && !place.prefix.empty() && std::ranges::find(all, place.prefix) == all.end())
        all.emplace_back(place.prefix);
  return all;
}

std::vector<std::string> Checkpoint::ignored(std::string_view name) const {
  const std::string& class_name = component(name).class_name;
  const GivenComponent* other = given(name);
  if (other && other->spelling->surplus) return other->spelling->surplus(class_name, config(name));
  const NetworkFiles* files = network(name);
  return files ? files->ignored : std::vector<std::string>();
}

}  // namespace hearth
