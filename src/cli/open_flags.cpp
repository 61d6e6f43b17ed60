#include "cli/open_flags.h"

#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/say.h"
#include "core/error.h"

namespace hearth::cli {
namespace {

const std::vector<std::string> precision_names = {"f32", "bf16", "f16", "auto"};

// The components of these roles, role by role.
std::vector<ComponentInfo> components_by(std::initializer_list<ComponentRole> roles) {
  std::vector<ComponentInfo> ordered;
  for (const ComponentRole role : roles)
    for (const ComponentInfo& c : list_components())
      if (c.role == role) ordered.push_back(c);
  return ordered;
}

std::string word_for(const ComponentInfo& component) {
  return component.role == ComponentRole::autoencoder ? "autoencoder" : component.spoken;
}

}  // namespace

void OpenFlags::add_place(Flags& flags) {
  flags.text("--variant", "NAME", "Open the files *.NAME.safetensors of the checkpoint, e.g. fp16", variant, "those without a variant");
  flags.choice("--device", "", "What computes", device, {.names = names_of(list_backends())});
  flags.add("-t,--threads", "N", "Processor threads", threads == 0 ? "all processors" : std::to_string(threads),
            [this](const std::string& t) { threads = int(parse_integer(t, 1, 1024)); });
  flags.choice("--precision", "", "Type of the weights (auto: as stored, 16 bits as bf16 with AMX)", precision, {.names = precision_names});
}

void OpenFlags::add_parts(Flags& flags) {
  for (const ComponentInfo& c : components_by({ComponentRole::autoencoder, ComponentRole::denoiser, ComponentRole::text_encoder})) {
    const std::string what = places.empty() ? ": a file that holds one, in any layout, or a folder" : ", likewise";
    flags.text(c.flag, "PATH", "Another " + word_for(c) + what, places[c.flag], "the checkpoint's own");
  }
  flags.text("--config", "DIR", "Of a single file: a diffusers folder whose configurations are to hold; weights need not be there", config,
             "built-in ones of the published model with its geometry");
  std::vector<std::string> denoisers;
  for (const ComponentInfo& c : components_by({ComponentRole::denoiser})) denoisers.push_back(c.spoken);
  flags.toggle("--ema", fmt::format("Of a single file: the {}'s averaged weights (model_ema)", fmt::join(denoisers, " or ")), ema);
}

void OpenFlags::add_components(Flags& flags) {
  for (const ComponentInfo& c : components_by({ComponentRole::denoiser, ComponentRole::autoencoder, ComponentRole::text_encoder})) {
    if (precisions.contains(c.precision_flag)) continue;
    flags.choice(c.precision_flag, "", "The same for the " + word_for(c) + " alone", precisions[c.precision_flag],
                 {.names = precision_names}, "--precision");
  }
  for (const ComponentInfo& c : components_by({ComponentRole::denoiser, ComponentRole::autoencoder, ComponentRole::text_encoder})) {
    if (devices.contains(c.device_flag)) continue;
    flags.choice(c.device_flag, "", "What computes the " + word_for(c) + " alone", devices[c.device_flag],
                 {.names = names_of(list_backends())}, "--device");
  }
}

void OpenFlags::add_session(Flags& flags) {
  flags.toggle("--pin-threads", "Bind each thread to a processor of its own", pin);
  flags.text("--cache", "DIR", "Keep the weights there as they are packed for this processor, to open them faster the next time", cache,
             "not kept");
}

std::map<std::string, std::filesystem::path> OpenFlags::components() const {
  std::map<std::string, std::filesystem::path> given;
  for (const ComponentInfo& c : list_components())
    if (const auto place = places.find(c.flag); place != places.end() && !place->second.empty()) given[c.name] = place->second;
  return given;
}

OpenOptions OpenFlags::options() const {
  OpenOptions options{.config = config,
                      .ema = ema,
                      .variant = variant,
                      .device = device,
                      .threads = threads,
                      .precision = precision_of(precision),
                      .cancel = &cancelled};
  options.cache = cache;
  options.refiner = refiner;
  options.preview_decoder = preview_decoder;
  options.pin_threads = pin;
  options.warn = [](const std::string& line) { say(line); };
  for (const auto& [name, path] : components()) options.components[name].path = path;
  for (const ComponentInfo& c : list_components())
    if (const auto given = precisions.find(c.precision_flag); given != precisions.end() && !given->second.empty())
      options.components[c.name].precision = precision_of(given->second);
  for (const ComponentInfo& c : list_components())
    if (const auto given = devices.find(c.device_flag); given != devices.end()) options.components[c.name].device = given->second;
  return options;
}

std::vector<std::string> names_of(const std::vector<Named>& table) {
  std::vector<std::string> names;
  for (const Named& entry : table) names.push_back(entry.name);
  return names;
}

Precision precision_of(const std::string& name) {
  if (name == "f32") return Precision::f32;
  if (name == "bf16") return Precision::bf16;
  if (name == "f16") return Precision::f16;
  return Precision::automatic;
}

}  // namespace hearth::cli
