#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "api/rerun/rerun.h"
#include "core/error.h"
#include "sampling/compat/sampler_names.h"
#include "sampling/names.h"
#include "sampling/schedules/schedule.h"

namespace hearth::api {
namespace {

// The canonical name of a schedule; empty if unknown.
std::string schedule_named(const std::string& label) {
  if (sampling::folded(label) == "automatic") return "automatic";
  try {
    return sampling::find_schedule(label).name;
  } catch (const Error&) { return ""; }
}

// Looks up settings and records which ones were used.
struct Settings {
  const Parameters& parameters;
  Rerun& r;
  std::set<std::string> taken = {};

  const std::string* take(const char* name) {
    taken.insert(name);
    return parameters.find(name);
  }
  void pass(const char* name, const char* flag) {
    if (const std::string* value = take(name)) add_flag(r, flag, *value);
  }
};

// Before version 1.9, A1111 had the schedule at the end of the sampler's name, and a name without one meant Uniform, not the sampler's
// present default. Only Restart used Karras.
void add_sampler(Settings& s, bool ours) {
  const std::string* name = s.take("Sampler");
  const std::string* type = s.take("Schedule type");
  std::string schedule = type ? *type : "";
  if (const auto known = name ? sampling::known_sampler_name(*name) : std::nullopt) {
    const sampling::Sampler& sampler = *known->sampler;
    add_flag(s.r, "sampler", std::string(sampler.name));
    for (const auto& [option, value] : known->options) add_flag(s.r, "sampler-opt", fmt::format("{}={}", option, value));
    if (!known->schedule.empty()) schedule = known->schedule;
    else if (!type && !ours && sampler.schedule != "default" && sampler.name != "restart") schedule = "normal";
  } else if (name) {
    s.r.not_reproduced.push_back(fmt::format("Sampler: {}, which hearth does not support", *name));
  }
  if (schedule.empty()) return;
  if (const std::string canonical = schedule_named(schedule); !canonical.empty()) add_flag(s.r, "schedule", canonical);
  else s.r.not_reproduced.push_back(fmt::format("Schedule type: {}, which hearth does not support", schedule));
}

void add_size(Settings& s) {
  const std::string* size = s.take("Size");
  if (!size) return;
  const size_t x = size->find('x');
  if (x == size->npos) return s.r.not_reproduced.push_back(fmt::format("Size: {}", *size));
  add_flag(s.r, "width", size->substr(0, x));
  add_flag(s.r, "height", size->substr(x + 1));
}

void add_editing(Settings& s) {
  const bool hires = s.parameters.find("Hires upscale") != nullptr;
  s.pass("Hires upscale", "hires");
  s.pass("Hires steps", "hires-steps");
  if (const std::string* name = s.take("Hires upscaler")) {
    std::string flag = *name;
    std::transform(flag.begin(), flag.end(), flag.begin(), [](unsigned char c) { return c == ' ' ? '-' : char(std::tolower(c)); });
    std::erase_if(flag, [](char c) { return c == '(' || c == ')'; });
    constexpr std::array<std::string_view, 10> known{"latent",         "latent-antialiased",
                                                     "latent-bicubic", "latent-bicubic-antialiased",
                                                     "latent-nearest", "latent-nearest-exact",
                                                     "nearest",        "bilinear",
                                                     "bicubic",        "lanczos"};
    if (std::ranges::find(known, flag) != known.end()) add_flag(s.r, "hires-upscaler", flag);
    else s.r.not_reproduced.push_back(fmt::format("Hires upscaler: {}, which hearth does not support", *name));
  }
  if (const std::string* strength = s.take("Denoising strength")) {
    add_flag(s.r, hires ? "hires-strength" : "strength", *strength);
    if (!hires) s.r.not_reproduced.push_back("the initial image: it is not recorded; add --init-image FILE");
  }
  s.pass("Image CFG scale", "image-guidance");
  const bool masked = s.parameters.find("Mask blur") || s.parameters.find("Inpaint area");
  s.pass("Mask blur", "mask-blur");
  if (const std::string* area = s.take("Inpaint area"); area && *area == "Only masked") s.r.arguments.push_back("--only-masked");
  s.pass("Masked area padding", "mask-padding");
  if (const std::string* content = s.take("Masked content")) {
    std::string name = *content;  // "latent noise"
    std::ranges::replace(name, ' ', '-');
    add_flag(s.r, "inpaint-fill", name);
  }
  if (masked) s.r.not_reproduced.push_back("the mask: it is not recorded; add --mask FILE");
}

}  // namespace

Rerun rerun_of_parameters(const Parameters& p) {
  Rerun r{.source = "A1111", .arguments = {}, .model = {}};
  Settings s{p, r};
  const std::string* version = s.take("Version");
  const bool ours = version && version->starts_with("hearth");
  add_flag(r, "prompt", p.prompt);
  if (!p.negative_prompt.empty()) add_flag(r, "negative-prompt", p.negative_prompt);
  if (p.prompt.find("<lora:") != p.prompt.npos)
    r.not_reproduced.push_back("the folder of the prompt's <lora:…>: it is not recorded; add --lora-dir DIR");
  if (p.prompt.find("<hypernet:") != p.prompt.npos) r.not_reproduced.push_back("<hypernet:…> in the prompt, which hearth does not support");
  s.take("Lora hashes");
  s.pass("Steps", "steps");
  add_sampler(s, ours);
  s.pass("CFG scale", "cfg-scale");
  s.pass("Seed", "seed");
  add_size(s);
  s.pass("Clip skip", "clip-skip");
  s.pass("ENSD", "ensd");
  if (const std::string* emphasis = s.take("Emphasis")) {
    const std::string name = sampling::folded(*emphasis) == "nonorm" ? "no-norm" : sampling::folded(*emphasis);
    add_flag(r, "emphasis", name);
  }
  s.pass("Variation seed", "variation-seed");
  s.pass("Variation seed strength", "variation-strength");
  if (const std::string* eta = s.take("Eta")) add_flag(r, "sampler-opt", "eta=" + *eta);
  add_editing(s);
  const std::string* rng = s.take("RNG");
  const bool cpu = rng && *rng == "CPU", nv = rng && *rng == "NV";
  if (!ours || nv) add_flag(r, "compat", "a1111");
  if (!ours && cpu) add_flag(r, "rng", "cpu");
  if (!ours && !cpu && !nv) r.not_reproduced.push_back(fmt::format("RNG: {}; hearth draws its noise as NV", rng ? *rng : "GPU"));
  if (const std::string* discards = s.take("Discard penultimate sigma"); discards && *discards == "True")
    r.arguments.push_back("--discard-penultimate");
  if (const std::string* model = s.take("Model")) r.model = *model;
  if (const std::string* hash = s.take("Model hash"); hash && ours) r.hashes["unet"] = *hash;  // A1111 hashes the whole file
  for (const auto& [name, value] : p.settings)
    if (!s.taken.contains(name)) r.not_reproduced.push_back(fmt::format("{}: {}", name, value));
  return r;
}

}  // namespace hearth::api
