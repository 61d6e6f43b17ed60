#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command.h"
#include "cli/flags.h"
#include "core/error.h"
#include "core/file.h"
#include "hearth/tokenizer.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* model_help = "A model's folder, its tokenizer.json or tokenizer.model, or a GGUF file";

void print_json(const Json& json) { fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace)); }

std::string read_stdin() {
  std::string text;
  char buffer[1 << 16];
  for (size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) text.append(buffer, n);
  if (std::ferror(stdin)) fail<IoError>("stdin: cannot be read");
  return text;
}

void run_tokenize(std::span<const std::string> arguments) {
  std::string model, file;
  std::optional<std::string> prompt;
  bool no_special = false, json = false;
  Flags flags("tokenize", "Prints the tokens of a text: of --prompt, of a file, or of standard input.",
              "Bytes are taken as they are: byte order mark, CR and final newline count. Without --json: a line for each token, its id and "
              "its spelling in the vocabulary.");
  flags.text("-m,--model", "PATH", model_help, model);
  flags.add("-p,--prompt", "TEXT", "The text", "standard input", [&prompt](const std::string& t) { prompt = t; });
  flags.text("--file", "FILE", "A file that holds the text", file);
  flags.toggle("--no-special", "Without what the model wants around a text (BOS, EOS …)", no_special);
  flags.toggle("--json", "Print one JSON object on stdout: {\"ids\": […], \"pieces\": […]}", json);
  if (!flags.parse(arguments)) return;
  if (model.empty()) fail<UsageError>("tokenize: --model is missing");
  if (prompt && !file.empty()) fail<UsageError>("tokenize: --prompt and --file exclude each other");
  const std::string text = prompt ? *prompt : !file.empty() ? read_file(file) : read_stdin();
  const Tokens tokens = hearth::tokenize(model, text, !no_special);
  if (json) return print_json({{"ids", tokens.ids}, {"pieces", tokens.pieces}});
  for (size_t i = 0; i < tokens.ids.size(); ++i) fmt::print("{:>7}  {}\n", tokens.ids[i], one_line(tokens.pieces[i]));
}

std::vector<int32_t> parse_ids(const std::string& text) {
  std::vector<int32_t> ids;
  std::istringstream in(text);
  for (std::string id; std::getline(in, id, ',');) {
    const size_t begin = id.find_first_not_of(' ');
    id = begin == id.npos ? std::string() : id.substr(begin, id.find_last_not_of(' ') + 1 - begin);
    ids.push_back(int32_t(parse_integer(id, 0, std::numeric_limits<int32_t>::max())));
  }
  return ids;
}

void run_detokenize(std::span<const std::string> arguments) {
  std::string model;
  std::optional<std::vector<int32_t>> ids;
  bool json = false;
  Flags flags("detokenize", "Prints the text of token ids, special tokens too.",
              "An id that is no token adds nothing. Without --json the text is printed as it is, without a newline behind it.");
  flags.text("-m,--model", "PATH", model_help, model);
  flags.add("--ids", "N,N,…", "The token ids", "", [&ids](const std::string& t) { ids = parse_ids(t); });
  flags.toggle("--json", "Print one JSON object on stdout: {\"text\": …}", json);
  if (!flags.parse(arguments)) return;
  if (model.empty()) fail<UsageError>("detokenize: --model is missing");
  if (!ids) fail<UsageError>("detokenize: --ids is missing");
  const std::string text = hearth::detokenize(model, *ids);
  if (json) return print_json({{"text", text}});
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

const Command tokenize = {"tokenize", "print the tokens of a text", run_tokenize};
const Command detokenize = {"detokenize", "print the text of tokens", run_detokenize};

}  // namespace hearth::cli
