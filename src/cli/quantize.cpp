#include "hearth/quantize.h"

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/written.h"
#include "core/error.h"

namespace hearth::cli {
namespace {

void run_quantize(std::span<const std::string> arguments) {
  QuantizeRequest request;
  std::string model, output;
  bool json = false;
  Flags flags(
      "quantize", "Writes a language model as a GGUF file, its matrices in the type asked for.",
      "Vectors and norms are f32. The output matrix (the embedding, where it is the same) is q6_k at least, but for --pure. Rows that "
      "are no whole number of blocks get the next type that fits; a note names them.");
  flags.text("-m,--model", "PATH", "A folder with config.json, safetensors and tokenizer.json, or a GGUF file", model);
  flags.text("-o,--output", "FILE", "The GGUF file to write", output);
  flags.choice("--type", "", "Type of the matrices", request.type,
               {.names = {"q8_0", "q6_k", "q5_k", "q4_k", "q3_k", "q2_k", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl", "iq4_xs", "mxfp4",
                          "f16", "bf16", "f32"}});
  flags.toggle("--pure", "The output matrix in that type, too", request.pure);
  flags.integer("-t,--threads", "Threads; 0 = all processors", request.threads, {.low = 0, .high = 1024});
  flags.toggle("--json", "Print one JSON object on stdout", json);
  if (!flags.parse(arguments)) return;
  if (model.empty()) fail<UsageError>("quantize: --model is missing");
  if (output.empty()) fail<UsageError>("quantize: --output is missing");
  request.model = model;
  request.output = output;
  ProgressLine line;
  request.progress = [&line](const Progress& p) { line.update(p); };
  request.cancel = &cancelled;
  const QuantizeReport report = hearth::quantize(request);
  tell_written(line, report, output, {{"architecture", report.architecture}}, json);
}

}  // namespace

const Command quantize = {"quantize", "write a language model as a GGUF file", run_quantize};

}  // namespace hearth::cli
