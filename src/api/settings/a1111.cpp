#include "api/settings/a1111.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/settings/members.h"
#include "api/settings/recipe.h"
#include "core/text/utf8.h"

namespace hearth::api {
namespace {

using Setting = std::pair<std::string, std::string>;

struct Label {
  std::string_view name, a1111;
};
constexpr Label samplers[] = {
    {"ddim", "DDIM"}, {"euler", "Euler"}, {"euler_ancestral", "Euler a"}, {"dpmpp_2m", "DPM++ 2M"}, {"plms", "PLMS"},
};
constexpr Label schedules[] = {{"karras", "Karras"}};

template <size_t n> std::string label(const Label (&labels)[n], const std::string& name) {
  for (const Label& l : labels)
    if (l.name == name) return std::string(l.a1111);
  return name;
}

// The order in which A1111 writes its parameters; others follow.
constexpr std::array<std::string_view, 26> order{"Steps",
                                                 "Sampler",
                                                 "Schedule type",
                                                 "CFG scale",
                                                 "Seed",
                                                 "Size",
                                                 "Model hash",
                                                 "Model",
                                                 "Refiner",
                                                 "Refiner switch at",
                                                 "Clip skip",
                                                 "Emphasis",
                                                 "RNG",
                                                 "ENSD",
                                                 "Discard penultimate sigma",
                                                 "Variation seed",
                                                 "Variation seed strength",
                                                 "Denoising strength",
                                                 "Hires upscale",
                                                 "Hires steps",
                                                 "Hires upscaler",
                                                 "Image CFG scale",
                                                 "Mask blur",
                                                 "Inpaint area",
                                                 "Masked area padding",
                                                 "Masked content"};

std::string written(const Row& row, const Request& used) {
  if (row.reporting.a1111_value) return row.reporting.a1111_value(used);
  const Json value = row.value(used);
  const std::vector<std::string> texts = typed(row, value);
  return texts.empty() || is_omitted(row, value) ? "" : texts[0];
}

}  // namespace

std::string a1111_sampler(const Request& used) { return label(samplers, used.sampler); }
std::string a1111_schedule(const Request& used) { return label(schedules, used.schedule); }

std::string a1111_emphasis(const Request& used) {
  if (used.prompt_syntax != PromptSyntax::a1111) return "";
  switch (used.emphasis.value_or(Emphasis::original)) {
    case Emphasis::no_norm: return "No norm";
    case Emphasis::ignore: return "Ignore";
    case Emphasis::none: return "None";
    case Emphasis::original: break;
  }
  return "";
}

std::string a1111_inpaint_fill(const Request& used) {
  if (!used.edit.fill) return "";
  std::string name(name_of(*used.edit.fill));
  std::ranges::replace(name, '-', ' ');  // "latent noise"
  return name;
}

// A1111's setting "Random number generator source".
std::string a1111_rng(const Request& used) {
  if (used.noise) return "";
  return used.rng.value_or(used.compat == Compat::a1111 ? Rng::nv : Rng::cpu) == Rng::nv ? "NV" : "CPU";
}

Parameters to_parameters(const RecipeFacts& facts, const Request& used) {
  std::vector<Setting> settings;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) settings.emplace_back(name, value);
  };
  add("Model hash", facts.denoiser_hash.substr(0, 10));
  settings.emplace_back("Model", facts.model);
  if (used.refiner_start) settings.emplace_back("Refiner", facts.refiner);
  for (const Row& row : rows())
    if (!row.reporting.a1111.empty()) add(row.reporting.a1111, written(row, used));
  std::ranges::stable_sort(settings, {}, [](const Setting& s) { return std::ranges::find(order, s.first) - order.begin(); });
  settings.emplace_back("Version", "hearth " + facts.version);
  return {
      .prompt = valid_utf8(used.prompt), .negative_prompt = valid_utf8(used.negative_prompt.value_or("")), .settings = std::move(settings)};
}

}  // namespace hearth::api
