// Plots that compare samplers. Requires linking hearth::bench.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hearth/hearth.h"

namespace hearth {

// Compares samplers on one model and prompt.
struct SamplerPlotRequest {
  Request request;                    // prompts, size, seed (default 0), guidance, schedule …; its sampler, steps and batch are ignored
  std::vector<std::string> samplers;  // empty: a representative dozen
  std::vector<int64_t> steps = {4, 8, 16, 32};
  int64_t reference_steps = 128;  // convergence: steps of the reference solution, by seeds_3 (three denoiser calls per step)
  std::optional<int64_t> cell;    // contact sheet: shrink images to this width in pixels; default: full size
};
struct SamplerPlot {
  Image image;
  std::string json;  // the plotted values
};

// A labeled grid of images: samplers × steps.
SamplerPlot plot_contact_sheet(Model& model, const SamplerPlotRequest& request);
// Relative L2 error of the latents against a fine solution of the same ODE, over denoiser calls. All samplers run without step noise, from
// the same initial noise, on one schedule (default: karras) down to the model's smallest sigma. UsageError for a sampler that does not
// solve this ODE: one that always adds noise, CFG++, plms, dpm_adaptive.
SamplerPlot plot_convergence(Model& model, const SamplerPlotRequest& request);

// Order of convergence on a problem with a known solution (data from a unit Gaussian): error over denoiser calls. `samplers` empty: a
// dozen. UsageError for a sampler without a deterministic form.
SamplerPlot plot_orders(const std::vector<std::string>& samplers = {});

}  // namespace hearth
