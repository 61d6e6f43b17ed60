#include "server/image/a1111_names.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sampling/names.h"
#include "sampling/samplers.h"

namespace hearth::server {
namespace {

struct Scheduler {
  std::string_view name, label, schedule;  // the schedule of Request, under compat a1111
};
constexpr Scheduler schedulers[] = {
    {"automatic", "Automatic", ""},
    {"uniform", "Uniform", "Uniform"},
    {"karras", "Karras", "karras"},
    {"exponential", "Exponential", "exponential"},
    {"polyexponential", "Polyexponential", "polyexponential"},
    {"sgm_uniform", "SGM Uniform", "sgm_uniform"},
    {"kl_optimal", "KL Optimal", "kl_optimal"},
    {"align_your_steps", "Align Your Steps", "Align Your Steps"},
    {"simple", "Simple", "simple"},
    {"normal", "Normal", "normal"},
    {"ddim", "DDIM", "DDIM"},
    {"beta", "Beta", "beta"},
    {"turbo", "Turbo", "turbo"},
    {"align_your_steps_GITS", "Align Your Steps GITS", "Align Your Steps GITS"},
    {"align_your_steps_11", "Align Your Steps 11", "Align Your Steps 11"},
    {"align_your_steps_32", "Align Your Steps 32", "Align Your Steps 32"},
};

struct Upscaler {
  std::string_view a1111, name;
  bool of_latents;
};
constexpr Upscaler upscalers[] = {
    {"Latent", "latent", true},
    {"Latent (antialiased)", "latent-antialiased", true},
    {"Latent (bicubic)", "latent-bicubic", true},
    {"Latent (bicubic antialiased)", "latent-bicubic-antialiased", true},
    {"Latent (nearest)", "latent-nearest", true},
    {"Latent (nearest-exact)", "latent-nearest-exact", true},
    {"None", "lanczos", false},  // A1111 resizes with Lanczos then
    {"Lanczos", "lanczos", false},
    {"Nearest", "nearest", false},
    {"Bilinear", "bilinear", false},
    {"Bicubic", "bicubic", false},
};

}  // namespace

Json a1111_samplers() {
  Json list = Json::array();
  for (const sampling::Sampler& s : sampling::samplers()) {
    if (!s.programs.a1111 || s.aliases.empty()) continue;
    Json aliases = Json::array({s.name}), options = Json::object();
    for (size_t i = 1; i < s.aliases.size(); ++i) aliases.push_back(s.aliases[i]);
    if (s.schedule != "default") options["scheduler"] = s.schedule;
    list.push_back({{"name", s.aliases[0]}, {"aliases", aliases}, {"options", options}});
  }
  return list;
}

Json a1111_schedulers() {
  Json list = Json::array();
  for (const Scheduler& s : schedulers)
    list.push_back({{"name", s.name}, {"label", s.label}, {"aliases", nullptr}, {"default_rho", nullptr}, {"need_inner_model", false}});
  return list;
}

Json a1111_upscalers() {
  Json list = Json::array();
  for (const Upscaler& u : upscalers)
    if (!u.of_latents)
      list.push_back({{"name", u.a1111}, {"model_name", nullptr}, {"model_path", nullptr}, {"model_url", nullptr}, {"scale", 4}});
  return list;
}

Json a1111_latent_upscale_modes() {
  Json list = Json::array();
  for (const Upscaler& u : upscalers)
    if (u.of_latents) list.push_back({{"name", u.a1111}});
  return list;
}

std::optional<std::string> schedule_of_a1111(std::string_view name) {
  const std::string wanted = sampling::folded(name);
  if (wanted.empty()) return "";
  for (const Scheduler& s : schedulers)
    if (sampling::folded(s.name) == wanted || sampling::folded(s.label) == wanted) return std::string(s.schedule);
  return {};
}

std::optional<std::string> upscaler_of_a1111(std::string_view name) {
  for (const Upscaler& u : upscalers)
    if (u.a1111 == name || u.name == name) return std::string(u.name);
  return {};
}

std::vector<std::string_view> a1111_upscaler_names() {
  std::vector<std::string_view> names;
  for (const Upscaler& u : upscalers) names.push_back(u.a1111);
  return names;
}

}  // namespace hearth::server
