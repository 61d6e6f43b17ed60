#include "models/control_files.h"

#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "models/checkpoints.h"
#include "models/slots.h"
#include "parts/controlnet/files.h"
#include "parts/ip_adapter/files.h"
#include "parts/t2i_adapter/files.h"

namespace hearth::models {
namespace {

// No family has them: each run names its own.
const ImageFiles control_files{
    .slots = {&slots::control, &slots::ip_adapter},
    .places = {{"control_model.", &parts::controlnet_files, &slots::control},
               {"", &parts::controlnet_files, &slots::control},
               {"", &parts::control_lora_files, &slots::control},
               {"", &parts::t2i_adapter_files, &slots::control},
               {"", &parts::ip_adapter_files, &slots::ip_adapter}},
    .leftovers = {},
    .predictions = {},
    .markers = {},
    .vocabularies = {},
    .written = {},
    .signatures = [] { return std::vector<Signature>(); },
};

std::vector<KnownFamily> known_files() {
  std::vector<KnownFamily> known = image_files();
  known.push_back({&control_files, {}});
  return known;
}

}  // namespace

GivenComponent open_control_network(const std::filesystem::path& path) { return open_given(path, slots::control.name, known_files()); }
GivenComponent open_ip_adapter(const std::filesystem::path& path) { return open_given(path, slots::ip_adapter.name, known_files()); }

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
