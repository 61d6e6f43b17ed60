#include <fmt/format.h>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/open_flags.h"
#include "core/error.h"
#include "hearth/hearth.h"

namespace hearth::cli {
namespace {

void run_inspect(std::span<const std::string> arguments) {
  std::string path, variant, model;
  bool json = false;
  Flags flags(
      "inspect",
      "Describe a checkpoint (family, components, data types, sizes, what is missing or unused) or an image (format, and how it was "
      "generated).",
      "The exit status is 0 even if something is missing; \"usable\" in the JSON says whether hearth can run the checkpoint.");
  flags.text("path", "PATH",
             "A folder in the diffusers layout, a component's folder, a safetensors, GGUF or PyTorch file, or an image (PNG, JPEG, WebP)",
             path, "required");
  flags.path("-m,--model", "Checkpoint: says how much of an adapter, the PATH, it has, or whether a control network fits it", model,
             "none");
  add_variant(flags, variant);
  add_json(flags, "what the text says, with numbers", json);
  flags.example("hearth inspect stable-diffusion-v1-5", "The contents of a checkpoint, and whether hearth can run it");
  flags.example("hearth inspect style.safetensors -m stable-diffusion-v1-5", "How much of a LoRA a model has");
  flags.example("hearth inspect house.png", "The generation parameters of an image");
  if (!flags.parse(arguments)) return;
  if (path.empty()) fail<UsageError>("inspect: the path is missing, expected a checkpoint or an image");
  const Inspection found = hearth::inspect(path, variant, model);
  fmt::print("{}{}", json ? found.json : found.text, json ? "\n" : "");
}

}  // namespace

const Command inspect = {"inspect", "Describe a checkpoint or an image", run_inspect, "Models"};

}  // namespace hearth::cli
