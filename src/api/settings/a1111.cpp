#include "api/settings/a1111.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/settings/members.h"
#include "api/settings/recipe.h"
#include "core/utf8.h"

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

// The order that A1111 and its readers are used to. What is not in it comes behind.
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

std::string written(const Row& row, const Request& told) {
  if (row.told.a1111_value) return row.told.a1111_value(told);
  const Json value = row.value(told);
  const std::vector<std::string> texts = typed(row, value);
  return texts.empty() || is_unsaid(row, value) ? "" : texts[0];
}

}  // namespace

std::string a1111_sampler(const Request& told) { return label(samplers, told.sampler); }
std::string a1111_schedule(const Request& told) { return label(schedules, told.schedule); }

std::string a1111_emphasis(const Request& told) {
  if (told.prompt_syntax != PromptSyntax::a1111) return "";
  switch (told.emphasis.value_or(Emphasis::original)) {
    case Emphasis::no_norm: return "No norm";
    case Emphasis::ignore: return "Ignore";
    case Emphasis::none: return "None";
    case Emphasis::original: break;
  }
  return "";
}

// Tells A1111 where to draw the noise.
std::string a1111_rng(const Request& told) {
  if (told.noise) return "";
  return told.rng.value_or(told.compat == Compat::a1111 ? Rng::nv : Rng::cpu) == Rng::nv ? "NV" : "CPU";
}

Parameters to_parameters(const RecipeFacts& facts, const Request& told) {
  std::vector<Setting> settings;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) settings.emplace_back(name, value);
  };
  add("Model hash", facts.denoiser_hash.substr(0, 10));
  settings.emplace_back("Model", facts.model);
  if (told.refiner_start) settings.emplace_back("Refiner", facts.refiner);
  for (const Row& row : rows())
    if (!row.told.a1111.empty()) add(row.told.a1111, written(row, told));
  std::ranges::stable_sort(settings, {}, [](const Setting& s) { return std::ranges::find(order, s.first) - order.begin(); });
  settings.emplace_back("Version", "hearth " + facts.version);
  return {
      .prompt = valid_utf8(told.prompt), .negative_prompt = valid_utf8(told.negative_prompt.value_or("")), .settings = std::move(settings)};
}

}  // namespace hearth::api
