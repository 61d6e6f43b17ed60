#include "adapters/module_names.h"

#include <algorithm>
#include <array>

#include "weights/name_pattern.h"

namespace hearth::adapters {
namespace {

// What trainers write in front of a module's name: 0 means the denoiser, or a language model; 1 to 3 a text encoder.
struct Prefix {
  std::string_view text;
  int encoder;
};
constexpr std::array prefixes = std::to_array<Prefix>({
    {"lora_unet_", 0},
    {"lora_transformer_", 0},
    {"lora_prior_unet_", 0},
    {"lora_prior_te_", 1},
    {"lycoris_", 0},
    {"lora_te1_", 1},
    {"lora_te2_", 2},
    {"lora_te3_", 3},
    {"lora_te_", 1},
    {"base_model.model.", 0},
    {"unet.", 0},
    {"transformer.", 0},
    {"prior.", 0},
    {"model.diffusion_model.", 0},
    {"diffusion_model.", 0},
    {"text_encoder.", 1},
    {"text_encoder_2.", 2},
    {"text_encoder_3.", 3},
    {"", 0},
});

std::string with_underscores(std::string_view name) {
  std::string flat(name);
  std::ranges::replace(flat, '.', '_');
  return flat;
}

std::string_view without(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

constexpr std::string_view weight_end = ".weight";

// "text_encoder_2" is the second.
int number_of(const AdaptedNetwork& network) {
  const char last = network.component.back();
  return last >= '2' && last <= '9' ? last - '0' : 1;
}

}  // namespace

ModuleNames::ModuleNames(std::span<const AdaptedNetwork> networks) : networks_(networks), own_(networks.size()) {
  for (size_t i = 0; i < networks.size(); ++i) {
    const AdaptedNetwork& network = networks[i];
    for (const std::string& pattern : network.surplus) own_[i].surplus.push_back(with_underscores(pattern));
    std::vector<std::string_view> official;
    for (const auto& [name, info] : network.tensors)
      if (name.ends_with(weight_end)) official.push_back(name);
    const auto module_of = [](std::string_view name) { return std::string(name.substr(0, name.size() - weight_end.size())); };
    std::map<std::string, std::string> originals;
    for (const auto& [other, name] : network.others)
      if (other.ends_with(weight_end) && name.ends_with(weight_end))
        own_[i].modules[with_underscores(other.substr(0, other.size() - weight_end.size()))].push_back(
            {i, name.substr(0, name.size() - weight_end.size()), form::same, {}});
    for (const std::string_view name : official)
      own_[i].modules[with_underscores(module_of(name))].push_back({i, module_of(name), form::same, {}});
    for (const Spelling& spelling : network.files ? network.files->spellings : std::vector<Spelling>()) {
      if (!spelling.writing) continue;
      const NameMap map = spelling.writing(network.tensors);
      std::map<std::string, std::vector<ChangedWeight>, std::less<>> spelled;
      for (const std::string_view name : official)
        if (const auto original = to_original(name, map); original && original->name.ends_with(weight_end)) {
          spelled[with_underscores(module_of(original->name))].push_back({i, module_of(name), original->form, {}});
          if (original->name != name) originals.emplace(module_of(name), module_of(original->name));
        }
      own_[i].modules.merge(spelled);  // an official name means what it says
    }
    for (auto& [flat, weights] : own_[i].modules)
      for (ChangedWeight& w : weights)
        if (const auto original = originals.find(w.module); original != originals.end()) w.original = original->second;
  }
}

// Calls accepts(network index, name with underscores) for every network and name that the module may mean, until it returns true.
template <class F> bool ModuleNames::any_place(std::string_view module, F accepts) const {
  const auto in_network = [&](size_t i, std::string_view rest) {
    rest = without(rest, "base_model.model.");
    const std::string flat = with_underscores(rest);
    // Older diffusers calls the only layer of to_out by the name of the list.
    return accepts(i, flat) || (flat.ends_with("to_out") && accepts(i, flat + "_0"));
  };
  for (size_t i = 0; i < networks_.size(); ++i)
    for (const std::string& prefix : networks_[i].prefixes)
      if (!prefix.empty() && module.starts_with(prefix) && in_network(i, module.substr(prefix.size()))) return true;
  for (const Prefix& prefix : prefixes) {
    if (!module.starts_with(prefix.text)) continue;
    const std::string_view rest = module.substr(prefix.text.size());
    const ComponentRole role = prefix.encoder ? ComponentRole::text_encoder : ComponentRole::denoiser;
    const auto of = [&](bool by_number) {
      for (size_t i = 0; i < networks_.size(); ++i)
        if (networks_[i].role == role && (!prefix.encoder || (number_of(networks_[i]) == prefix.encoder) == by_number))
          if (in_network(i, rest)) return true;
      return false;
    };
    // Trainers disagree on the number of an encoder, but their names differ.
    if (of(true) || (prefix.encoder > 1 && of(false))) return true;
  }
  return false;
}

std::vector<ChangedWeight> ModuleNames::find(std::string_view module) const {
  std::vector<ChangedWeight> found;
  any_place(module, [&](size_t network, const std::string& flat) {
    const auto own = own_[network].modules.find(flat);
    if (own != own_[network].modules.end()) found = own->second;
    return !found.empty();
  });
  return found;
}

bool ModuleNames::is_surplus(std::string_view module) const {
  return any_place(module, [&](size_t network, const std::string& flat) { return matches_any(own_[network].surplus, flat + "_weight"); });
}

}  // namespace hearth::adapters
