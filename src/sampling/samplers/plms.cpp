#include "sampling/sampler.h"

namespace hearth::sampling {
namespace {

// Adams–Bashforth of order 1 … 4.
Tensor extrapolated(std::span<const Tensor> answers) {
  static const std::vector<double> weights[] = {
      {1}, {3 / 2., -1 / 2.}, {23 / 12., -16 / 12., 5 / 12.}, {55 / 24., -59 / 24., 37 / 24., -9 / 24.}};
  return answers.size() == 1 ? answers[0] : combine(answers, weights[answers.size() - 1]);
}

// From one level to another along the network's prediction.
Tensor moved(const Tensor& x, const Tensor& answer, const Level& from, const Level& to, Prediction prediction) {
  const double turn = from.alpha * to.sigma - from.sigma * to.alpha;
  if (prediction == Prediction::v) return combine({x, answer}, {from.alpha * to.alpha + from.sigma * to.sigma, turn});
  return combine({x, answer}, {to.alpha / from.alpha, turn / from.alpha});
}

// Liu et al. 2022 (arXiv 2202.09778), equation 13: classical Runge–Kutta in four calls, each from the step's start. History: the
// predictions at the starts, newest first, then the sum so far, then the start.
void runge_kutta(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const Tensor answer = network_output(s.x, run.denoise(s.x, at).x0, at, run.schedule.prediction);
  const int64_t call = s.step % 4;
  Tensor start = s.x, sum, combined = answer;
  if (call > 0) {
    start = s.history.back();
    s.history.pop_back();
    sum = combine({s.history.back(), answer}, {1, call == 3 ? 1 / 6. : 1 / 3.});
    s.history.pop_back();
  } else {
    s.history.insert(s.history.begin(), answer);
    sum = combine({answer}, {1 / 6.});
  }
  if (call == 3) combined = sum;
  else s.history.push_back(sum), s.history.push_back(start);
  s.x = moved(start, combined, from, to, run.schedule.prediction);
}

// Liu et al. 2022 (arXiv 2202.09778), pseudo linear multistep as in Katherine Crowson's PLMS: Adams–Bashforth of order 4 on the
// network's predictions, each step a DDIM step with the combined prediction. The first step is made twice: with the prediction at its
// start, then with the mean of those at its start and its end. History: the predictions, newest first; after the first step also its start.
void step(State& s, const Run& run) {
  if (s.step < run.schedule.runge_kutta_calls) return runge_kutta(s, run);
  const auto& [at, from, to] = run.step(s);
  const Tensor answer = network_output(s.x, run.denoise(s.x, at).x0, at, run.schedule.prediction);
  Tensor start = s.x, combined;
  if (s.step == 1) {
    start = s.history.back();
    s.history.pop_back();
    combined = combine({answer, s.history[0]}, {0.5, 0.5});
  } else {
    s.history.insert(s.history.begin(), answer);
    if (s.history.size() > 4) s.history.pop_back();
    combined = extrapolated(s.history);
  }
  if (s.step == 0) s.history.push_back(start);

  s.x = moved(start, combined, from, to, run.schedule.prediction);
}

}  // namespace

std::vector<Sampler> plms_rows() {
  return {{.name = "plms",
           .aliases = {"PLMS"},
           .summary = "pseudo linear multistep (PNDM); one more denoiser call than steps",
           .order = 4,
           .calls = "n+1",
           .programs = {.a1111 = true},
           .a1111_levels = A1111Levels::timesteps,
           .scheduler = SchedulerClass::pndm,
           .step = step}};
}

}  // namespace hearth::sampling
