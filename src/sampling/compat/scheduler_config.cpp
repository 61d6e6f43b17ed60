#include "sampling/compat/scheduler_config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/error.h"

namespace hearth::sampling {
namespace {

using enum SchedulerClass;
using Set = std::initializer_list<SchedulerClass>;

bool one_of(SchedulerClass c, Set set) { return std::ranges::find(set, c) != set.end(); }

// Shared by the classes of one family.
bool in_sigma(SchedulerClass c) { return one_of(c, {euler, euler_ancestral, heun, lms, kdpm2, kdpm2_ancestral, dpm_sde}); }
bool in_lambda(SchedulerClass c) { return one_of(c, {dpmpp_multistep, dpm_singlestep, unipc, deis, sa_solver}); }
bool in_alpha(SchedulerClass c) { return one_of(c, {pndm, ddim, ddpm, lcm, tcd, cogvideox_ddim, cogvideox_dpm}); }
bool in_flow(SchedulerClass c) { return one_of(c, {flow_euler, flow_heun, flow_lcm, ltx_euler_ancestral}); }
bool in_edm(SchedulerClass c) { return one_of(c, {edm_euler, edm_dpm}); }

template <class E> struct Choice {
  std::string_view text;
  E value;
};
template <class E> using Choices = std::vector<Choice<E>>;

// The value of a key that selects one of several methods.
template <class E> E choice(const Config& c, std::string_view key, std::string_view otherwise, const Choices<E>& choices) {
  const std::string text = c.text(key, std::string(otherwise));
  std::vector<std::string_view> known;
  for (const auto& choice : choices) {
    if (choice.text == text) return choice.value;
    known.push_back(choice.text);
  }
  fail<UnsupportedError>("{}: '{}' is \"{}\", which is not supported, expected one of {}", c.where(), key, text, fmt::join(known, ", "));
}

// Texts that are mapped to their indices; `others` are read as the first, as diffusers does with the values of other classes.
double numbered(const Config& c, std::string_view key, std::span<const std::string_view> texts, Choices<double> others = {}) {
  Choices<double> choices;
  for (size_t i = 0; i < texts.size(); ++i) choices.push_back({texts[i], double(i)});
  choices.insert(choices.end(), others.begin(), others.end());
  return choice(c, key, texts[0], choices);
}

std::optional<double> optional_number(const Config& c, std::string_view key) {
  if (!c.has(key)) return std::nullopt;
  return c.number(key);
}

double positive(const Config& c, std::string_view key, double otherwise) {
  const double value = c.number(key, otherwise);
  if (!(value > 0)) fail<WeightError>("{}: '{}' is {}, expected above 0", c.where(), key, value);
  return value;
}

int64_t whole(const Config& c, std::string_view key, int64_t otherwise, int64_t least, int64_t most) {
  const int64_t value = c.integer(key, otherwise);
  if (value < least) fail<WeightError>("{}: '{}' is {}, expected at least {}", c.where(), key, value, least);
  if (value > most) fail<UnsupportedError>("{}: '{}' is {}, which is not supported, expected at most {}", c.where(), key, value, most);
  return value;
}

void read_table(const Config& c, SchedulerConfig& s) {
  const bool stable_diffusion = one_of(s.scheduler, {heun, kdpm2, kdpm2_ancestral, dpm_sde, lcm, tcd, cogvideox_ddim, cogvideox_dpm});
  const bool scaled = one_of(s.scheduler, {lcm, tcd, cogvideox_ddim, cogvideox_dpm});
  s.beta_start = c.number("beta_start", stable_diffusion ? 0.00085 : 0.0001);
  s.beta_end = c.number("beta_end", stable_diffusion ? 0.012 : 0.02);
  Choices<BetaSchedule> schedules{{"linear", BetaSchedule::linear},
                                  {"scaled_linear", BetaSchedule::scaled_linear},
                                  {"squaredcos_cap_v2", BetaSchedule::squaredcos_cap_v2}};
  if (s.scheduler == heun) schedules.push_back({"exp", BetaSchedule::exp});
  if (s.scheduler == ddpm) schedules.push_back({"sigmoid", BetaSchedule::sigmoid}), schedules.push_back({"laplace", BetaSchedule::laplace});
  s.beta_schedule = choice(c, "beta_schedule", scaled ? "scaled_linear" : "linear", schedules);
  s.trained_betas = c.numbers("trained_betas", std::vector<double>{});
  if (!s.trained_betas.empty() && int64_t(s.trained_betas.size()) != s.num_train_timesteps)
    fail<WeightError>("{}: 'trained_betas' has {} values, expected num_train_timesteps = {}", c.where(), s.trained_betas.size(),
                      s.num_train_timesteps);
  const bool never_zero_snr = one_of(s.scheduler, {pndm, heun, lms, kdpm2, kdpm2_ancestral, dpm_sde, dpm_singlestep, deis, sa_solver});
  if (!never_zero_snr) s.rescale_betas_zero_snr = c.boolean("rescale_betas_zero_snr", false);
  if (one_of(s.scheduler, {cogvideox_ddim, cogvideox_dpm})) s.snr_shift = positive(c, "snr_shift_scale", 3);
}

void read_prediction(const Config& c, SchedulerConfig& s) {
  Choices<Prediction> known{{"epsilon", Prediction::epsilon}, {"v_prediction", Prediction::v}};
  if (in_edm(s.scheduler)) known[0].value = Prediction::edm;
  else if (!one_of(s.scheduler, {pndm, euler_ancestral, kdpm2, kdpm2_ancestral, dpm_sde})) known.push_back({"sample", Prediction::sample});
  if (in_lambda(s.scheduler)) known.push_back({"flow_prediction", Prediction::flow});
  s.prediction = choice(c, "prediction_type", "epsilon", known);
}

void read_spacing(const Config& c, SchedulerConfig& s) {
  s.spacing = choice<Spacing>(c, "timestep_spacing", in_alpha(s.scheduler) ? "leading" : "linspace",
                              {{"leading", Spacing::leading}, {"trailing", Spacing::trailing}, {"linspace", Spacing::linspace}});
  s.steps_offset = c.integer("steps_offset", 0);
  if (s.steps_offset < 0) fail<WeightError>("{}: 'steps_offset' is {}, expected at least 0", c.where(), s.steps_offset);
}

void read_curve(const Config& c, SchedulerConfig& s) {
  struct Key {
    std::string_view name;
    Curve curve;
  };
  std::string_view chosen;
  const auto look = [&](std::string_view name, Curve curve) {
    if (!c.boolean(name, false)) return;
    if (!chosen.empty()) fail<UnsupportedError>("{}: '{}' and '{}' are both true, expected at most one", c.where(), chosen, name);
    chosen = name;
    s.curve = curve;
  };
  look("use_karras_sigmas", Curve::karras);
  look("use_exponential_sigmas", Curve::exponential);
  look("use_beta_sigmas", Curve::beta);
  if (s.scheduler == dpmpp_multistep) look("use_lu_lambdas", Curve::lu);
  s.sigma_min = optional_number(c, "sigma_min");
  s.sigma_max = optional_number(c, "sigma_max");
}

void read_dynamic_shift(const Config& c, SchedulerConfig& s) {
  s.dynamic_shift = c.boolean("use_dynamic_shifting", false);
  s.time_shift =
      choice<TimeShift>(c, "time_shift_type", "exponential", {{"exponential", TimeShift::exponential}, {"linear", TimeShift::linear}});
  s.mu_line = {c.number("base_image_seq_len", 256), c.number("base_shift", 0.5), c.number("max_image_seq_len", 4096),
               c.number("max_shift", 1.15)};
  s.shift_terminal = optional_number(c, "shift_terminal");
  if (s.shift_terminal == 0.0) s.shift_terminal.reset();  // Python treats 0 as no value
}

void read_flow_sigmas(const Config& c, SchedulerConfig& s) {
  const bool flow = c.boolean("use_flow_sigmas", false);
  if (flow != (s.prediction == Prediction::flow))
    fail<UnsupportedError>("{}: 'use_flow_sigmas' is {} and 'prediction_type' is {}, expected both for flow or neither", c.where(), flow,
                           c.dump("prediction_type"));
  if (!flow) return;
  if (s.curve == Curve::spacing) s.curve = Curve::flow;
  else if (s.scheduler != unipc || s.curve != Curve::karras)
    fail<UnsupportedError>("{}: 'use_flow_sigmas' and another curve of sigmas are both set, expected one of them", c.where());
  s.shift = positive(c, "flow_shift", 1);
  read_dynamic_shift(c, s);
  if (s.shift_terminal && s.scheduler != unipc) s.shift_terminal.reset();  // the other classes do not have it
}

void read_thresholding(const Config& c, SchedulerConfig& s) {
  if (!c.boolean("thresholding", false)) return;
  s.thresholding = Thresholding{positive(c, "dynamic_thresholding_ratio", 0.995), positive(c, "sample_max_value", 1)};
  s.clip.reset();
}

// A network that predicts its variance, too. The other values are those of DDPM, which these classes ignore.
void refuse_learned_variance(const Config& c) {
  c.only("variance_type", {"fixed_small", "fixed_small_log", "fixed_large", "fixed_large_log"});
}

void read_clip(const Config& c, SchedulerConfig& s, bool otherwise) {
  if (c.boolean("clip_sample", otherwise)) s.clip = c.number("clip_sample_range", 1.0);
}

void read_final_sigmas(const Config& c, SchedulerConfig& s) {
  s.ends_at_sigma_min = choice<bool>(c, "final_sigmas_type", "zero", {{"zero", false}, {"sigma_min", true}});
}

void read_dpm(const Config& c, SchedulerConfig& s) {
  const bool single = s.scheduler == dpm_singlestep;
  s.solver["solver_order"] = double(whole(c, "solver_order", 2, 1, 3));
  s.solver["algorithm_type"] = numbered(c, "algorithm_type", dpm_algorithms, {{"deis", 0}});
  s.solver["solver_type"] = numbered(c, "solver_type", dpm_solver_types, {{"logrho", 0}, {"bh1", 0}, {"bh2", 0}});
  const auto algorithm = size_t(s.solver["algorithm_type"]);
  if (single && algorithm == 3) fail<UnsupportedError>("{}: 'algorithm_type' \"sde-dpmsolver\" is not supported by this class", c.where());
  if (in_edm(s.scheduler) && algorithm > 1)
    fail<UnsupportedError>("{}: 'algorithm_type' \"{}\" is not supported by this class", c.where(), dpm_algorithms[algorithm]);
  if (s.solver["solver_order"] == 3 && (algorithm == 3 || (algorithm == 1 && in_edm(s.scheduler))))
    fail<UnsupportedError>("{}: 'solver_order' 3 cannot be combined with 'algorithm_type' \"{}\", expected 1 or 2", c.where(),
                           dpm_algorithms[algorithm]);
  read_final_sigmas(c, s);
  if (!s.ends_at_sigma_min && (algorithm > 1 || c.text("algorithm_type", "dpmsolver++") == "deis"))
    fail<UnsupportedError>("{}: 'algorithm_type' is {}, which requires 'final_sigmas_type' \"sigma_min\"", c.where(),
                           c.dump("algorithm_type"));
  s.solver["lower_order_final"] = s.lower_order_final = c.boolean("lower_order_final", !single);
  if (!single) s.solver["euler_at_final"] = s.euler_at_final = c.boolean("euler_at_final", false);
  read_thresholding(c, s);
  if (single && s.thresholding && algorithm > 1)
    fail<UnsupportedError>("{}: 'thresholding' cannot be combined with 'algorithm_type' \"dpmsolver\" under this class", c.where());
  if (in_edm(s.scheduler)) return;
  if (single && s.thresholding && s.prediction == Prediction::flow)
    fail<UnsupportedError>("{}: 'thresholding' is not supported for flow prediction", c.where());
  refuse_learned_variance(c);
  s.lambda_min_clipped = c.number("lambda_min_clipped", s.lambda_min_clipped);
}

void read_unipc(const Config& c, SchedulerConfig& s) {
  s.solver["solver_order"] = double(whole(c, "solver_order", 2, 1, 6));
  s.solver["solver_type"] = numbered(c, "solver_type", unipc_solver_types, {{"midpoint", 0}, {"heun", 0}, {"logrho", 0}});
  s.solver["predict_x0"] = c.boolean("predict_x0", true);
  read_final_sigmas(c, s);
  s.solver["lower_order_final"] = s.lower_order_final = c.boolean("lower_order_final", true);
  s.disabled_correctors = c.integers("disable_corrector", std::vector<int64_t>{});
  if (s.solver["predict_x0"] != 0) read_thresholding(c, s);
  c.only_null("solver_p");
  if (s.prediction == Prediction::flow && s.solver["predict_x0"] == 0)
    fail<UnsupportedError>("{}: 'predict_x0' false is not supported for flow prediction", c.where());
}

void read_sa_solver(const Config& c, SchedulerConfig& s) {
  s.solver["predictor_order"] = double(whole(c, "predictor_order", 2, 1, 4));
  s.solver["corrector_order"] = double(whole(c, "corrector_order", 2, 1, 4));
  s.solver["algorithm_type"] = numbered(c, "algorithm_type", sa_algorithms);
  s.solver["lower_order_final"] = s.lower_order_final = c.boolean("lower_order_final", true);
  read_thresholding(c, s);
  const bool noise = s.solver["algorithm_type"] != 0;
  if (noise && s.thresholding)
    fail<UnsupportedError>("{}: 'thresholding' cannot be combined with 'algorithm_type' \"noise_prediction\"", c.where());
  if (noise && s.prediction == Prediction::flow)
    fail<UnsupportedError>("{}: 'algorithm_type' \"noise_prediction\" is not supported for flow prediction", c.where());
  c.only_null("tau_func");
  refuse_learned_variance(c);
  s.lambda_min_clipped = c.number("lambda_min_clipped", s.lambda_min_clipped);
}

void read_flow(const Config& c, SchedulerConfig& s) {
  s.prediction = Prediction::flow;
  s.shift = positive(c, "shift", 1);
  if (s.scheduler == flow_heun) return;
  read_curve(c, s);
  read_dynamic_shift(c, s);
  if (s.scheduler == flow_euler) {
    if (c.boolean("invert_sigmas", false)) s.prediction = Prediction::reverse_flow;
    s.solver["stochastic_sampling"] = c.boolean("stochastic_sampling", false);
    if (s.solver["stochastic_sampling"] != 0 && s.prediction == Prediction::reverse_flow)
      fail<UnsupportedError>("{}: 'stochastic_sampling' cannot be combined with 'invert_sigmas'", c.where());
  } else {
    c.only("invert_sigmas", false);
  }
  if (s.scheduler == flow_lcm) c.only_null("scale_factors");
  if (s.scheduler == ltx_euler_ancestral) {
    s.solver["eta"] = c.number("eta", 1.0);
    s.solver["s_noise"] = c.number("s_noise", 1.0);
  }
}

void read_edm(const Config& c, SchedulerConfig& s) {
  s.sigma_min = positive(c, "sigma_min", 0.002);
  s.sigma_max = positive(c, "sigma_max", 80);
  s.sigma_data = positive(c, "sigma_data", 0.5);
  s.rho = positive(c, "rho", 7);
  s.curve = choice<Curve>(c, "sigma_schedule", "karras", {{"karras", Curve::karras}, {"exponential", Curve::exponential}});
  read_prediction(c, s);
  if (s.scheduler == edm_dpm) read_dpm(c, s);
  else read_final_sigmas(c, s);
}

// Classes with a table of ᾱ.
void read_alpha(const Config& c, SchedulerConfig& s, bool prk) {
  const bool one = one_of(s.scheduler, {ddim, cogvideox_ddim, cogvideox_dpm, lcm, tcd});
  switch (s.scheduler) {
    case pndm:
      s.skips_prk = !prk || c.boolean("skip_prk_steps", false);
      s.set_alpha_to_one = c.boolean("set_alpha_to_one", false);
      break;
    case ddpm: {
      s.set_alpha_to_one = true;
      s.solver["variance_type"] = numbered(c, "variance_type", ddpm_variances);
      read_clip(c, s, true);
      read_thresholding(c, s);
      break;
    }
    case lcm:
    case tcd:
      s.original_steps = whole(c, "original_inference_steps", 50, 1, INT64_MAX);
      s.set_alpha_to_one = c.boolean("set_alpha_to_one", true);
      if (s.scheduler == tcd) break;  // never clips
      s.solver["timestep_scaling"] = c.number("timestep_scaling", 10.0);
      read_clip(c, s, false);
      read_thresholding(c, s);
      break;
    default: s.set_alpha_to_one = c.boolean("set_alpha_to_one", one);
  }
  if (s.scheduler == ddim) {
    read_clip(c, s, true);
    read_thresholding(c, s);
  }
}

// Keys that this class does not read: a file that has been through several classes carries the keys of all of them.
void ignore_foreign_keys(const Config& c) {
  c.no_effect({"algorithm_type",
               "base_image_seq_len",
               "base_shift",
               "beta_end",
               "beta_schedule",
               "beta_start",
               "clip_denoised",
               "clip_sample",
               "clip_sample_range",
               "corrector_order",
               "disable_corrector",
               "dynamic_thresholding_ratio",
               "eta",
               "euler_at_final",
               "final_sigmas_type",
               "flow_shift",
               "gamma",
               "interpolation_type",
               "invert_sigmas",
               "lambda_min_clipped",
               "lower_order_final",
               "max_image_seq_len",
               "max_shift",
               "noise_sampler_seed",
               "original_inference_steps",
               "predict_x0",
               "prediction_type",
               "predictor_order",
               "rescale_betas_zero_snr",
               "rho",
               "s",
               "s_noise",
               "sample_max_value",
               "scale_factors",
               "scaler",
               "set_alpha_to_one",
               "shift",
               "shift_terminal",
               "sigma_data",
               "sigma_max",
               "sigma_min",
               "sigma_schedule",
               "skip_prk_steps",
               "snr_shift_scale",
               "solver_order",
               "solver_p",
               "solver_type",
               "steps_offset",
               "stochastic_sampling",
               "tau_func",
               "thresholding",
               "time_shift_type",
               "timestep_scaling",
               "timestep_spacing",
               "timestep_type",
               "trained_betas",
               "upscale_mode",
               "use_beta_sigmas",
               "use_dynamic_shifting",
               "use_exponential_sigmas",
               "use_flow_sigmas",
               "use_karras_sigmas",
               "use_lu_lambdas",
               "variance_type"});
}

enum class PrkSteps { as_stated, skipped };

SchedulerConfig read_as(const Config& c, SchedulerClass scheduler, PrkSteps prk) {
  SchedulerConfig s;
  s.scheduler = scheduler;
  s.lambda_min_clipped = -std::numeric_limits<double>::infinity();
  s.num_train_timesteps = c.integer("num_train_timesteps", 1000);
  if (s.num_train_timesteps < 1)
    fail<WeightError>("{}: 'num_train_timesteps' is {}, expected at least 1", c.where(), s.num_train_timesteps);
  if (in_sigma(scheduler) || in_lambda(scheduler) || in_alpha(scheduler)) {
    read_table(c, s);
    read_prediction(c, s);
    if (scheduler == dpm_singlestep) s.spacing = Spacing::linspace;  // the only one it has
    else read_spacing(c, s);
  }
  if ((in_sigma(scheduler) && scheduler != euler_ancestral) || in_lambda(scheduler)) read_curve(c, s);
  if (in_lambda(scheduler)) read_flow_sigmas(c, s);
  if (in_alpha(scheduler)) read_alpha(c, s, prk == PrkSteps::as_stated);
  if (in_flow(scheduler)) read_flow(c, s);
  if (in_edm(scheduler)) read_edm(c, s);

  switch (scheduler) {
    case euler:
      read_final_sigmas(c, s);
      s.log_linear = choice<bool>(c, "interpolation_type", "linear", {{"linear", false}, {"log_linear", true}});
      s.continuous_timesteps =
          choice<bool>(c, "timestep_type", "discrete", {{"discrete", false}, {"continuous", true}}) && s.prediction == Prediction::v;
      break;
    case heun: read_clip(c, s, false); break;
    case dpm_sde: c.only_null("noise_sampler_seed"); break;
    case dpmpp_multistep:
    case dpm_singlestep: read_dpm(c, s); break;
    case unipc: read_unipc(c, s); break;
    case deis:
      s.solver["solver_order"] = double(whole(c, "solver_order", 2, 1, 3));
      c.only("algorithm_type", {"deis", "dpmsolver", "dpmsolver++"});
      c.only("solver_type", {"logrho", "midpoint", "heun", "bh1", "bh2"});
      s.solver["lower_order_final"] = s.lower_order_final = c.boolean("lower_order_final", true);
      read_thresholding(c, s);
      break;
    case sa_solver: read_sa_solver(c, s); break;
    case ipndm:
      s.prediction = Prediction::v;
      c.only_null("trained_betas");
      break;
    case scm:
      s.prediction = choice<Prediction>(c, "prediction_type", "trigflow", {{"trigflow", Prediction::trigflow}});
      s.sigma_data = positive(c, "sigma_data", 0.5);
      break;
    case wuerstchen:
      s.scaler = positive(c, "scaler", 1);
      s.offset = positive(c, "s", 0.008);
      break;
    default: break;
  }
  ignore_foreign_keys(c);
  c.finish();
  return s;
}

}  // namespace

SchedulerConfig SchedulerConfig::read(const Config& c, std::string_view class_name) {
  const auto scheduler = scheduler_class(class_name);
  if (!scheduler) {
    std::vector<std::string_view> known;
    for (const SchedulerClass each : scheduler_classes()) known.push_back(name_of(each));
    fail<UnsupportedError>("{}: scheduler class '{}' is not supported, expected one of {}", c.where(), class_name, fmt::join(known, ", "));
  }
  SchedulerConfig s = read_as(c, *scheduler, PrkSteps::as_stated);
  s.source_ = c;
  return s;
}

SchedulerConfig SchedulerConfig::with_class(SchedulerClass other) const {
  if (other == scheduler) return *this;
  const auto kind = [](SchedulerClass c) {
    if (in_flow(c)) return "flow";
    if (in_edm(c)) return "EDM";
    if (c == scm) return "TrigFlow";
    if (c == ipndm) return "IPNDM";
    return c == wuerstchen ? "Wuerstchen" : "diffusion";
  };
  const bool flow = in_flow(scheduler) || prediction == Prediction::flow;
  const std::string_view own = flow ? "flow" : kind(scheduler), theirs = kind(other);
  if (own != theirs) {
    // The σ-samplers use the noise levels of a flow or EDM network.
    if ((own == "flow" || own == "EDM") && (in_sigma(other) || in_lambda(other))) return own_levels();
    fail<UnsupportedError>("{}: {} is for {} networks, this is a {} network ({})", source_.where(), name_of(other), theirs, own,
                           name_of(scheduler));
  }
  SchedulerConfig s = read_as(source_, other, PrkSteps::skipped);
  s.source_ = source_;
  s.mu = mu, s.even_times = even_times;
  s.in_stable_diffusion_ = in_stable_diffusion_, s.clips_ = clips_;
  if (in_stable_diffusion_ && source_.has("steps_offset")) s.steps_offset = 1;
  if (in_stable_diffusion_ && !clips_ && source_.has("clip_sample")) s.clip.reset();
  return s;
}

// Without options that only the sampler of the class has.
SchedulerConfig SchedulerConfig::own_levels() const {
  SchedulerConfig s = *this;
  s.solver.clear();
  s.thresholding.reset();
  return s;
}

SchedulerConfig SchedulerConfig::in_stable_diffusion(bool clips) const {
  SchedulerConfig s = *this;
  s.steps_offset = 1;
  if (!clips) s.clip.reset();
  s.in_stable_diffusion_ = true, s.clips_ = clips;
  return s;
}

}  // namespace hearth::sampling
