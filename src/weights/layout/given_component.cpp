#include "weights/layout/given_component.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/json.h"
#include "weights/checkpoint_files.h"
#include "weights/layout/widened.h"
#include "weights/signatures.h"

namespace hearth {

namespace fs = std::filesystem;

namespace {

bool is_text_encoder(std::string_view component) { return component.starts_with("text_encoder"); }

// The section that is this component: for a text encoder the only one, whatever slot it had.
const Section* choose(std::span<const Section> sections, std::string_view component) {
  const auto same = std::ranges::find(sections, component, &Section::component);
  if (same != sections.end()) return &*same;
  if (!is_text_encoder(component)) return nullptr;
  const Section* only = nullptr;
  for (const Section& s : sections)
    if (is_text_encoder(s.component)) {
      if (only) return nullptr;
      only = &s;
    }
  return only;
}

}  // namespace

std::string spoken_name(std::string_view component) {
  if (component == "unet") return "UNet";
  if (component == "vae") return "VAE";
  return component == "text_encoder_2" ? "second text encoder" : "text encoder";
}

std::string contents_of(const TensorList& tensors, std::span<const Section> sections) {
  std::vector<std::string> names;
  for (const Section& s : sections) names.push_back(spoken_name(s.component));
  if (names.empty())
    for (const Recognised& r : recognise(tensors)) names.push_back(r.what);
  return names.empty() ? "no network that hearth knows" : fmt::format("{}", fmt::join(names, ", "));
}

std::optional<std::string> GivenComponent::config_text() const {
  if (!config.empty()) return read_file(config, int64_t(1) << 28);
  return class_name == "AutoencoderTiny" ? std::optional<std::string>("{}") : std::nullopt;
}

Config GivenComponent::own_config() const { return Config::parse(config_text().value(), (config.empty() ? files.at(0) : config).string()); }

GivenComponent open_given(const fs::path& path, std::string_view component) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail<IoError>("{}: no such file or folder", path.string());
  GivenComponent given;
  std::shared_ptr<TensorSource> source;
  if (fs::is_directory(status)) {
    const fs::path folder = fs::exists(path / "model_index.json", error) ? path / component : path;
    const WeightFiles files = choose_weight_files(folder, "");
    source = open_weight_files(files);
    given.files = files.files;
    if (fs::exists(folder / "config.json", error)) given.config = folder / "config.json";
  } else {
    source = open_tensor_file(path);
    given.files = {path};
  }
  source = widened(std::move(source));
  const TensorList tensors = source->list();
  const std::vector<Section> sections = find_sections(tensors, source->describe());
  const Section* section = choose(sections, component);
  if (!section) fail<WeightError>("{}: holds no {}, only {}", source->describe(), spoken_name(component), contents_of(tensors, sections));
  given.naming = section->naming;
  if (section->component == "vae") given.class_name = autoencoder_class(*section);
  given.tensors =
      open_section(std::move(source), *section, {.class_embedding = !given.config.empty() && has_class_embedding(given.config)});
  given.decoder_alone = section->component == "vae" &&
                        std::ranges::none_of(given.tensors->list(), [](const auto& named) { return named.first.starts_with("encoder."); });
  return given;
}

bool has_class_embedding(const fs::path& config) {
  const nlohmann::json json = load_json(config);
  return json.is_object() && json.contains("class_embed_type") && !json["class_embed_type"].is_null();
}

std::vector<std::string> ignored_of_text_encoder(Naming naming, int64_t layers, bool projects) {
  std::vector<std::string> names{"*logit_scale", "*text_model.embeddings.position_ids"};
  if (!projects) names.push_back("text_projection.weight");
  if (!projects && naming == Naming::open_clip) names.push_back(fmt::format("text_model.encoder.layers.{}.*", layers));
  return names;
}

}  // namespace hearth
