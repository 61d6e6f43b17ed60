#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/input.h"
#include "cli/open_flags.h"
#include "cli/say.h"
#include "core/error.h"
#include "hearth/prompt.h"
#include "hearth/tokenizer.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* model_help = "A model: a folder, a single file, DDUF or GGUF; or its tokenizer.json or tokenizer.model";
constexpr const char* config_help = "Of a single file: a diffusers folder whose configurations are to hold";
constexpr const char* config_default = "built-in ones of the published model with its geometry";

void print_json(const Json& json) { fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace)); }

void print_prompt(const ReadPrompt& prompt) {
  for (size_t c = 0; c < prompt.conditions.size(); ++c) {
    const PromptCondition& condition = prompt.conditions[c];
    if (prompt.conditions.size() > 1 || condition.weight != 1) fmt::print("prompt {}, weight {}\n", c + 1, condition.weight);
    for (const PromptText& text : condition.texts) {
      if (condition.texts.size() > 1) fmt::print("up to step {}: {}\n", text.end, one_line(text.text));
      for (size_t k = 0; k < text.chunks.size(); ++k) {
        fmt::print("chunk {}: {} tokens\n", k + 1, text.chunks[k].size());
        for (const PromptToken& token : text.chunks[k]) {
          const std::string part = token.vectors > 0 ? fmt::format(" {} of {}", token.vector, token.vectors) : "";
          fmt::print("{:>7}  {:<7.4g}  {}{}\n", token.vectors > 0 ? "vector" : std::to_string(token.id), token.weight,
                     one_line(token.piece), part);
        }
      }
    }
  }
}

Json json_of(const ReadPrompt& prompt) {
  Json conditions = Json::array();
  for (const PromptCondition& condition : prompt.conditions) {
    Json texts = Json::array();
    for (const PromptText& text : condition.texts) {
      Json chunks = Json::array();
      for (const auto& chunk : text.chunks) {
        Json tokens = Json::array();
        for (const PromptToken& token : chunk) {
          tokens.push_back({{"id", token.id}, {"piece", token.piece}, {"weight", token.weight}});
          if (token.vectors > 0) tokens.back()["vector"] = token.vector, tokens.back()["vectors"] = token.vectors;
        }
        chunks.push_back(std::move(tokens));
      }
      texts.push_back({{"end", text.end}, {"text", text.text}, {"chunks", std::move(chunks)}});
    }
    conditions.push_back({{"weight", condition.weight}, {"texts", std::move(texts)}});
  }
  return {{"encoder", prompt.encoder}, {"conditions", std::move(conditions)}, {"warnings", prompt.warnings}};
}

void print_prompts(const std::vector<ReadPrompt>& prompts, bool json) {
  Json encoders = Json::array();
  for (const ReadPrompt& prompt : prompts) {
    for (const std::string& warning : prompt.warnings) say("warning: " + warning);
    if (json) {
      encoders.push_back(json_of(prompt));
    } else {
      if (prompts.size() > 1) fmt::print("{}\n", prompt.encoder);
      print_prompt(prompt);
    }
  }
  if (json) print_json({{"encoders", std::move(encoders)}});
}

void run_tokenize(std::span<const std::string> arguments) {
  std::string model, file;
  std::optional<std::string> prompt;
  bool no_special = false, json = false;
  PromptReading reading;
  Flags flags("tokenize", "Prints the tokens of a text: of --prompt, of a file, or of standard input.",
              "Bytes are taken as they are: byte order mark, CR and final newline count. Without --json: a line for each token, its id and "
              "its spelling in the vocabulary.");
  flags.text("-m,--model", "PATH", model_help, model);
  flags.add("-p,--prompt", "TEXT", "The text", "standard input", [&prompt](const std::string& t) { prompt = t; });
  flags.text("--file", "FILE", "A file that holds the text", file);
  flags.choice("--prompt-syntax",
               "Read it as a prompt of generate, by each of its text encoders: chunks, and each token's id, weight and text",
               reading.syntax, "not read as a prompt");
  flags.choice("--emphasis", "With --prompt-syntax a1111: as for generate", reading.emphasis, "original");
  flags.integer("--steps", "With --prompt-syntax: of the run in which [from:to:when] changes", reading.steps);
  add_embeddings(flags, reading.embeddings);
  flags.add("--config", "DIR", config_help, config_default, [&reading](const std::string& t) { reading.config = t; });
  flags.toggle("--no-special", "Without what the model wants around a text (BOS, EOS …)", no_special);
  flags.toggle("--json", "Print one JSON object on stdout: {\"ids\": […], \"pieces\": […]}; of prompts {\"encoders\": […]}", json);
  if (!flags.parse(arguments)) return;
  if (model.empty()) fail<UsageError>("tokenize: --model is missing");
  if (prompt && !file.empty()) fail<UsageError>("tokenize: --prompt and --file exclude each other");
  const std::string text = prompt ? *prompt : !file.empty() ? read_text(file) : read_input();
  if (!reading.syntax && reading.emphasis) fail<UsageError>("tokenize: --emphasis acts with --prompt-syntax a1111 only");
  if (!reading.syntax && !reading.embeddings.empty()) fail<UsageError>("tokenize: --embedding acts with --prompt-syntax only");
  if (reading.syntax) return print_prompts(read_prompt(model, text, reading), json);
  const Tokens tokens = hearth::tokenize(model, text, !no_special, reading.config);
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
  std::string model, config;
  std::optional<std::vector<int32_t>> ids;
  bool json = false;
  Flags flags("detokenize", "Prints the text of token ids, special tokens too.",
              "An id that is no token adds nothing. Without --json the text is printed as it is, without a newline behind it.");
  flags.text("-m,--model", "PATH", model_help, model);
  flags.add("--ids", "N,N,…", "The token ids", "", [&ids](const std::string& t) { ids = parse_ids(t); });
  flags.text("--config", "DIR", config_help, config, config_default);
  flags.toggle("--json", "Print one JSON object on stdout: {\"text\": …}", json);
  if (!flags.parse(arguments)) return;
  if (model.empty()) fail<UsageError>("detokenize: --model is missing");
  if (!ids) fail<UsageError>("detokenize: --ids is missing");
  const std::string text = hearth::detokenize(model, *ids, config);
  if (json) return print_json({{"text", text}});
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

const Command tokenize = {"tokenize", "print the tokens of a text", run_tokenize};
const Command detokenize = {"detokenize", "print the text of tokens", run_detokenize};

}  // namespace hearth::cli
