#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/language_flags.h"
#include "cli/log.h"
#include "cli/open_flags.h"
#include "cli/progress_line.h"
#include "core/error.h"

namespace hearth::cli {
namespace {

void run_calibrate(std::span<const std::string> arguments) {
  LanguageFlags open;
  ImatrixRequest request;
  std::string what, file, output;
  std::vector<std::string> merge;
  bool json = false;
  Flags flags("calibrate", "Measure a language model on a text, for hearth quantize --imatrix.",
              "imatrix writes an importance matrix in llama.cpp's format: for every column of every matrix the sum of squares of the "
              "activations that it multiplies, per expert where there are experts. The text is read byte for byte and split into chunks; a "
              "shorter rest is left out. The file is also written while the run goes on, every ten chunks: --first-chunk and --in-file "
              "continue a run that ended early. Without a text, the files given with --in-file are added up.");
  flags.choice("what", "WHAT", "What to measure", what, {.names = {"imatrix"}}, "required");
  open.add_model(flags);
  flags.group("Text");
  flags.text("-f,--file", "FILE", "Text file", file, "none: only merge");
  flags.integer("-c,--ctx-size", "Tokens per chunk", request.context, {.low = 2}).also("--context,--context-length");
  flags.integer("--chunks", "Most chunks to process", request.chunks, "all");
  flags.integer("--first-chunk", "Chunks to leave out at the start", request.first_chunk, {.low = 0}).also("--from-chunk,--chunk");
  flags.group("Output");
  flags.text("-o,--output", "FILE", "File to write", output, "required").also("--output-file");
  flags.choice("--output-format", "FORMAT", "Format of the file: gguf, or dat, which older programs read", request.format,
               {.names = {"gguf", "dat"}});
  flags.list("--in-file", "FILE", "Importance matrix of the same model, of either format, whose sums are added", merge, "none");
  flags.toggle("--process-output", "Also measure the matrix that computes the logits", request.output_matrix);
  open.add_device(flags);
  add_json(flags, "output, entries, chunks, tokens, seconds, notes", json);
  flags.example("hearth calibrate imatrix -m my-language-model -f calibration.txt -o imatrix.gguf", "Measure the importance of columns");
  if (!flags.parse(arguments)) return;
  if (what.empty()) fail<UsageError>("calibrate: what to measure is missing, expected imatrix");
  if (output.empty()) fail<UsageError>("calibrate: --output is missing, expected --output FILE");
  if (file.empty() && merge.empty()) fail<UsageError>("calibrate: --file is missing, expected a text, or files to merge with --in-file");

  request.output = output;
  request.merge.assign(merge.begin(), merge.end());
  request.cancel = &canceled;
  ProgressLine line;
  ImatrixReport report;
  if (file.empty()) {
    report = merge_imatrices(request);
  } else {
    request.text = read_text(file);
    request.dataset = std::filesystem::path(file).filename().string();
    const OnProgress progress = [&line](const Progress& p) { line.update(p); };
    LanguageModel model = open.open(progress);
    request.progress = progress;
    report = model.write_imatrix(request);
  }
  line.finish();
  for (const std::string& note : report.notes) log_info("note: " + note);
  if (json)
    fmt::print("{}\n", nlohmann::ordered_json{{"output", output},
                                              {"entries", report.entries},
                                              {"chunks", report.chunks},
                                              {"tokens", report.tokens},
                                              {"seconds", report.seconds},
                                              {"notes", report.notes}}
                           .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  else fmt::print("{}: {} matrices, {} chunks\n", output, report.entries, report.chunks);
}

}  // namespace

const Command calibrate = {"calibrate", "Measure a language model for its quantization", run_calibrate, "Models"};

}  // namespace hearth::cli
