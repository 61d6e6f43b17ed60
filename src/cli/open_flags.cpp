#include "cli/open_flags.h"

#include <fmt/ranges.h>

#include <limits>

#include "cli/command.h"
#include "cli/log.h"
#include "core/error.h"

namespace hearth::cli {
namespace {

const std::vector<std::string> precision_names = {"f32", "bf16", "f16", "auto"};

// The components with these roles, in order of role.
std::vector<ComponentInfo> components_by(std::initializer_list<ComponentRole> roles) {
  std::vector<ComponentInfo> ordered;
  for (const ComponentRole role : roles)
    for (const ComponentInfo& c : list_components())
      if (c.role == role) ordered.push_back(c);
  return ordered;
}

}  // namespace

void OpenFlags::add_model(Flags& flags) {
  flags.path("-m,--model", "Checkpoint: a folder in the diffusers layout, or a single .safetensors or .ckpt file", model, "the demo model")
      .in_basic_help();
}

void OpenFlags::add_variant(Flags& flags) { cli::add_variant(flags, variant); }

void OpenFlags::add_device(Flags& flags) {
  add_device_flag(flags, "--device", device_help, device, "");
  add_gpu_share(flags, "blocks of each network", gpu_layers, gpu_memory);
  add_threads(flags, threads);
  flags
      .choice("--precision", "", "Type that weights are held in; auto: as stored, but 16-bit weights become bf16 on CPUs with AMX",
              precision, {.names = precision_names})
      .also("--dtype");
}

void OpenFlags::add_components(Flags& flags) {
  for (const ComponentInfo& c : components_by({ComponentRole::autoencoder, ComponentRole::denoiser, ComponentRole::text_encoder}))
    if (c.adds.empty())
      flags.text(c.flag, "PATH", fmt::format("Use the {} of this file or folder, in any layout", c.label), paths[c.flag],
                 "the checkpoint's own");
  flags.text("--config", "DIR", "Read the configurations of a single file from this diffusers folder, which needs no weights", config,
             "the built-in ones of the published model with the same architecture");
  std::vector<std::string> denoisers;
  for (const ComponentInfo& c : components_by({ComponentRole::denoiser})) denoisers.push_back(c.label);
  flags.toggle("--ema", fmt::format("Load the {}'s EMA weights (model_ema) of a single file", fmt::join(denoisers, " or ")), ema);
}

void OpenFlags::add_added_components(Flags& flags) {
  for (const ComponentInfo& c : list_components())
    if (!c.adds.empty()) flags.text(c.flag, "PATH", "Add " + c.adds, paths[c.flag], "none");
}

void OpenFlags::add_component_precisions_and_devices(Flags& flags) {
  const auto ordered =
      components_by({ComponentRole::denoiser, ComponentRole::autoencoder, ComponentRole::text_encoder, ComponentRole::image_encoder});
  const auto old_name = [](const ComponentInfo& c, const std::string& what) {
    return c.role == ComponentRole::text_encoder ? "--text-" + what : std::string();
  };
  const auto whose = [](const ComponentInfo& c) {
    if (c.role == ComponentRole::text_encoder) return std::string("text encoders");
    return c.role == ComponentRole::image_encoder ? std::string("image encoders") : c.label;
  };
  for (const ComponentInfo& c : ordered)
    if (!precisions.contains(c.precision_flag))
      flags
          .choice(c.precision_flag, "", fmt::format("--precision for the {} only", whose(c)), precisions[c.precision_flag],
                  {.names = precision_names}, "--precision")
          .also(old_name(c, "precision"));
  for (const ComponentInfo& c : ordered)
    if (!devices.contains(c.device_flag))
      add_device_flag(flags, c.device_flag, fmt::format("--device for the {} only", whose(c)), devices[c.device_flag], "--device")
          .also(old_name(c, "device"));
}

void OpenFlags::add_session(Flags& flags) {
  add_pin_threads(flags, pin);
  flags.text("--weight-cache", "DIR", "Cache the weights as packed for this CPU in this folder; later runs load faster", cache, "no cache")
      .also("--cache");
}

Flag& add_device_flag(Flags& flags, const std::string& name, const std::string& help, std::string& device, const std::string& unset) {
  const auto set = [&device](const std::string& text) {
    constexpr std::string_view card = "vulkan:";
    if (text.starts_with(card)) parse_integer(text.substr(card.size()), 0, 1023);
    else check_word(text, list_devices());
    device = text;
  };
  return flags.add(name, fmt::format("{}", fmt::join(list_devices(), "|")), help, device.empty() ? unset : device, set)
      .completes(list_devices());
}

std::string named_device(const std::string& device) {
  if (device != "auto") return device;
  const Named chosen = chosen_device(device);
  log_info(fmt::format("--device auto: {}, {}", chosen.name, chosen.summary));
  return chosen.name;
}

Flag& add_threads(Flags& flags, int& threads) {
  return flags.add("-t,--threads", "N", "Number of threads", threads == 0 ? "all CPUs" : std::to_string(threads),
                   [&threads](const std::string& t) { threads = int(parse_integer(t, 1, 1024)); });
}

void add_gpu_share(Flags& flags, std::string_view what, std::optional<int64_t>& layers, std::optional<int64_t>& memory) {
  flags
      .add("--gpu-layers", "N|all",
           fmt::format(
               "Put the first N {} on the GPU of --device and the rest on the CPU; what is outside of them is on the GPU if all are", what),
           "all",
           [&layers](const std::string& t) {
             constexpr int64_t most = std::numeric_limits<int64_t>::max();
             layers = t == "all" ? most : parse_integer(t, 0, most);
           })
      .also("-ngl,--n-gpu-layers");
  flags.add("--gpu-memory", "SIZE", fmt::format("Put as many {} on the GPU as fit if it may use so much memory (K, M, G)", what),
            "no limit", [&memory](const std::string& t) { memory = parse_size(t); });
}

Flag& add_pin_threads(Flags& flags, bool& pin) { return flags.toggle("--pin-threads", "Pin each thread to its own CPU", pin); }

Flag& add_variant(Flags& flags, std::string& variant) {
  return flags.text("--variant", "NAME", "Load the checkpoint's files of this variant: fp16 loads *.fp16.safetensors", variant,
                    "files without a variant");
}

Flag& add_json(Flags& flags, const std::string& keys, bool& json) {
  flags.group("Output");
  return flags.toggle("--json", "Print one JSON object on stdout: " + keys, json);
}

std::map<std::string, std::filesystem::path> OpenFlags::components() const {
  std::map<std::string, std::filesystem::path> given;
  for (const ComponentInfo& c : list_components())
    if (const auto path = paths.find(c.flag); path != paths.end() && !path->second.empty()) given[c.name] = path->second;
  return given;
}

OpenOptions OpenFlags::options() const {
  OpenOptions options{.config = config,
                      .ema = ema,
                      .variant = variant,
                      .device = named_device(device),
                      .threads = threads,
                      .precision = precision_of(precision),
                      .cancel = &canceled};
  options.cache = cache;
  options.refiner = refiner;
  options.preview_decoder = preview_decoder;
  options.pin_threads = pin;
  options.gpu_layers = gpu_layers;
  options.gpu_memory = gpu_memory;
  options.warn = [](const std::string& line) { log_warning(line); };
  for (const auto& [name, path] : components()) options.components[name].path = path;
  for (const ComponentInfo& c : list_components())
    if (const auto given = precisions.find(c.precision_flag); given != precisions.end() && !given->second.empty())
      options.components[c.name].precision = precision_of(given->second);
  for (const ComponentInfo& c : list_components())
    if (const auto given = devices.find(c.device_flag); given != devices.end())
      options.components[c.name].device = named_device(given->second);
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
