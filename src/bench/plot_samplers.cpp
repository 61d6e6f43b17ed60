// The plots of `hearth samplers`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/backends.h"
#include "core/error.h"
#include "hearth/plots.h"
#include "media/canvas.h"
#include "media/chart.h"
#include "media/editing/resample.h"
#include "sampling/known_problem.h"
#include "sampling/samplers.h"

namespace hearth {

struct CommonLevels {
  static Job prepare(Model& model, const Request& request) { return model.prepare(request, true); }
};

namespace {

using Json = nlohmann::json;

constexpr std::array dozen{"euler", "heun", "dpm_2",  "dpmpp_2s_ancestral", "seeds_3",       "lms",
                           "ipndm", "deis", "uni_pc", "dpmpp_2m",           "res_multistep", "gradient_estimation"};
constexpr std::array for_images{"euler", "heun", "lms", "dpmpp_2m", "uni_pc", "res_multistep", "euler_ancestral", "dpmpp_2m_sde"};

template <size_t N>
std::vector<const sampling::Sampler*> chosen(const std::vector<std::string>& names, const std::array<const char*, N>& otherwise) {
  std::vector<const sampling::Sampler*> samplers;
  for (const std::string& name : names) samplers.push_back(&sampling::find_sampler(name));
  if (names.empty())
    for (const char* name : otherwise) samplers.push_back(&sampling::find_sampler(name));
  return samplers;
}

// The sampler's name, and the options that make it deterministic if it is not by default.
std::string label(const sampling::Sampler& s) { return std::string(s.name) + (s.draws == sampling::Draws::always ? ", eta 0" : ""); }

Image image_of(Pixels pixels, const std::string& json) {
  return {.width = pixels.width, .height = pixels.height, .rgb = std::move(pixels.rgb), .json = json};
}

double relative_l2(const std::vector<float>& x, const std::vector<float>& wanted) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double d = double(x[i]) - double(wanted[i]);
    difference += d * d, size += double(wanted[i]) * double(wanted[i]);
  }
  return std::sqrt(difference / size);
}

void check_steps(const std::vector<int64_t>& steps) {
  if (steps.empty()) fail<UsageError>("plot: --steps is empty, expected at least one number");
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i] < 1 || (i > 0 && steps[i] <= steps[i - 1]))
      fail<UsageError>("plot: --steps is {}, expected increasing numbers from 1 on", fmt::join(steps, ", "));
}

Request single(const SamplerPlotRequest& r) {
  Request one = r.request;
  one.batch_size = 1, one.stop_after = 0, one.resume = std::nullopt, one.sampler_options.clear();
  one.seed = one.seed.value_or(0);
  return one;
}

// Progress of phase "plot", in runs.
struct RunCounter {
  const OnProgress& progress;
  int64_t all, done = 0;
  void next() {
    if (progress) progress({.phase = "plot", .done = done, .total = all});
    ++done;
  }
};

}  // namespace

SamplerPlot plot_contact_sheet(Model& model, const SamplerPlotRequest& r) {
  check_steps(r.steps);
  const auto samplers = chosen(r.samplers, for_images);
  Request one = single(r);
  one.decode = true, one.progress = {};
  RunCounter counter{r.request.progress, int64_t(samplers.size() * r.steps.size())};
  std::vector<Pixels> images;
  Json cells = Json::array();
  for (const sampling::Sampler* sampler : samplers)
    for (const int64_t steps : r.steps) {
      counter.next();
      one.sampler = sampler->name, one.steps = steps;
      Generation made = model.generate(one);
      const Json report = Json::parse(made.report);
      cells.push_back({{"sampler", sampler->name}, {"steps", steps}, {"calls", report["network_calls"]}});
      Image& generated = made.images[0];
      Pixels image{.width = generated.width, .height = generated.height, .rgb = std::move(generated.rgb)};
      if (r.cell) {
        if (*r.cell < 16 || *r.cell > image.width)
          fail<UsageError>("plot: cells of {} pixels, expected 16 to the image width of {}", *r.cell, image.width);
        image = resize(image, *r.cell, std::max<int64_t>(1, image.height * *r.cell / image.width), Filter::lanczos);
      }
      images.push_back(std::move(image));
    }

  constexpr Color white{255, 255, 255}, black{20, 20, 20};
  constexpr int64_t gap = 4, head = 24;
  int64_t side = 0;
  for (const sampling::Sampler* sampler : samplers) side = std::max(side, text_width(sampler->name) + 16);
  const int64_t w = images[0].width, h = images[0].height, columns = int64_t(r.steps.size()), rows = int64_t(samplers.size());
  Canvas canvas(side + columns * (w + gap), head + rows * (h + gap), white);
  for (int64_t c = 0; c < columns; ++c) {
    const std::string name = fmt::format("{} steps", r.steps[size_t(c)]);
    canvas.text(side + c * (w + gap) + (w - text_width(name)) / 2, 8, name, black);
  }
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t y = head + row * (h + gap);
    canvas.text(8, y + (h - text_height) / 2, samplers[size_t(row)]->name, black);
    for (int64_t c = 0; c < columns; ++c) canvas.image(side + c * (w + gap), y, images[size_t(row * columns + c)]);
  }
  const std::string json = Json{{"contact_sheet", cells}}.dump();
  return {.image = image_of(std::move(canvas.pixels), json), .json = json};
}

SamplerPlot plot_convergence(Model& model, const SamplerPlotRequest& r) {
  check_steps(r.steps);
  const auto samplers = chosen(r.samplers, dozen);
  for (const sampling::Sampler* sampler : samplers)
    if (!sampling::solves_the_ode(*sampler))
      fail<UsageError>("plot: sampler '{}' does not solve the ODE in given steps, expected one that does to measure convergence",
                       sampler->name);
  if (r.reference_steps <= r.steps.back())
    fail<UsageError>("plot: the reference solution has {} steps, expected more than {}", r.reference_steps, r.steps.back());
  Request one = single(r);
  one.decode = false, one.progress = {};
  if (one.schedule.empty()) one.schedule = "karras";
  RunCounter counter{r.request.progress, int64_t(samplers.size() * r.steps.size()) + 1};
  const auto solve = [&](const sampling::Sampler& sampler, int64_t steps) {
    counter.next();
    one.sampler = sampler.name, one.steps = steps;
    one.sampler_options.clear();
    const sampling::Options quiet = *sampling::deterministic_options(sampler);
    for (const auto& [name, value] : quiet) one.sampler_options[name] = fmt::format("{}", value);
    Generation made = CommonLevels::prepare(model, one).run();
    return std::pair(std::move(made.latents.values), Json::parse(made.report)["network_calls"].get<double>());
  };
  const std::vector<float> exact = solve(sampling::find_sampler("seeds_3"), r.reference_steps).first;
  Chart chart{.title = "convergence", .x_label = "denoiser calls", .y_label = "error of the latents, relative L2", .curves = {}};
  Json numbers = Json::array();
  for (const sampling::Sampler* sampler : samplers) {
    Curve2D curve{.name = label(*sampler), .x = {}, .y = {}};
    for (const int64_t steps : r.steps) {
      const auto [latents, calls] = solve(*sampler, steps);
      curve.x.push_back(calls), curve.y.push_back(relative_l2(latents, exact));
      numbers.push_back({{"sampler", sampler->name}, {"steps", steps}, {"calls", calls}, {"error", curve.y.back()}});
    }
    chart.curves.push_back(std::move(curve));
  }
  const std::string json = Json{{"convergence", numbers}}.dump();
  return {.image = image_of(draw(chart), json), .json = json};
}

SamplerPlot plot_orders(const std::vector<std::string>& names) {
  const auto samplers = chosen(names, dozen);
  const auto device = make_backend({.name = "reference", .threads = 1});
  Chart chart{.title = "orders of convergence", .x_label = "calls", .y_label = "error", .curves = {}};
  Json numbers = Json::array();
  for (const sampling::Sampler* sampler : samplers) {
    if (!sampling::solves_the_ode(*sampler))
      fail<UsageError>("plot: sampler '{}' does not solve the ODE in given steps, expected one that does to measure convergence",
                       sampler->name);
    Curve2D curve{.name = label(*sampler), .x = {}, .y = {}};
    for (int64_t n = 4; n <= 256; n *= 2) {
      const sampling::KnownError at = sampling::known_error(*sampler, *device, n);
      curve.x.push_back(double(at.calls)), curve.y.push_back(at.error);
    }
    const size_t last = curve.x.size() - 1;
    const double observed = std::log(curve.y[last - 1] / curve.y[last]) / std::log(curve.x[last] / curve.x[last - 1]);
    numbers.push_back(
        {{"sampler", sampler->name}, {"order", sampler->order}, {"observed", observed}, {"calls", curve.x}, {"errors", curve.y}});
    curve.name += fmt::format(": {:.1f}", observed);
    chart.curves.push_back(std::move(curve));
  }
  const std::string json = Json{{"orders", numbers}}.dump();
  return {.image = image_of(draw(chart), json), .json = json};
}

}  // namespace hearth
