#include "hearth/convert.h"

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/open_flags.h"
#include "cli/written.h"
#include "core/error.h"
#include "hearth/settings.h"

namespace hearth::cli {
namespace {

void run_convert(std::span<const std::string> arguments) {
  ConvertRequest request;
  OpenFlags open;
  std::string output;
  bool json = false;
  Flags flags(
      "convert", "Convert an image checkpoint to another layout or data type; without --dtype all tensors stay the same bit for bit.",
      "Reads whatever hearth generate opens. The output appears whole or not at all. An existing file is replaced; an existing folder "
      "must be empty.");
  flags.group("Model");
  flags.text("-m,--model", "PATH", "Checkpoint: a folder in the diffusers layout, or a single .safetensors or .ckpt file", open.model,
             "required");
  add_variant(flags, request.variant);
  open.add_components(flags);
  flags.group("Output");
  flags.text("-o,--output", "PATH", "Folder or file to write", output, "required");
  flags.choice("--layout", "",
               "diffusers: a folder with a file per component; dduf: such a folder in one file; single: one file in the layout of CompVis "
               "or Stability AI; gguf: a GGUF file of one network or all (hearth quantize writes smaller types)",
               request.layout, {.names = {"diffusers", "single", "dduf", "gguf"}});
  flags.text("--component", "NAME", "gguf: network to write, a component of model_index.json, or all, with the names of a single file",
             request.component, "the denoiser");
  flags
      .choice("--dtype", "", "Data type of all floating-point tensors", request.type, {.names = {"f32", "f16", "bf16"}},
              "as stored; 8-bit floats become bf16, scaled ones and block types f32; gguf keeps block types")
      .also("--type");
  std::optional<int64_t> shard;
  flags.add("--max-shard-size", "SIZE", "Split larger components into shards with an index, such as 5GB or 500M; not for --layout single",
            "10GB", [&shard](const std::string& t) { shard = parse_size(t); });
  flags.add_each("--merge-lora", "FILE[:SCALE]", "Merge this adapter into the weights that it changes; as --lora of hearth generate",
                 "none", [&request](const std::string& t) { request.loras.push_back(parse_lora(t)); });
  add_json(flags, "output, layout, pipeline, tensors, parameters, bytes, types, notes", json);
  flags.example("hearth convert -m model.safetensors -o model-folder --layout diffusers", "Split a single file into a diffusers folder");
  flags.example("hearth convert -m stable-diffusion-v1-5 -o model-f16.safetensors --layout single --dtype f16",
                "Pack a folder into one f16 file");
  flags.example("hearth convert -m stable-diffusion-v1-5 --merge-lora style.safetensors:0.8 -o with-style --dtype f16",
                "Make a checkpoint of a model and an adapter");
  flags.example("hearth convert -m unet-q8_0.gguf -o unet.gguf --layout gguf --dtype f16", "Dequantize a UNet to f16");
  if (!flags.parse(arguments)) return;
  if (open.model.empty()) fail<UsageError>("convert: --model is missing, expected --model PATH");
  if (output.empty()) fail<UsageError>("convert: --output is missing, expected --output PATH");
  if (shard && (request.layout == "single" || request.layout == "gguf"))
    fail<UsageError>("convert: --max-shard-size has no effect with --layout {}, expected diffusers or dduf", request.layout);
  if (shard) request.max_shard_size = *shard;
  request.model = open.model, request.output = output;
  request.components = open.components(), request.config = open.config, request.ema = open.ema;
  ProgressLine line;
  request.progress = [&line](const Progress& p) { line.update(p); };
  request.cancel = &canceled;
  const ConvertReport report = hearth::convert(request);
  report_written(line, report, output, {{"layout", request.layout}, {"pipeline", report.pipeline}}, json);
}

}  // namespace

const Command convert = {"convert", "Convert an image checkpoint to another layout or data type", run_convert, "Models"};

}  // namespace hearth::cli
