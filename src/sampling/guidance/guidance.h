// Guidance: under which conditionings the network is called at each step, and how its predictions are combined. One table row per method.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/tensor.h"
#include "sampling/compat/scheduler_config.h"
#include "sampling/options.h"
#include "sampling/schedules/path.h"
#include "sampling/schedules/prediction.h"

namespace hearth::sampling {

// The conditionings that a batch is evaluated under in one call, in this order: the negative prompt, the prompt, the prompt with a part of
// the network perturbed, and the negative prompt without the input image.
struct Branches {
  bool negative = false, perturbed = false, imageless = false;
  int64_t count() const { return 1 + int64_t(negative) + int64_t(perturbed) + int64_t(imageless); }
};

// Whether a sampler needs the estimate under the negative prompt alone.
enum class Unconditional { unused, needed };

// The network's predictions under them, f32 [B, H, W, C]; undefined if not evaluated.
struct Predictions {
  Tensor negative, prompt, perturbed, imageless;
};

// How a network is perturbed. The model decides which of these it supports.
enum class Perturbation {
  none,
  identity_attention,  // in some layers each token attends to itself alone
  skipped_layers,      // some layers are skipped
};

// State that guidance keeps during a run.
struct GuidanceMemory {
  int64_t step = 0, steps = 1;  // the sampler's
  Tensor running;               // APG's average of differences
};

// Inputs of a method at a call.
struct GuidanceCall {
  double scale;            // 1: no guidance; the unconditional prediction may be undefined
  const Options& options;  // of the method, complete
  const Level& level;
  GuidanceMemory& memory;
  double option(std::string_view name) const { return options.find(name)->second; }
};

struct GuidanceMethod {
  std::string_view name;  // as metadata records it
  std::vector<std::string_view> aliases = {};
  std::string_view summary;
  std::vector<Option> options = {};
  Perturbation perturbation = Perturbation::none;
  bool window_of_perturbation = false;  // `start` and `stop` limit the perturbed prediction, not the negative one
  Tensor (*combine)(const Predictions&, const GuidanceCall&);

  std::span<const Option> own_options() const;  // without those that all methods share
};

// All methods; and one by name or alias, compared as in names.h. UsageError for an unknown name, UnsupportedError for a known name that is
// not implemented; both errors list the implemented ones.
std::span<const GuidanceMethod> guidance_methods();
const GuidanceMethod& find_guidance(std::string_view name);

// What a run requests.
struct Guidance {
  double scale = 7.5;                      // ≤ 1: the negative prompt is not evaluated, as in diffusers (0.5 equals 1)
  bool any_scale = false;                  // only 1 turns guidance off: 0.5 is halfway to the negative prompt, as in ComfyUI, A1111
  const GuidanceMethod* method = nullptr;  // nullptr: classifier-free
  Options options = {};                    // as resolve() returns them
  double rescale = 0;                      // φ of rescaled(), 0 … 1
  // Guidance is applied only if σ/α is in this interval. (Kynkäänniemi et al. 2024, arXiv 2404.07724)
  double lowest = 0, highest = std::numeric_limits<double>::infinity();
  // For a network that takes an image as input (InstructPix2Pix): scale of the difference to its prediction without the image; below 1
  // there is no guidance at all, as in diffusers. Classifier-free guidance only.
  std::optional<double> image_scale = {};
};

// Options that all methods have, besides their own:
//   start, stop       guidance is applied from step ⌊start·n⌋ on and before step ⌊stop·n⌋ (0 and 1). slg: the prediction without layers is
//                     evaluated at steps i with start·n < i < stop·n, as in the reference's pipeline (0.01 and 0.2), and classifier-free
//                     guidance at all steps
//   space             how predictions are combined: as the network outputs them, as x̂₀, or as v (prediction)
//   threshold         dynamic thresholding of x̂₀ at this quantile; 0: none (0)
//   threshold_most    its largest divisor (1)
// Returns a Guidance with all options filled in. UsageError for an option that the method lacks or that is out of range, a scale that is
// not finite, φ outside 0 … 1, an interval whose ends are swapped, or a NaN image scale. UnsupportedError for an image scale with another
// method.
Guidance resolve(Guidance guidance);

// Whether the negative prompt may be used at any step.
inline bool uses_guidance(const Guidance& g) { return g.any_scale ? g.scale != 1 : g.scale > 1; }

// The branches to evaluate at a level, and the x̂₀ that their predictions give. `guidance` as resolve() returns it.
Branches branches(const Guidance& guidance, const Level& level, const GuidanceMemory& memory, Unconditional unconditional);
Tensor guided_x0(const Guidance& guidance, const Tensor& x, const Predictions& predictions, const Level& level, Parameterization prediction,
                 GuidanceMemory& memory);

}  // namespace hearth::sampling
