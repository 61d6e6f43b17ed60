#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/log.h"
#include "cli/open_flags.h"
#include "cli/progress_line.h"
#include "core/error.h"
#include "hearth/hub.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

void print_json(const PullResult& pulled) {
  Json files = Json::array();
  for (const PulledFile& file : pulled.files)
    files.push_back({{"path", file.path}, {"bytes", file.bytes}, {"sha256", file.sha256}, {"present", file.present}});
  const Json object = {{"model", pulled.model}, {"commit", pulled.commit},         {"path", pulled.path.string()},
                       {"bytes", pulled.bytes}, {"downloaded", pulled.downloaded}, {"files", files}};
  fmt::print("{}\n", object.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string counted(const PullResult& pulled) {
  return fmt::format("{} file{}, {}", pulled.files.size(), pulled.files.size() == 1 ? "" : "s", format_bytes(pulled.bytes));
}

void print_files(const PullResult& pulled) {
  for (const PulledFile& file : pulled.files)
    fmt::print("{:>8}  {}{}\n", format_bytes(file.bytes), one_line(file.path), file.present ? " (present)" : "");
  fmt::print("{}: {}; {} to download\n", pulled.model, counted(pulled), format_bytes(pulled.downloaded));
}

void run_pull(std::span<const std::string> arguments) {
  PullRequest request;
  std::string token_file, cache_dir, endpoint;
  bool json = false;
  Flags flags("pull", "Download a model from the Hugging Face Hub; -m ORG/NAME then opens it.",
              "Downloads the files that hearth reads: one set of weights (safetensors if there are any), configurations and tokenizers. A "
              "repository with several GGUF or single-file models needs a FILE: its path, or a quantization such as q4_k_m. An "
              "interrupted download resumes; checksums are verified before files appear. Models are kept in $HEARTH_HOME/models, by "
              "default ~/.cache/hearth/models.");
  flags.text("model", "ORG/NAME[:FILE]", "The model, or one file of its repository", request.model, "required");
  flags.group("Model");
  flags.text("--revision", "NAME", "Branch, tag or commit; -m ORG/NAME@REVISION opens it", request.revision, "main");
  flags.text("--variant", "NAME", "Download the weights of this variant: fp16 for *.fp16.safetensors", request.variant, "full precision");
  flags.list("--include", "PATTERN", "Download exactly the files that match, such as '*.json' or 'unet/*'", request.include,
             "what hearth reads");
  flags.list("--exclude", "PATTERN", "Leave out the files that match", request.exclude, "none");
  flags.toggle("--all", "Download every file of the repository", request.all);
  flags.toggle("--dry-run", "List the files with their sizes and download nothing", request.dry_run);
  flags.group("Options");
  flags.text("--endpoint", "URL", "Another hub with the same interface", endpoint, "$HF_ENDPOINT, else https://huggingface.co");
  flags.text("--token-file", "FILE", "File with the access token for private and gated models", token_file,
             "$HF_TOKEN, $HF_TOKEN_PATH, ~/.cache/huggingface/token");
  flags.text("--cache-dir", "DIR", "Where models are kept; other commands find them with HEARTH_HOME=DIR", cache_dir,
             "$HEARTH_HOME, else ~/.cache/hearth");
  flags.integer("--connections", "Number of simultaneous connections", request.connections, {.low = 1, .high = 64});
  add_json(flags, "model, commit, path, bytes, downloaded, files", json);
  flags.example("hearth pull stable-diffusion-v1-5/stable-diffusion-v1-5 --variant fp16", "Download a diffusion model in 16 bits");
  flags.example("hearth pull ORG/NAME:q4_k_m", "Download one quantization of a language model");
  if (!flags.parse(arguments)) return;
  if (request.model.empty()) fail<UsageError>("pull: a model is missing, expected hearth pull ORG/NAME");
  if (flags.given("--token-file") && token_file.empty()) fail<UsageError>("pull: --token-file is empty, expected a file");
  request.endpoint = endpoint, request.token_file = token_file, request.cache_dir = cache_dir;

  ProgressLine line;
  request.progress = [&line](const Progress& p) { line.update(p); };
  request.warn = [](const std::string& warning) { log_warning(warning); };
  request.cancel = &canceled;
  const PullResult pulled = hearth::pull(request);
  line.finish();
  if (json) return print_json(pulled);
  if (request.dry_run) return print_files(pulled);
  fmt::print("{}: {}, {} downloaded, in {}\n", pulled.model, counted(pulled), format_bytes(pulled.downloaded), pulled.path.string());
}

}  // namespace

const Command pull = {"pull", "Download a model from the Hugging Face Hub", run_pull, "Models"};

}  // namespace hearth::cli
