#include "hearth/quantize.h"

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/open_flags.h"
#include "cli/written.h"
#include "core/error.h"

namespace hearth::cli {
namespace {

void run_quantize(std::span<const std::string> arguments) {
  QuantizeRequest request;
  std::string model, output, imatrix;
  bool json = false;
  Flags flags(
      "quantize", "Quantize a language model, or a network of an image model, into a GGUF file.",
      "Vectors and norms stay f32. The output matrix of a language model (the embedding, if they are tied) is at least q6_k, unless "
      "--pure is given. In image models kernels, embeddings of time, size and text, and the first and last layer keep their type. "
      "Matrices whose rows are not a whole number of blocks get the next larger type that fits; a note lists them.");
  flags.text(
      "-m,--model", "PATH",
      "Checkpoint: a folder with config.json, safetensors and tokenizer.json, a GGUF file, an image checkpoint, or a file of one of its "
      "components",
      model, "required");
  flags.text("-o,--output", "FILE", "GGUF file to write", output, "required");
  flags
      .choice("--type", "TYPE", "Data type of the matrices: q8_0 is nearly lossless, q4_k a good balance, q2_k the smallest", request.type,
              {.names = {"q8_0", "q6_k", "q5_k", "q5_k_m", "q4_k", "q4_k_m", "q3_k", "q3_k_m", "q2_k", "q5_1", "q5_0", "q4_1", "q4_0",
                         "iq4_nl", "iq4_xs", "mxfp4", "f16", "bf16", "f32"}})
      .also("--dtype");
  flags.toggle("--pure", "Quantize the output matrix to the same type, and no matrix to a larger one", request.pure);
  flags.text("--imatrix", "FILE",
             "Importance matrix of a language model, from hearth calibrate or llama.cpp: all types but q8_0 and mxfp4 become more accurate",
             imatrix, "none");
  flags.list("--rule", "PATTERN=TYPE",
             "Another type for tensors by their name in the GGUF file, '*' matches anything; the first rule that matches decides",
             request.rules, "none");
  flags.text("--component", "NAME",
             "Network of an image model to write: a component of its model_index.json, or all, with the names of a single file",
             request.component, "the denoiser, or the only network of a file");
  add_variant(flags, request.variant);
  flags.integer("-t,--threads", "Number of threads; 0: one per CPU", request.threads, {.low = 0, .high = 1024});
  add_json(flags, "output, architecture, tensors, parameters, bytes, types, notes", json);
  flags.example("hearth quantize -m stable-diffusion-xl -o unet.gguf --type q8_0 --rule '*.attn2.*=f16'",
                "Quantize a UNet, with its cross-attention in f16");
  flags.example("hearth quantize -m my-language-model -o model-q4_k.gguf --type q4_k", "Quantize a folder to 4 bits");
  if (!flags.parse(arguments)) return;
  if (model.empty()) fail<UsageError>("quantize: --model is missing, expected --model PATH");
  if (output.empty()) fail<UsageError>("quantize: --output is missing, expected --output FILE");
  request.model = model;
  request.output = output;
  request.imatrix = imatrix;
  ProgressLine line;
  request.progress = [&line](const Progress& p) { line.update(p); };
  request.cancel = &canceled;
  const QuantizeReport report = hearth::quantize(request);
  report_written(line, report, output, {{"architecture", report.architecture.empty() ? "no architecture" : report.architecture}}, json);
}

}  // namespace

const Command quantize = {"quantize", "Quantize a model into a GGUF file", run_quantize, "Models"};

}  // namespace hearth::cli
