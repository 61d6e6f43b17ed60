#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/open_flags.h"
#include "cli/progress_line.h"
#include "cli/setting_flags.h"
#include "core/error.h"
#include "core/files/file.h"
#include "hearth/plots.h"

namespace hearth::cli {
namespace {

constexpr const char* notes =
    "The contact sheet shows an image per sampler and number of steps. The convergence plot shows the error of the latents, against a fine "
    "solution, over denoiser calls: all samplers start from the same noise on the same schedule and add none. The order plot needs no "
    "model: it shows the same for a problem whose solution is known.";

struct PlotFlags {
  OpenFlags open;
  SamplerPlotRequest plot;
  std::string sheet, convergence, orders;
  bool json = false;

  void add_to(Flags& flags);
};

void PlotFlags::add_to(Flags& flags) {
  Request& request = plot.request;
  flags.group("Model");
  open.add_model(flags);
  open.add_variant(flags);
  flags.group("Output");
  flags.text("--contact-sheet", "FILE", "Image file for the contact sheet", sheet, "none").also("--sheet").in_basic_help();
  flags.text("--convergence-plot", "FILE", "Image file for the convergence plot", convergence, "none")
      .also("--convergence")
      .in_basic_help();
  flags.text("--order-plot", "FILE", "Image file for the plot of convergence orders", orders, "none").also("--orders").in_basic_help();
  flags
      .integer("--thumbnail-width", "Scale the images of the contact sheet down to this width in pixels", plot.cell, "full size",
               {.low = 16})
      .also("--cell");
  add_json(flags, "the plotted values", json);
  flags.group("Sampling");
  flags
      .add("--samplers", "NAMES", "Samplers to compare, separated by commas", "a dozen different ones",
           [this](const std::string& t) { plot.samplers = parse_words(t, names_of(list_samplers())); })
      .completes(names_of(list_samplers()))
      .in_basic_help();
  flags
      .add("--steps", "N[,N]", "Numbers of steps to compare, in increasing order", "4,8,16,32",
           [this](const std::string& t) {
             plot.steps.clear();
             for (const double n : parse_numbers(t)) plot.steps.push_back(parse_integer(fmt::format("{}", n), 1, 100000));
           })
      .in_basic_help();
  flags.integer("--reference-steps", "Steps of the fine solution in the convergence plot; seeds_3 makes three denoiser calls in each",
                plot.reference_steps);
  add_setting(flags, request, "schedule", {.default_text = "contact sheet: the checkpoint's own; convergence plot: karras"});
  add_setting(flags, request, "seed", {.help = "Seed of the noise", .default_text = "0"});
  flags.group("Prompt");
  add_setting(flags, request, "prompt", {.help = "Prompt; --order-plot alone needs none", .default_text = "none"});
  add_setting(flags, request, "negative_prompt");
  flags.group("Image");
  for (const char* name : {"width", "height"}) add_setting(flags, request, name);
  flags.group("Guidance");
  add_setting(flags, request, "guidance");
  flags.group("Memory and performance");
  open.add_device(flags);
  flags.example("hearth samplers plot -p \"a house\" --contact-sheet sheet.png", "Compare samplers at few steps");
  flags.example("hearth samplers plot -p \"a house\" --convergence-plot error.png --samplers euler,dpmpp_2m",
                "Compare how fast two samplers converge");
}

void run_samplers(std::span<const std::string> arguments) {
  std::string what;
  PlotFlags f;
  Flags flags("samplers", "Compare samplers on one prompt: a contact sheet of images, and plots of their convergence.", notes);
  flags.choice("action", "plot", "What to do: plot", what, {.names = {"plot"}}, "required");
  f.add_to(flags);
  if (!flags.parse(arguments)) return;
  if (what.empty()) fail<UsageError>("samplers: the action is missing, expected hearth samplers plot");
  if (f.sheet.empty() && f.convergence.empty() && f.orders.empty())
    fail<UsageError>("samplers: nothing to plot, expected --contact-sheet, --convergence-plot or --order-plot");
  const bool model = !f.sheet.empty() || !f.convergence.empty();
  if (model && !flags.given("--prompt")) fail<UsageError>("samplers: --prompt is missing; --prompt \"\" generates without one");
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
    f.plot.request.cancel = &canceled;
    OpenOptions open = f.open.options();
    open.progress = f.plot.request.progress;
    Model opened = f.open.model.empty() ? Model::open_demo(open) : Model::open(f.open.model, open);
    if (!f.convergence.empty()) keep(plot_convergence(opened, f.plot), f.convergence);
    if (!f.sheet.empty()) keep(plot_contact_sheet(opened, f.plot), f.sheet);
  }
  if (f.json) fmt::print("{{{}}}\n", fmt::join(numbers, ","));
}

}  // namespace

const Command samplers = {"samplers", "Compare samplers: contact sheet and convergence plots", run_samplers, "Images"};

}  // namespace hearth::cli
