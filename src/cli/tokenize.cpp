#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/input.h"
#include "cli/log.h"
#include "cli/open_flags.h"
#include "cli/setting_flags.h"
#include "core/error.h"
#include "hearth/prompt.h"
#include "hearth/tokenizer.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

Flag& add_model(Flags& flags, std::string& model) {
  flags.group("Model");
  return flags
      .text("-m,--model", "PATH", "Model: a folder, a single file, a DDUF or GGUF file, or just a tokenizer.json or tokenizer.model", model,
            "required")
      .in_basic_help();
}

void add_config(Flags& flags, const std::function<void(const std::string&)>& set) {
  flags.add("--config", "DIR", "Read the configurations of a single file from this diffusers folder",
            "the built-in ones of the published model with the same architecture", set);
}

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
    for (const std::string& warning : prompt.warnings) log_warning(warning);
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
  bool no_special_tokens = false, json = false;
  PromptReading reading;
  Request request;
  Flags flags(
      "tokenize", "Print the token ids of a text, or how a prompt is parsed for the text encoders of an image model.",
      "The text is read byte for byte: a byte order mark, CR and the final newline count. Without --json each line has a token's id and "
      "its text in the vocabulary.");
  add_model(flags, model);
  add_config(flags, [&reading](const std::string& t) { reading.config = t; });
  flags.group("Prompt");
  flags.text("-p,--prompt", "TEXT", "Text to tokenize", prompt, "standard input").in_basic_help();
  flags.text("-f,--file", "FILE", "Read the text from this file", file, "standard input").in_basic_help();
  flags.toggle("--no-special-tokens", "Do not add special tokens, such as BOS and EOS", no_special_tokens)
      .also("--no-special")
      .in_basic_help();
  add_setting(
      flags, request, "prompt_syntax",
      {.help = "Read the text as a prompt of hearth generate: print the chunks of each text encoder, with each token's id, weight and "
               "text",
       .default_text = "plain tokenization"});
  add_setting(flags, request, "emphasis", {.help = "With --prompt-syntax a1111: how weights act, as in hearth generate"});
  flags.integer("--steps", "With --prompt-syntax: steps of the run, for [from:to:when]", reading.steps);
  flags.group("Adapters");
  add_setting(flags, request, "embeddings");
  add_json(flags, "ids and pieces, or with --prompt-syntax the encoders", json).in_basic_help();
  flags.example("hearth tokenize -m my-language-model -p \"a red house\"", "The tokens of a text");
  flags.example("hearth tokenize -m stable-diffusion-v1-5 -p \"a (red:1.3) house\" --prompt-syntax a1111",
                "Weights and chunks of a prompt");
  if (!flags.parse(arguments)) return;
  reading.syntax = request.prompt_syntax, reading.emphasis = request.emphasis, reading.embeddings = request.embeddings;
  if (model.empty()) fail<UsageError>("tokenize: --model is missing, expected --model PATH");
  if (prompt && !file.empty()) fail<UsageError>("tokenize: --prompt and --file exclude each other, expected one of them");
  const std::string text = prompt ? *prompt : !file.empty() ? read_text(file) : read_input();
  if (!reading.syntax && reading.emphasis) fail<UsageError>("tokenize: --emphasis has no effect without --prompt-syntax a1111");
  if (!reading.syntax && !reading.embeddings.empty()) fail<UsageError>("tokenize: --embedding has no effect without --prompt-syntax");
  if (reading.syntax) return print_prompts(read_prompt(model, text, reading), json);
  const Tokens tokens = hearth::tokenize(model, text, !no_special_tokens, reading.config);
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
  Flags flags("detokenize", "Print the text of token ids, including special tokens.",
              "Ids that are not in the vocabulary are skipped. Without --json the text is printed as is, without a final newline.");
  add_model(flags, model);
  add_config(flags, [&config](const std::string& t) { config = t; });
  flags.group("Options");
  flags.add("--ids", "ID[,ID]", "Token ids", "required", [&ids](const std::string& t) { ids = parse_ids(t); }).in_basic_help();
  add_json(flags, "text", json).in_basic_help();
  flags.example("hearth detokenize -m my-language-model --ids 64,2518,3753", "The text of three tokens");
  if (!flags.parse(arguments)) return;
  if (model.empty()) fail<UsageError>("detokenize: --model is missing, expected --model PATH");
  if (!ids) fail<UsageError>("detokenize: --ids is missing, expected --ids ID,ID,…");
  const std::string text = hearth::detokenize(model, *ids, config);
  if (json) return print_json({{"text", text}});
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

const Command tokenize = {"tokenize", "Print the token ids of a text", run_tokenize, "Text"};
const Command detokenize = {"detokenize", "Print the text of token ids", run_detokenize, "Text"};

}  // namespace hearth::cli
