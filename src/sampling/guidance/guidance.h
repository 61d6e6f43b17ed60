// Guidance: which prompts the network is asked under at each step, and what is made of its answers. A table of methods, each a row.
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

// The versions of a batch that the network is asked for at once, in this order: under the negative prompt, under the prompt, under
// the prompt with a part of the network disturbed, and under the negative prompt without the image that it knows beside x.
struct Branches {
  bool negative = false, disturbed = false, imageless = false;
  int64_t count() const { return 1 + int64_t(negative) + int64_t(disturbed) + int64_t(imageless); }
};

// Whether a sampler asks for the estimate under the negative prompt alone.
enum class Unconditional { unused, needed };

// What the network answered to them, f32 [B, H, W, C]; undefined where it was not asked.
struct Answers {
  Tensor negative, prompt, disturbed, imageless;
};

// How a network is disturbed. Which of them it can do is the model's business.
enum class Disturbance {
  none,
  identity_attention,  // self-attention of some layers looks at nothing but the token itself
  skipped_layers,      // some layers do nothing
};

// What guidance remembers of a run.
struct GuidanceMemory {
  int64_t step = 0, steps = 1;  // the sampler's
  Tensor running;               // APG's average of differences
};

// What a method knows at a call.
struct GuidanceCall {
  double scale;            // 1: no guidance by the negative prompt, whose answer may be undefined
  const Options& options;  // of the method, all that it knows
  const Level& level;
  GuidanceMemory& memory;
  double option(std::string_view name) const { return options.find(name)->second; }
};

struct GuidanceMethod {
  std::string_view name;  // as metadata records it
  std::vector<std::string_view> aliases = {};
  std::string_view summary;
  std::vector<Option> options = {};
  Disturbance disturbance = Disturbance::none;
  Tensor (*combine)(const Answers&, const GuidanceCall&);

  std::span<const Option> own_options() const;  // without those that all methods have
};

// All of them, and one by name or alias as names.h compares them. UsageError for an unknown name, UnsupportedError for one that is known
// but not built; both list those that are.
std::span<const GuidanceMethod> guidance_methods();
const GuidanceMethod& find_guidance(std::string_view name);

// What a run asks for.
struct Guidance {
  double scale = 7.5;                      // ≤ 1: the negative prompt is not asked, as in diffusers (0.5 equals 1)
  bool any_scale = false;                  // 1 alone means no guidance: 0.5 is half way to the negative prompt, as in ComfyUI and A1111
  const GuidanceMethod* method = nullptr;  // nullptr: classifier-free
  Options options = {};                    // as resolve() gives them
  double rescale = 0;                      // φ of rescaled(), 0 … 1
  // Guided only where σ/α is in this interval. (Kynkäänniemi et al. 2024, arXiv 2404.07724)
  double lowest = 0, highest = std::numeric_limits<double>::infinity();
  // Of a network that knows an image beside x (InstructPix2Pix): how far from its answer without; below 1 there is no guidance at all, as
  // in diffusers. Classifier-free guidance only.
  std::optional<double> image_scale = {};
};

// Options that all methods have, besides their own:
//   start, stop       guided from step ⌊start·n⌋ on and before step ⌊stop·n⌋ (0 and 1)
//   space             where answers are put together: as the network gives them, as x̂₀, or as v (answer)
//   threshold         dynamic thresholding of x̂₀ at this quantile; 0: none (0)
//   threshold_most    the largest divisor of that (1)
// A Guidance with all options filled in. UsageError for an option that the method lacks or out of range; scale that is not finite, φ
// outside 0 … 1, or an interval upside down; an image scale that is no number. UnsupportedError for one with another method.
Guidance resolve(Guidance guidance);

// Whether any step may be guided by the negative prompt.
inline bool uses_guidance(const Guidance& g) { return g.any_scale ? g.scale != 1 : g.scale > 1; }

// What the network is asked for at a level, and what its answers say of x₀. `guidance` as resolve() gives it.
Branches branches(const Guidance& guidance, const Level& level, const GuidanceMemory& memory, Unconditional unconditional);
Tensor guided_x0(const Guidance& guidance, const Tensor& x, const Answers& answers, const Level& level, Parameterization prediction,
                 GuidanceMemory& memory);

}  // namespace hearth::sampling
