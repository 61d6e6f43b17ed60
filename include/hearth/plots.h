// Samplers compared in images. In a library of its own: link hearth::bench.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hearth/hearth.h"

namespace hearth {

// Samplers side by side, on one model and prompt.
struct SamplerPlotRequest {
  Request request;  // prompts, size, seed (0 unless given), guidance, schedule …; its sampler, steps and batch do not count
  std::vector<std::string> samplers;  // "" = a dozen that differ
  std::vector<int64_t> steps = {4, 8, 16, 32};
  int64_t reference_steps = 128;  // convergence: of the solution that errors are measured against, by seeds_3 (three calls a step)
  std::optional<int64_t> cell;    // contact sheet: images are shrunk to this width; default: as large as they are
};
struct SamplerPlot {
  Image image;
  std::string json;  // the numbers in it
};

// Images of samplers × steps, with names.
SamplerPlot plot_contact_sheet(Model& model, const SamplerPlotRequest& request);
// Error of the latents, relative L2, against a fine solution of the same ODE, over calls of the network. All samplers run without fresh
// noise from one noise along one schedule (default: karras) down to the model's least σ. UsageError for a sampler that does not
// solve this ODE: one that always draws, CFG++, plms, dpm_adaptive.
SamplerPlot plot_convergence(Model& model, const SamplerPlotRequest& request);

// The order of convergence of samplers on a problem with a known solution (data from a unit Gaussian): error against calls of the network.
// Without names, a dozen. UsageError for a sampler without a deterministic form.
SamplerPlot plot_orders(const std::vector<std::string>& samplers = {});

}  // namespace hearth
