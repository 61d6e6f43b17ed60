#include <fmt/format.h>

#include "cli/command.h"
#include "cli/flags.h"
#include "core/error.h"
#include "hearth/hearth.h"

namespace hearth::cli {
namespace {

void run_inspect(std::span<const std::string> arguments) {
  std::string path, variant;
  bool json = false;
  Flags flags(
      "inspect",
      "Says what a checkpoint is (family, components, types, sizes, what is missing or would be left unread), or what a picture is and "
      "how it was made.",
      "Exit code: 0 also where something is missing; the JSON's \"usable\" says so.");
  flags.text("path", "PATH",
             "A folder in the diffusers layout, a component's folder, a safetensors, GGUF or PyTorch file, or a picture (PNG, JPEG, WebP)",
             path);
  flags.text("--variant", "NAME", "Look at the files *.NAME.safetensors", variant, "those without a variant");
  flags.toggle("--json", "Print one JSON object on stdout", json);
  if (!flags.parse(arguments)) return;
  if (path.empty()) fail<UsageError>("inspect: the path of a checkpoint or picture is missing");
  const Inspection found = hearth::inspect(path, variant);
  fmt::print("{}{}", json ? found.json : found.text, json ? "\n" : "");
}

}  // namespace

const Command inspect = {"inspect", "say what a checkpoint or picture is", run_inspect};

}  // namespace hearth::cli
