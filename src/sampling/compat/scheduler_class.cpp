// The names of diffusers' scheduler classes.
#include <array>

#include "sampling/compat/scheduler_config.h"

namespace hearth::sampling {
namespace {

using enum SchedulerClass;

struct ClassName {
  SchedulerClass scheduler;
  std::string_view name;
};
constexpr std::array classes{
    ClassName{pndm, "PNDMScheduler"},
    ClassName{ddim, "DDIMScheduler"},
    ClassName{euler, "EulerDiscreteScheduler"},
    ClassName{euler_ancestral, "EulerAncestralDiscreteScheduler"},
    ClassName{dpmpp_multistep, "DPMSolverMultistepScheduler"},
    ClassName{heun, "HeunDiscreteScheduler"},
    ClassName{lms, "LMSDiscreteScheduler"},
    ClassName{kdpm2, "KDPM2DiscreteScheduler"},
    ClassName{kdpm2_ancestral, "KDPM2AncestralDiscreteScheduler"},
    ClassName{dpm_sde, "DPMSolverSDEScheduler"},
    ClassName{dpm_singlestep, "DPMSolverSinglestepScheduler"},
    ClassName{unipc, "UniPCMultistepScheduler"},
    ClassName{deis, "DEISMultistepScheduler"},
    ClassName{sa_solver, "SASolverScheduler"},
    ClassName{ipndm, "IPNDMScheduler"},
    ClassName{ddpm, "DDPMScheduler"},
    ClassName{lcm, "LCMScheduler"},
    ClassName{tcd, "TCDScheduler"},
    ClassName{scm, "SCMScheduler"},
    ClassName{flow_euler, "FlowMatchEulerDiscreteScheduler"},
    ClassName{flow_heun, "FlowMatchHeunDiscreteScheduler"},
    ClassName{flow_lcm, "FlowMatchLCMScheduler"},
    ClassName{ltx_euler_ancestral, "LTXEulerAncestralRFScheduler"},
    ClassName{edm_euler, "EDMEulerScheduler"},
    ClassName{edm_dpm, "EDMDPMSolverMultistepScheduler"},
    ClassName{cogvideox_ddim, "CogVideoXDDIMScheduler"},
    ClassName{cogvideox_dpm, "CogVideoXDPMScheduler"},
    ClassName{wuerstchen, "DDPMWuerstchenScheduler"},
};

}  // namespace

std::string_view name_of(SchedulerClass c) {
  for (const auto& entry : classes)
    if (entry.scheduler == c) return entry.name;
  return "";
}

std::optional<SchedulerClass> scheduler_class(std::string_view name) {
  for (const auto& entry : classes)
    if (entry.name == name) return entry.scheduler;
  return std::nullopt;
}

std::span<const SchedulerClass> scheduler_classes() {
  static constexpr auto all = [] {
    std::array<SchedulerClass, classes.size()> out{};
    for (size_t i = 0; i < classes.size(); ++i) out[i] = classes[i].scheduler;
    return out;
  }();
  return all;
}

}  // namespace hearth::sampling
