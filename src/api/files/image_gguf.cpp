#include "api/files/image_gguf.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "api/assets.h"
#include "api/places.h"
#include "models/checkpoints.h"
#include "models/registry.h"
#include "weights/language_checkpoint.h"
#include "weights/layout/configurations.h"
#include "weights/layout/float8.h"
#include "weights/layout/stored_tensors.h"
#include "weights/layout/written_layout.h"
#include "weights/listing.h"
#include "weights/name_pattern.h"

namespace hearth::api {
namespace {

namespace fs = std::filesystem;
using Role = ExportedTensor::Role;

constexpr int64_t few_values = 1024;  // of a matrix whose type matters for nothing but precision

// A network to write.
struct Network {
  std::string component;
  std::shared_ptr<TensorSource> tensors;  // under official names
  const NetworkFiles* files = nullptr;
  std::vector<std::string> ignored;  // names that no program needs
  std::optional<Config> config;
};

bool is_root(const fs::path& path) {
  std::error_code error;
  return fs::exists(path / "model_index.json", error) || (fs::is_regular_file(path, error) && DdufFile::is_one(path));
}

// A file's or component folder's networks.
std::vector<Section> sections_of(const fs::path& path, std::span<const KnownFamily> families) {
  std::error_code error;
  const auto source = fs::is_directory(path, error) ? open_weight_files(choose_weight_files(path, "")) : open_tensor_file(path);
  return find_sections(with_float8_scales(source)->list(), families, path.string());
}

const Slot* denoiser_slot(const Checkpoint& checkpoint, std::span<const KnownFamily> families) {
  for (const Component& c : checkpoint.components())
    if (const Slot* slot = slot_of(families, c.name); slot && slot->role == ComponentRole::denoiser) return slot;
  return nullptr;
}

Network network_in(const Checkpoint& checkpoint, const std::string& name, const std::string& variant) {
  const std::vector<KnownFamily> families = models::image_files(assets_folder());
  const Component& component = checkpoint.component(name);
  Network n{.component = name,
            .tensors = checkpoint.tensors(name, variant),
            .files = network_of(families, component.class_name),
            .ignored = checkpoint.ignored(name),
            .config = checkpoint.config(name)};
  if (!n.files)
    fail<UnsupportedError>("{}: the {} ({}) cannot be written as GGUF", checkpoint.root().string(), checkpoint.label_of(name),
                           component.class_name);
  return n;
}

// The dtype of a tensor's values outside its file.
DType value_type(DType stored, bool scaled) {
  return stored == DType::f64 ? DType::f32 : !is_8bit_float(stored) ? stored : scaled ? DType::f32 : DType::bf16;
}

// Adds the network's tensors under the names of `map` after `prefix`; without a map, under their official names.
void add_tensors(GgufExport& to, const Network& n, const std::string& prefix, const NameMap* map) {
  const TensorList all = n.tensors->list();
  Pieces kept;
  std::vector<std::string> dropped;
  for (const auto& [name, info] : all) {
    if (matches_any(n.ignored, name)) dropped.push_back(name);
    else kept.emplace(name, Piece{name, form::same, info});
  }
  if (!dropped.empty())
    to.notes.push_back(fmt::format("{}: {} unused tensors are left out: {}", n.component, dropped.size(), shortened_list(dropped)));
  const auto source = dropped.empty() ? n.tensors : source_of(n.tensors, std::move(kept));
  std::vector<std::string> encoded;
  for (StoredTensor& t : map ? stored_tensors(source, prefix, *map) : stored_tensors(source)) {
    if (!map) t.name = prefix + t.name;
    const TensorInfo& info = all.at(t.official[0]);
    if (!is_float(info.dtype) && !is_compact(info.dtype))
      fail<UnsupportedError>("{}: '{}' has the type {}, expected floating-point weights", source->describe(), t.official[0],
                             name_of(info.dtype));
    if (is_blocked(info.dtype)) encoded.push_back(t.name);
    to.tensors.push_back({.name = t.name,
                          .source = source,
                          .stored = t.official,
                          .form = t.form,
                          .role = gguf_role(t.name, t.shape, t.official, n.files->gguf),
                          .dtype = value_type(info.dtype, info.scaled),
                          .shape = t.shape});
  }
  to.note_quantized(encoded);
}

// The architecture of the family that has such a network: of the model if it is known, else of the published model with the same sizes,
// else the one that all families agree on.
std::string_view architecture_of(const Network& n, const ImageFiles* model, std::span<const KnownFamily> families) {
  if (!n.files->gguf.architecture.empty()) return n.files->gguf.architecture;
  const Slot* slot = slot_of(families, n.component);
  if (!slot || slot->role != ComponentRole::denoiser) return {};
  if (!model)
    if (const auto known = configurations_with({*n.files, *slot, *n.tensors}, families); !known.empty()) model = known[0].family;
  if (model) return model->gguf_architecture;
  std::vector<std::string_view> possible;
  for (const KnownFamily& family : families)
    if (std::ranges::find(family.files->places, n.files, &NetworkPlace::network) != family.files->places.end())
      possible.push_back(family.files->gguf_architecture);
  const bool agree = std::ranges::adjacent_find(possible, std::not_equal_to()) == possible.end();
  return agree && !possible.empty() ? possible[0] : std::string_view();
}

GgufExport exported(const Network& n, const ImageFiles* model, const std::string& name, std::string_view prediction) {
  const std::vector<KnownFamily> families = models::image_files(assets_folder());
  const GgufLayout& layout = n.files->gguf;
  const std::string_view architecture = architecture_of(n, model, families);
  const Slot* slot = slot_of(families, n.component);
  if (architecture.empty() && slot && slot->role == ComponentRole::denoiser)
    fail<UnsupportedError>("{}: GGUF has no architecture for this {}", n.tensors->describe(), slot->label);
  if (n.files->other_classes)
    fail<UnsupportedError>("{}: the {} is a language model, expected a folder with it and its tokenizer", n.tensors->describe(),
                           slot ? slot->label : n.component);
  GgufExport to{.architecture = std::string(architecture), .values = {}, .tensors = {}, .notes = {}};
  if (!architecture.empty()) to.values.text("general.architecture", architecture);
  to.values.text("general.name", name);
  if (!prediction.empty()) to.values.text("modelspec.prediction_type", prediction);
  if (layout.describe) {
    if (!n.config) fail<UnsupportedError>("{}: has no config.json, which a GGUF file of a {} needs", n.tensors->describe(), architecture);
    layout.describe(*n.config, to.values);
  }
  const auto spelling = std::ranges::find(n.files->spellings, layout.spelling, &Spelling::name);
  if (spelling == n.files->spellings.end() || !spelling->writing) {
    add_tensors(to, n, "", nullptr);
  } else {
    const NameMap map = spelling->writing(n.tensors->list());
    add_tensors(to, n, "", &map);
  }
  return to;
}

// How the file states what the denoiser predicts: "v"; empty if the layout has no word for it.
std::string_view stated_prediction(const Checkpoint& checkpoint, const ImageFiles& layout) {
  const auto scheduler = std::ranges::find_if(checkpoint.components(), is_scheduler);
  if (scheduler == checkpoint.components().end() || layout.predictions.empty()) return {};
  const std::string type = checkpoint.config(scheduler->name).text("prediction_type", "epsilon");
  const auto found = std::ranges::find(layout.predictions, type, &Prediction::type);
  return found == layout.predictions.end() ? std::string_view() : found->stated.front();
}

std::string name_of_model(const fs::path& path) {
  const fs::path whole = fs::weakly_canonical(path);
  return (fs::is_directory(whole) ? whole.filename() : whole.stem()).string();
}

}  // namespace

Role gguf_role(const std::string& name, const Shape& shape, std::span<const std::string> official, const GgufLayout& layout) {
  if (shape.rank() < 2 || shape.numel() <= few_values) return Role::plain;
  if (shape.rank() != 2 || !name.ends_with("weight")) return Role::kept;
  const auto any = [&](const std::vector<std::string>& patterns) {
    return std::ranges::any_of(official, [&](const std::string& o) { return matches_any(patterns, o); });
  };
  return any(layout.exact) ? Role::kept : any(layout.important) ? Role::important : Role::matrix;
}

bool holds_image_networks(const fs::path& path) {
  if (is_root(path)) return true;
  std::error_code error;
  if (LanguageCheckpoint::is_one(path) && !GgufFile::is_one(path)) return false;
  if (!fs::exists(path, error)) return false;
  if (fs::is_directory(path, error) && find_weight_files(path).empty()) return false;
  // A file that describes itself is a language model's, which may be the text encoder of an image model.
  const auto is_of_images = [](const Section& s) { return !s.spelling->opening; };
  return std::ranges::any_of(sections_of(path, models::image_files()), is_of_images);
}

GgufExport export_component(const Checkpoint& checkpoint, const std::string& component, const std::string& variant) {
  const std::vector<KnownFamily> families = models::image_files(assets_folder());
  std::string name = component;
  if (name.empty()) {
    const Slot* slot = denoiser_slot(checkpoint, families);
    if (!slot) fail<UnsupportedError>("{}: has no denoiser, expected --component NAME", checkpoint.root().string());
    name = slot->name;
  }
  const ImageFiles* model = models::find_family(checkpoint).family.files;
  const Slot* slot = slot_of(families, name);
  const bool denoises = slot && slot->role == ComponentRole::denoiser;
  return exported(network_in(checkpoint, name, variant), model, name_of_model(checkpoint.root()),
                  model && denoises ? stated_prediction(checkpoint, *model) : std::string_view());
}

GgufExport export_component(const fs::path& path, const std::string& component, const std::string& variant) {
  if (is_root(path)) return export_component(models::open_checkpoint(path, places_of(path)), component, variant);
  const std::vector<KnownFamily> families = models::image_files(assets_folder());
  std::string name = component;
  if (name.empty()) {
    const std::vector<Section> sections = sections_of(path, families);
    const Section* own = sections.size() == 1 ? &sections[0] : denoiser_of(sections);
    if (!own) fail<UnsupportedError>("{}: holds several networks and no denoiser, expected --component NAME", path.string());
    name = own->slot().name;
  }
  const GivenComponent given = open_given(path, name, families);
  Network n{.component = name, .tensors = given.tensors, .files = given.network, .ignored = given.network->ignored, .config = {}};
  if (given.config_text()) n.config = given.own_config();
  return exported(n, nullptr, name_of_model(path), {});
}

GgufExport export_networks(const Checkpoint& checkpoint, const std::string& variant) {
  const std::vector<KnownFamily> families = models::image_files(assets_folder());
  const ImageFiles* layout = layout_of(checkpoint, families);
  if (!layout) fail<UnsupportedError>("{}: no single-file layout supports {}", checkpoint.root().string(), checkpoint.pipeline_class());
  GgufExport to{.architecture = {}, .values = {}, .tensors = {}, .notes = {}};
  to.values.text("general.name", name_of_model(checkpoint.root()));
  if (const std::string_view prediction = stated_prediction(checkpoint, *layout); !prediction.empty())
    to.values.text("modelspec.prediction_type", prediction);
  for (const Component& c : checkpoint.components()) {
    if (!has_weights(c)) continue;
    const WrittenPlace* place = place_in(*layout, c);
    if (!place) {
      to.notes.push_back(fmt::format("the component '{}' ({}) cannot be stored in this layout", c.name, c.class_name));
      continue;
    }
    Network n = network_in(checkpoint, c.name, variant);
    const NameMap map = names_in(*place, n.tensors->list());
    // Publishers' own tensors have a place in this layout.
    std::erase_if(n.ignored, [&](const std::string& pattern) { return std::ranges::count(n.files->ignored, pattern) > 0; });
    std::vector<std::string> nameless;
    for (const auto& [name, info] : n.tensors->list())
      if (!to_original(name, map) || !(is_float(info.dtype) || is_compact(info.dtype))) nameless.push_back(name);
    n.ignored.insert(n.ignored.end(), nameless.begin(), nameless.end());
    add_tensors(to, n, std::string(place->prefix), &map);
  }
  return to;
}

}  // namespace hearth::api
