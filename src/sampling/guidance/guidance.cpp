#include "sampling/guidance/guidance.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "sampling/guidance/guidance_methods.h"
#include "sampling/names.h"
#include "sampling/schedules/prediction.h"
#include "sampling/steps/vectors.h"

namespace hearth::sampling {
namespace {

enum Space { predicted, x0, v };
const Option spaces{.name = "space",
                    .summary = "space in which predictions are combined",
                    .most = 2,
                    .whole = true,
                    .choices = {"prediction", "x0", "v"},
                    .earlier = {"answer"}};

// The options that every method has.
const std::vector<Option>& common() {
  static const std::vector<Option> options{
      {.name = "start", .summary = "guidance starts at this fraction of the steps", .most = 1},
      {.name = "stop", .summary = "guidance stops at this fraction of the steps", .standard = 1, .most = 1},
      spaces,
      {.name = "threshold", .summary = "dynamic thresholding at this quantile; 0: none", .most = 1},
      {.name = "threshold_most", .summary = "its largest divisor", .standard = 1, .least = 1}};
  return options;
}

Tensor cfg(const Predictions& a, const GuidanceCall& call) { return classifier_free(a.negative, a.prompt, call.scale); }

Tensor growing(const Predictions& a, const GuidanceCall& call) {
  return classifier_free(a.negative, a.prompt, growing_scale(call.scale, double(call.memory.step) / double(call.memory.steps)));
}

Tensor zero_star(const Predictions& a, const GuidanceCall& call) {
  if (double(call.memory.step) < call.option("zero_steps")) return combine({a.prompt}, {0});
  return classifier_free(scaled_towards(a.negative, a.prompt), a.prompt, call.scale);
}

Tensor apg(const Predictions& a, const GuidanceCall& call) {
  const Tensor difference = projected_difference(a.negative, a.prompt, call.memory.running, call.option("momentum"),
                                                 call.option("norm_threshold"), call.option("eta"));
  if (call.option("from") == 0) return combine({a.negative, difference}, {1, call.scale});
  return combine({a.prompt, difference}, {1, call.scale - 1});
}

Tensor norm_preserving(const Predictions& a, const GuidanceCall& call) {
  return with_norms_of(cfg(a, call), a.prompt, int64_t(call.option("patch")));
}
Tensor norm_cap(const Predictions& a, const GuidanceCall& call) { return with_norm_at_most(cfg(a, call), a.prompt, call.option("most")); }
Tensor tcfg(const Predictions& a, const GuidanceCall& call) {
  return classifier_free(tangential(a.negative, a.prompt), a.prompt, call.scale);
}
Tensor mag(const Predictions& a, const GuidanceCall& call) {
  return magnitude_aware(a.negative, a.prompt, call.scale, call.option("alpha"));
}

Tensor with_third(const Predictions& a, const GuidanceCall& call, double scale) {
  const Tensor base = a.negative ? cfg(a, call) : a.prompt;
  return a.perturbed ? away_from(base, a.prompt, a.perturbed, scale) : base;
}
Tensor pag(const Predictions& a, const GuidanceCall& call) {
  const double less = call.option("adaptive") * (1000 - double(call.level.timestep));
  return with_third(a, call, std::max(0.0, call.option("pag_scale") - less));
}
Tensor slg(const Predictions& a, const GuidanceCall& call) { return with_third(a, call, call.option("slg_scale")); }

std::vector<GuidanceMethod> rows() {
  std::vector<GuidanceMethod> methods{
      {.name = "cfg", .aliases = {"ClassifierFreeGuidance", "default"}, .summary = "negative + scale·(prompt − negative)", .combine = cfg},
      {.name = "cfg_zero_star",
       .aliases = {"CFGZeroStar", "cfg-zero*", "ClassifierFreeZeroStarGuidance"},
       .summary = "scales the unconditional prediction towards the conditional one; outputs 0 in the first steps",
       .options = {{.name = "zero_steps", .summary = "number of first steps that output 0", .standard = 1, .whole = true}},
       .combine = zero_star},
      {.name = "apg",
       .aliases = {"AdaptiveProjectedGuidance"},
       .summary = "difference with momentum, norm limit, and projection orthogonal to the conditional prediction",
       .options =
           {{.name = "momentum", .summary = "of the difference", .least = -1, .most = 1},
            {.name = "norm_threshold", .summary = "limit of its norm; 0: no limit", .standard = 15},
            {.name = "eta", .summary = "factor of its component along the conditional prediction", .standard = 1, .least = -HUGE_VAL},
            {.name = "from",
             .summary = "base: negative + scale·difference, or prompt + (scale − 1)·difference",
             .most = 1,
             .whole = true,
             .choices = {"negative", "prompt"}}},
       .combine = apg},
      {.name = "norm_preserving",
       .aliases = {"cfg_norm"},
       .summary = "guided, rescaled to the norm of the conditional prediction at each pixel (Qwen-Image)",
       .options = {{.name = "patch",
                    .summary = "side of the squares of latent pixels that have one norm; of Qwen-Image 2, its tokens",
                    .standard = 1,
                    .least = 1,
                    .most = 64,
                    .whole = true}},
       .combine = norm_preserving},
      {.name = "norm_cap",
       .aliases = {"cfg_normalization"},
       .summary = "guided, with its norm limited to a multiple of the conditional prediction's (Z-Image)",
       .options = {{.name = "most", .summary = "largest multiple of the conditional prediction's norm", .standard = 1}},
       .combine = norm_cap},
      {.name = "tcfg",
       .aliases = {"TangentialClassifierFreeGuidance"},
       .summary = "keeps only the component of the unconditional prediction along the common direction",
       .combine = tcfg},
      {.name = "mag",
       .aliases = {"MagnitudeAwareGuidance", "mambo_g"},
       .summary = "less guidance if the predictions differ much",
       .options = {{.name = "alpha", .summary = "rate of the decrease", .standard = 8}},
       .combine = mag},
      {.name = "dynamic", .aliases = {"cogvideox"}, .summary = "scale that increases from 1 to 1 + scale", .combine = growing},
      {.name = "pag",
       .aliases = {"PerturbedAttentionGuidance", "PerturbedAttention"},
       .summary = "also away from the prediction with identity attention in some layers",
       .options = {{.name = "pag_scale", .summary = "strength", .standard = 3},
                   {.name = "adaptive", .summary = "decreases pag_scale by this times (1000 − timestep)"},
                   {.name = "layers",
                    .summary = "blocks whose self-attention is perturbed",
                    .most = 2,
                    .whole = true,
                    .choices = {"mid", "down", "up"}}},
       .perturbation = Perturbation::identity_attention,
       .combine = pag},
      {.name = "slg",
       .aliases = {"SkipLayerGuidance"},
       .summary = "also away from the prediction without some layers",
       .options = {{.name = "slg_scale", .summary = "strength", .standard = 2.8},
                   {.name = "layers", .summary = "blocks that are skipped", .standard = set_of({7, 8, 9}), .indices = true}},
       .perturbation = Perturbation::skipped_layers,
       .window_of_perturbation = true,
       .combine = slg}};
  for (GuidanceMethod& m : methods) {
    m.options.insert(m.options.end(), common().begin(), common().end());
    if (!m.window_of_perturbation) continue;
    const auto own = m.options.end() - std::ptrdiff_t(common().size());
    own[0] = {.name = "start", .summary = "layers are skipped after this fraction of the steps", .standard = 0.01, .most = 1};
    own[1] = {.name = "stop", .summary = "layers are skipped before this fraction of the steps", .standard = 0.2, .most = 1};
  }
  return methods;
}

constexpr std::array<std::string_view, 9> known{
    "sag", "seg", "frequency_decoupled", "perp_neg", "mahiro", "fresca", "epsilon_scaling", "auto_guidance", "dynamic_thresholding"};

bool in_interval(const Guidance& g, const Level& level) {
  const double sigma = level.sigma / level.alpha;
  return sigma >= g.lowest && sigma <= g.highest;
}

// Whether the negative prompt and the perturbation take part at this step.
bool guides(const Guidance& g, const Level& level, const GuidanceMemory& memory) {
  const double n = double(memory.steps), step = double(memory.step);
  const bool in_window = step >= std::floor(g.options.at("start") * n) && step < std::floor(g.options.at("stop") * n);
  return (in_window || g.method->window_of_perturbation) && in_interval(g, level);
}
bool perturbs(const Guidance& g, const Level& level, const GuidanceMemory& memory) {
  if (g.method->perturbation == Perturbation::none) return false;
  if (!g.method->window_of_perturbation) return guides(g, level, memory);
  const double n = double(memory.steps), step = double(memory.step);
  return step > n * g.options.at("start") && step < n * g.options.at("stop") && in_interval(g, level);
}

// Converts a prediction to the space in which it is combined with others, and back.
Tensor into(Space space, const Tensor& x, const Tensor& given, const Level& level, Parameterization prediction) {
  if (!given || space == predicted) return given;
  const Tensor estimate = x0_of(x, given, level, prediction);
  return space == x0 ? estimate : network_output(x, estimate, level, Prediction::v);
}

}  // namespace

std::span<const Option> GuidanceMethod::own_options() const { return std::span(options).first(options.size() - common().size()); }

std::span<const GuidanceMethod> guidance_methods() {
  static const std::vector<GuidanceMethod> methods = rows();
  return methods;
}

const GuidanceMethod& find_guidance(std::string_view name) {
  const std::string wanted = folded(name);
  std::string names;
  for (const GuidanceMethod& m : guidance_methods()) {
    if (folded(m.name) == wanted || std::ranges::any_of(m.aliases, [&](auto a) { return folded(a) == wanted; })) return m;
    names += (names.empty() ? "" : ", ") + std::string(m.name);
  }
  for (const std::string_view k : known)
    if (folded(k) == wanted) fail<UnsupportedError>("guidance '{}' is not implemented, expected one of {}", k, names);
  fail<UsageError>("guidance '{}' is unknown, expected one of {}", name, names);
}

Guidance resolve(Guidance g) {
  if (!std::isfinite(g.scale)) fail<UsageError>("guidance: scale is {}, expected a finite number", g.scale);
  if (!(g.rescale >= 0 && g.rescale <= 1)) fail<UsageError>("guidance: rescale is {}, expected a number from 0 to 1", g.rescale);
  if (!(g.lowest >= 0 && g.lowest <= g.highest))
    fail<UsageError>("guidance: interval is {} to {}, expected two sigmas of 0 or more, the lower first", g.lowest, g.highest);
  if (!g.method) g.method = &find_guidance("cfg");
  if (g.image_scale && !std::isfinite(*g.image_scale))
    fail<UsageError>("guidance: image scale is {}, expected a finite number", *g.image_scale);
  if (g.image_scale && g.method->name != "cfg")
    fail<UnsupportedError>("guidance '{}' cannot be combined with an image-editing model, which has guidance of its own, expected cfg",
                           g.method->name);
  g.options = resolve_options(fmt::format("guidance '{}'", g.method->name), g.method->options, g.options);
  if (g.options.at("start") > g.options.at("stop"))
    fail<UsageError>("guidance '{}': start {} is after stop {}, expected start at most stop", g.method->name, g.options.at("start"),
                     g.options.at("stop"));
  return g;
}

Branches branches(const Guidance& g, const Level& level, const GuidanceMemory& memory, Unconditional unconditional) {
  const bool by_prompt = guides(g, level, memory) && uses_guidance(g) && g.image_scale.value_or(1) >= 1;
  return {.negative = unconditional == Unconditional::needed || by_prompt,
          .perturbed = perturbs(g, level, memory),
          .imageless = g.image_scale && by_prompt};
}

Tensor guided_x0(const Guidance& g, const Tensor& x, const Predictions& predictions, const Level& level, Parameterization prediction,
                 GuidanceMemory& memory) {
  Tensor estimate;
  if (!guides(g, level, memory) || (!predictions.negative && !predictions.perturbed) || (g.image_scale && !predictions.imageless)) {
    estimate = x0_of(x, predictions.prompt, level, prediction);
  } else {
    const auto space = Space(int(g.options.at("space")));
    const Predictions a{into(space, x, predictions.negative, level, prediction), into(space, x, predictions.prompt, level, prediction),
                        into(space, x, predictions.perturbed, level, prediction), into(space, x, predictions.imageless, level, prediction)};
    Tensor y = a.imageless ? dual(a.imageless, a.negative, a.prompt, *g.image_scale, g.scale)
                           : g.method->combine(a, {g.scale, g.options, level, memory});
    if (g.rescale > 0) y = rescaled(y, a.prompt, g.rescale);
    estimate = space == x0 ? y : x0_of(x, y, level, space == v ? Prediction::v : prediction);
  }
  const double ratio = g.options.at("threshold");
  return ratio > 0 ? dynamically_thresholded(estimate, ratio, g.options.at("threshold_most")) : estimate;
}

}  // namespace hearth::sampling
