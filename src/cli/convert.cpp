#include "hearth/convert.h"

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/open_flags.h"
#include "cli/written.h"
#include "core/error.h"

namespace hearth::cli {
namespace {

void run_convert(std::span<const std::string> arguments) {
  ConvertRequest request;
  OpenFlags open;
  std::string output;
  bool json = false;
  Flags flags(
      "convert", "Writes a picture model in another layout, its tensors bit for bit or in another type.",
      "Whatever hearth generate opens is read. The output appears whole or not at all: a file of that name is replaced, a folder must "
      "not be there or be empty.");
  flags.text("-m,--model", "PATH", "Checkpoint: a folder in the diffusers layout, or a single file (.safetensors, .ckpt)", open.model, "");
  flags.text("-o,--output", "PATH", "The folder or file to write", output);
  flags.choice("--layout", "",
               "diffusers: a folder, one file for each component; dduf: such a folder in one file; single: one file in the layout of "
               "CompVis or Stability",
               request.layout, {.names = {"diffusers", "single", "dduf"}});
  flags.choice("--dtype", "", "Type of all floating-point tensors", request.type, {.names = {"f32", "f16", "bf16"}},
               "as stored; 8-bit floats become bf16, scaled ones f32");
  open.add_parts(flags);
  flags.text("--variant", "NAME", "Read the files *.NAME.safetensors of the checkpoint, e.g. fp16", request.variant,
             "those without a variant");
  std::optional<int64_t> shard;
  flags.add("--max-shard-size", "SIZE", "Of a folder or DDUF: a network of more becomes several files and an index, as 5GB or 500M", "10GB",
            [&shard](const std::string& t) { shard = parse_size(t); });
  flags.toggle("--json", "Print one JSON object on stdout", json);
  if (!flags.parse(arguments)) return;
  if (open.model.empty()) fail<UsageError>("convert: --model is missing");
  if (output.empty()) fail<UsageError>("convert: --output is missing");
  if (shard && request.layout == "single") fail<UsageError>("convert: --max-shard-size acts with the layouts diffusers and dduf only");
  if (shard) request.max_shard_size = *shard;
  request.model = open.model, request.output = output;
  request.components = open.components(), request.config = open.config, request.ema = open.ema;
  ProgressLine line;
  request.progress = [&line](const Progress& p) { line.update(p); };
  request.cancel = &cancelled;
  const ConvertReport report = hearth::convert(request);
  tell_written(line, report, output, {{"layout", request.layout}, {"pipeline", report.pipeline}}, json);
}

}  // namespace

const Command convert = {"convert", "write a picture model in another layout or type", run_convert};

}  // namespace hearth::cli
