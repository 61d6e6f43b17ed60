#include "models/control_files.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/json.h"
#include "models/checkpoints.h"
#include "models/registry.h"
#include "models/slots.h"
#include "parts/ip_adapter/files.h"

namespace hearth::models {
namespace {

std::vector<NetworkPlace> places_of_all() {
  std::vector<NetworkPlace> all{{"", &parts::ip_adapter_files, &slots::ip_adapter}};
  const auto is_same = [](const NetworkPlace& a, const NetworkPlace& b) { return a.network == b.network && a.prefix == b.prefix; };
  for (const Entry& entry : entries())
    if (const auto* family = std::get_if<ImageFamily>(&entry.task))
      for (const NetworkPlace& place : family->controls)
        if (std::ranges::none_of(all, [&](const NetworkPlace& known) { return is_same(known, place); })) all.push_back(place);
  return all;
}

// Files of no checkpoint: each run names its own.
const ImageFiles& control_files() {
  static const ImageFiles files{
      .slots = {&slots::control, &slots::ip_adapter},
      .places = places_of_all(),
      .leftovers = {},
      .predictions = {},
      .markers = {},
      .vocabularies = {},
      .written = {},
      .signatures = [] { return std::vector<Signature>(); },
  };
  return files;
}

std::vector<KnownFamily> known_files() {
  std::vector<KnownFamily> known = image_files();
  known.push_back({&control_files(), {}});
  return known;
}

}  // namespace

GivenComponent open_control_network(const std::filesystem::path& path) { return open_given(path, slots::control.name, known_files()); }
GivenComponent open_ip_adapter(const std::filesystem::path& path) { return open_given(path, slots::ip_adapter.name, known_files()); }

void require_control_for(std::string_view family, const GivenComponent& network) {
  std::vector<std::string_view> titles;
  std::string_view own;
  for (const Entry& entry : entries()) {
    const auto* images = std::get_if<ImageFamily>(&entry.task);
    if (!images || images->controls.empty()) continue;
    const bool accepts = std::ranges::find(images->controls, network.network, &NetworkPlace::network) != images->controls.end();
    if (entry.name == family && accepts) return;
    const std::string_view title = entry.title.empty() ? entry.name : entry.title;
    if (entry.name == family) own = title;
    if (accepts) titles.push_back(title);
  }
  if (!own.empty())
    fail<WeightError>("{}: is a {} for {}, expected a control network for {}", network.files.at(0).string(), network.class_name,
                      fmt::join(titles, ", "), own);
}

std::string published_with(std::string_view component, const std::function<bool(const nlohmann::json& config)>& fits) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const KnownFamily& family : image_files())
    for (const auto& folder : fs::directory_iterator(family.configurations, error)) {
      const fs::path file = folder.path() / component / "config.json", index = folder.path() / "model_index.json";
      if (fs::exists(file, error) && fs::exists(index, error) && fits(load_json(file))) return load_json(index).value("_name", "");
    }
  return "";
}

}  // namespace hearth::models
