#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/open_flags.h"
#include "cli/progress_line.h"
#include "core/error.h"
#include "core/file.h"

namespace hearth::cli {
namespace {

constexpr const char* notes =
    "The contact sheet shows the picture of every sampler at every number of steps. The convergence plot shows how far the latents are "
    "from "
    "a fine solution, over calls of the network: without fresh noise, from one noise, along one schedule. The plot of orders needs no "
    "model: it is the same on a problem whose solution is known.";

struct PlotFlags {
  OpenFlags open;
  SamplerPlotRequest plot;
  std::string sheet, convergence, orders;
  bool prompt_given = false, json = false;

  void add_to(Flags& flags);
};

void PlotFlags::add_to(Flags& flags) {
  Request& request = plot.request;
  flags.text("--sheet", "FILE", "Draw the contact sheet into this picture", sheet);
  flags.text("--convergence", "FILE", "Draw the convergence plot", convergence);
  flags.text("--orders", "FILE", "Draw the plot of orders of convergence", orders);
  flags.add("--samplers", "LIST", "Names with commas between them", "some that differ",
            [this](const std::string& t) { plot.samplers = parse_words(t, names_of(list_samplers())); });
  flags.add("--steps", "LIST", "Numbers of steps, rising", "4,8,16,32", [this](const std::string& t) {
    plot.steps.clear();
    for (const double n : parse_numbers(t)) plot.steps.push_back(parse_integer(fmt::format("{}", n), 1, 100000));
  });
  flags.integer("--reference-steps", "Of the fine solution of the convergence plot, by seeds_3 with three calls a step",
                plot.reference_steps);
  flags.integer("--cell", "Shrink the pictures of the sheet to so many pixels of width", plot.cell, "as they are", {.low = 16});
  flags.path("-m,--model", "Checkpoint: a folder in the diffusers layout", open.model, "the demo model");
  flags.add("-p,--prompt", "TEXT", "What to draw; needed but for --orders", "", [this](const std::string& t) {
    plot.request.prompt = t;
    prompt_given = true;
  });
  flags.text("-n,--negative-prompt", "TEXT", "What to keep away from", request.negative_prompt, "nothing");
  flags.integer("-W,--width", "Pixels, a multiple of 8", request.width, "the checkpoint's native size");
  flags.integer("-H,--height", "Pixels, a multiple of 8", request.height, "the checkpoint's native size");
  flags.number("--cfg-scale,--guidance", "Strength of classifier-free guidance", request.guidance);
  flags.choice("--schedule", "NAME", "See hearth list schedules", request.schedule, choice_of(list_schedules()),
               "sheet: the checkpoint's own; convergence: karras");
  flags.add("--seed", "N", "Of the noise", "0", [this](const std::string& t) { plot.request.seed = parse_seed(t); });
  flags.toggle("--json", "Print the numbers as one JSON object", json);
  open.add_place(flags);
}

void run_samplers(std::span<const std::string> arguments) {
  std::string what;
  PlotFlags f;
  Flags flags("samplers", "Compares samplers: a contact sheet, and plots of their convergence.", notes);
  flags.choice("what", "", "What to do", what, {.names = {"plot"}});
  f.add_to(flags);
  if (!flags.parse(arguments)) return;
  if (what.empty()) fail<UsageError>("samplers: what to do is missing, needed 'hearth samplers plot'");
  if (f.sheet.empty() && f.convergence.empty() && f.orders.empty())
    fail<UsageError>("samplers: nothing to draw, needed --sheet, --convergence or --orders");
  const bool model = !f.sheet.empty() || !f.convergence.empty();
  if (model && !f.prompt_given) fail<UsageError>("samplers: --prompt is missing; --prompt \"\" draws without one");
  for (const std::string* file : {&f.sheet, &f.convergence, &f.orders}) {
    if (file->empty()) continue;
    check_save(*file, {}, f.plot.request);
    check_writable(*file);
  }

  std::vector<std::string> numbers;
  ProgressLine line;
  const auto keep = [&](const SamplerPlot& made, const std::string& file) {
    line.finish();
    made.image.save(file);
    numbers.push_back(made.json.substr(1, made.json.size() - 2));  // without the braces of its object
    if (!f.json) fmt::print("{}: {}×{}\n", file, made.image.width, made.image.height);
  };
  if (!f.orders.empty()) keep(plot_orders(f.plot.samplers), f.orders);
  if (model) {
    f.plot.request.progress = [&line](const Progress& p) { line.update(p); };
    f.plot.request.cancel = &cancelled;
    OpenOptions open = f.open.options();
    open.progress = f.plot.request.progress;
    Model opened = f.open.model.empty() ? Model::open_demo(open) : Model::open(f.open.model, open);
    if (!f.convergence.empty()) keep(opened.plot_convergence(f.plot), f.convergence);
    if (!f.sheet.empty()) keep(opened.plot_contact_sheet(f.plot), f.sheet);
  }
  if (f.json) fmt::print("{{{}}}\n", fmt::join(numbers, ","));
}

}  // namespace

const Command samplers = {"samplers", "compare samplers: contact sheet and convergence plots", run_samplers};

}  // namespace hearth::cli
