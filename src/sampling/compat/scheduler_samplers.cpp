#include "sampling/compat/scheduler_samplers.h"

#include <algorithm>
#include <array>

#include "sampling/names.h"

namespace hearth::sampling {
namespace {

using enum SchedulerClass;

struct Pair {
  SchedulerClass scheduler;
  std::string_view sampler;
};
// Each class once; a sampler that implements several has the defaults of the first.
constexpr std::array pairs{
    Pair{pndm, "plms"},
    Pair{ddim, "ddim"},
    Pair{cogvideox_ddim, "ddim"},
    Pair{euler, "euler"},
    Pair{flow_euler, "euler"},
    Pair{edm_euler, "euler"},
    Pair{euler_ancestral, "euler_ancestral"},
    Pair{ltx_euler_ancestral, "euler_ancestral"},
    Pair{dpmpp_multistep, "dpm_solver_multistep"},
    Pair{edm_dpm, "dpm_solver_multistep"},
    Pair{dpm_singlestep, "dpm_solver_singlestep"},
    Pair{heun, "heun"},
    Pair{flow_heun, "heun"},
    Pair{lms, "lms"},
    Pair{kdpm2, "dpm_2"},
    Pair{kdpm2_ancestral, "dpm_2_ancestral"},
    Pair{dpm_sde, "dpmpp_sde"},
    Pair{unipc, "unipc_multistep"},
    Pair{deis, "deis_multistep"},
    Pair{sa_solver, "sa_solver_vp"},
    Pair{ipndm, "ipndm_vp"},
    Pair{ddpm, "ddpm"},
    Pair{wuerstchen, "ddpm"},
    Pair{lcm, "lcm"},
    Pair{flow_lcm, "lcm"},
    Pair{tcd, "tcd"},
    Pair{scm, "scm"},
    Pair{cogvideox_dpm, "cogvideox_dpm"},
};

}  // namespace

std::string_view sampler_name_of(const SchedulerConfig& c) {
  const auto is = [&](std::string_view option, double value) {
    return c.solver.contains(option) && c.solver.find(option)->second == value;
  };
  const bool second_order = is("solver_order", 2) && is("algorithm_type", 0) && is("solver_type", 0);
  if (c.scheduler == dpmpp_multistep && second_order && !c.thresholding && c.prediction != Prediction::flow) return "dpmpp_2m";
  if (is("stochastic_sampling", 1)) return "lcm";
  return std::ranges::find(pairs, c.scheduler, &Pair::scheduler)->sampler;
}

std::string_view sampler_name_of_class(std::string_view name) {
  const std::string wanted = folded(name);
  for (const Pair& pair : pairs) {
    const std::string full = folded(name_of(pair.scheduler));
    if (wanted == full || wanted + "scheduler" == full) return pair.scheduler == dpmpp_multistep ? "dpmpp_2m" : pair.sampler;
  }
  return {};
}

bool stands_for(const Sampler& sampler, SchedulerClass scheduler) {
  if (sampler.name == "dpmpp_2m") return scheduler == dpmpp_multistep;
  if (sampler.name == "lcm" && scheduler == flow_euler) return true;  // its stochastic form
  return std::ranges::any_of(pairs, [&](const Pair& p) { return p.scheduler == scheduler && p.sampler == sampler.name; });
}

SchedulerConfig config_for(const Sampler& sampler, const SchedulerConfig& own) {
  if (stands_for(sampler, own.scheduler)) return own;
  const auto pair = std::ranges::find(pairs, sampler.name, &Pair::sampler);
  return own.with_class(pair == pairs.end() ? sampler.scheduler : pair->scheduler);
}

}  // namespace hearth::sampling
