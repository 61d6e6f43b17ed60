#include <fmt/format.h>

#include <charconv>
#include <csignal>
#include <filesystem>

#include "cli/command.h"
#include "cli/language_flags.h"
#include "cli/log.h"
#include "cli/open_flags.h"
#include "core/error.h"
#include "core/files/file.h"
#include "hearth/settings.h"
#include "server/server.h"

namespace hearth::cli {
namespace {

constexpr const char* notes =
    "Serves language and image models over HTTP: the APIs of OpenAI (chat, completions, responses, embeddings, images), Anthropic "
    "(messages) and A1111 (/sdapi/v1), and a web page at /. docs/server.md lists the routes.\n"
    "Prints \"listening on http://HOST:PORT\" when requests are answered. SIGTERM or Ctrl-C ends it: running requests are answered, no new "
    "ones are taken. Exit status: 0 ended so, 1 failed, 2 wrong usage.";

// "ALIAS=PATH", or a path, also one that contains "=".
std::pair<std::string, std::filesystem::path> named_model(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || text.find('/') < equals) return {"", text};
  if (equals + 1 == text.size()) fail<UsageError>("'{}' has no path behind '='", text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::map<std::string, std::filesystem::path> named_files(std::string_view flag, const std::vector<std::string>& given) {
  std::map<std::string, std::filesystem::path> all;
  for (const std::string& text : given) {
    const auto [name, path] = named_model(text);
    if (name.empty()) fail<UsageError>("{}: '{}' has no name, expected NAME=PATH", flag, text);
    if (!all.emplace(name, path).second) fail<UsageError>("{}: '{}' is given twice, expected once", flag, name);
  }
  return all;
}

struct ServeFlags {
  std::vector<std::string> models, controls, image_prompts, loras, api_keys, cors;
  std::string key_file, certificate, key;
  server::ServeOptions options;
  LanguageFlags open;
  OpenFlags image;
  int64_t context = 0;
  std::string draft = "off";

  void add_to(Flags& flags) {
    http::ServerOptions& http = options.http;
    http.port = 8080;
    flags.group("Models");
    flags.list("-m,--model", "[ALIAS=]PATH", "A checkpoint; its alias, or its name, is the model id of requests", models, "the demo models")
        .in_basic_help();
    flags
        .add("--memory-limit", "SIZE", "Memory of all models; the one not used for longest makes room for another (K, M, G)", "none",
             [this](const std::string& t) { options.models.memory_limit = parse_size(t); })
        .in_basic_help();
    engine::EngineOptions& engine = options.models.language.engine;
    flags.group("Text");
    flags.integer("--context", "Tokens of a text, prompt and completion", context, {.low = 0}).also("--ctx-size,-c").in_basic_help();
    flags.integer("--parallel", "Texts that are computed at once", engine.parallel, {.low = 1, .high = 4096}).also("-np").in_basic_help();
    flags
        .add("--kv-cache-memory", "SIZE", "Memory for keys, values and recurrent states of each language model",
             "eight texts of the whole context, at most a quarter of the free memory",
             [&engine](const std::string& t) { engine.cache_bytes = parse_size(t); })
        .in_basic_help();
    flags.add("--swap-memory", "SIZE", "Memory for texts that make room for others; without room there they are computed again", "0",
              [&engine](const std::string& t) { engine.swap_bytes = parse_size(t); });
    flags.integer("--max-queue", "Requests that wait; further ones get status 429", engine.max_queue, {.low = 1});
    flags.integer("--pass-tokens", "Tokens of a pass through the model", engine.pass_tokens, {.low = 1, .high = 512});
    flags.toggle("--no-prefix-cache", "Compute every prompt from its beginning", [&engine] { engine.prefix_cache = false; });
    flags.text("--draft", "MODEL|ngram", "Speculation: guess tokens with a smaller model of the same vocabulary, or from the text itself",
               draft);
    flags.integer("--draft-tokens", "Tokens of a guess", engine.draft_tokens, {.low = 1, .high = 64});
    open.add_device(flags);
    flags.group("Adapters");
    flags.list("--control", "NAME=PATH", "A control network that requests to image models may name (ControlNet, T2I-Adapter)", controls,
               "none");
    flags.list("--ip-adapter", "NAME=PATH",
               "An adapter that requests to image models may name, for images as prompts; with --image-encoder", image_prompts, "none");
    image.add_added_components(flags);
    flags.list("--lora", "NAME=FILE[:SCALE]",
               "An adapter of a language model, of PEFT or GGUF; requests name it as their model, which it shares its weights with", loras,
               "none");
    flags.add("--lora-dir", "DIR", "Files that prompts of image models may name in A1111's syntax: <lora:NAME:0.8>", "none",
              [this](const std::string& t) {
                if (!std::filesystem::is_directory(t)) fail<UsageError>("'{}' is not a folder", t);
                options.models.adapters.lora_folder = t;
              });
    flags.group("Network");
    flags.text("--host", "ADDRESS", "Where to listen: an address, or unix:PATH", http.host).in_basic_help();
    flags.integer("--port", "Port; 0: any free one", http.port, {.low = 0, .high = 65535}).in_basic_help();
    flags.list("--api-key", "KEY", "A key that requests must have", api_keys, "none").in_basic_help();
    flags.text("--api-key-file", "FILE", "Keys, one in a line", key_file, "none");
    flags.toggle("--allow-without-key", "Listen beyond this computer without a key", http.allow_without_key);
    flags.text("--tls-certificate", "FILE", "PEM file with the certificate and its chain", http.tls_certificate, "none")
        .also("--ssl-cert-file");
    flags.text("--tls-key", "FILE", "PEM file with its key", http.tls_key, "none").also("--ssl-key-file");
    flags.list("--cors-origin", "ORIGIN", "A web page that may use the server, as https://chat.example", http.cors_origins, "none");
    flags.list("--host-name", "NAME", "A name that requests without keys may ask for, besides localhost", http.host_names, "none");
    flags.integer("--max-connections", "Connections at once", http.limits.connections, {.low = 1, .high = 100000});
    flags.add("--max-body", "SIZE", "Size of a request", "16M",
              [&http](const std::string& t) { http.limits.body_bytes = size_t(parse_size(t)); });
    flags.integer("--drain-seconds", "Time for running requests after SIGTERM", options.drain_seconds, {.low = 0});
    flags.add("--ping-seconds", "N", "Streams that say nothing for so long get a comment or a ping", "10",
              [this](const std::string& t) { options.ping = std::chrono::seconds(parse_integer(t, 1, 3600)); });
    flags.add("--response-memory", "SIZE", "Memory for responses that clients may ask for again (/v1/responses)", "64M",
              [this](const std::string& t) { options.response_bytes = size_t(parse_size(t)); });
    flags.toggle("--log-requests", "One line on stderr for each request, without its contents", options.log_requests);
    flags.example("hearth serve", "Serve the demo models on http://127.0.0.1:8080");
    flags.example("hearth serve -m chat=my-language-model --context 8192 --parallel 16", "Serve a language model under the id 'chat'");
  }

  server::ServeOptions resolved() {
    for (const std::string& text : models) options.models.models.push_back(named_model(text));
    options.models.adapters.controls = named_files("--control", controls);
    options.models.adapters.image_prompts = named_files("--ip-adapter", image_prompts);
    for (const std::string& text : loras) {
      const auto [name, file] = named_model(text);
      if (name.empty()) fail<UsageError>("--lora: '{}' has no name, expected NAME=FILE", text);
      options.models.loras.emplace_back(name, parse_lora(file.string()));
    }
    options.models.language.open = open.options();
    options.models.language.open.cancel = nullptr;
    options.models.language.engine.context = context;
    if (draft != "off") options.models.language.draft = draft;
    for (const auto& [name, path] : image.components()) options.models.image.components[name].path = path;
    options.models.image.device = options.models.language.open.device;
    options.models.image.threads = open.threads;
    options.models.image.precision = precision_of(open.precision);
    options.models.image.pin_threads = open.pin;
    options.models.image.gpu_layers = open.gpu_layers;
    options.models.image.gpu_memory = open.gpu_memory;
    options.http.api_keys = api_keys;
    if (!key_file.empty()) {
      const std::string text = read_file(key_file);
      for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        std::string line = text.substr(begin, end - begin);
        if (!line.empty() && line.back() == '\r') line.pop_back();
        if (!line.empty() && line[0] != '#') options.http.api_keys.push_back(line);
        begin = end + 1;
      }
      if (options.http.api_keys.empty()) fail<UsageError>("--api-key-file {}: has no keys, expected one in a line", key_file);
    }
    return options;
  }
};

void run_serve(std::span<const std::string> arguments) {
  ServeFlags f;
  Flags flags("serve", "Serve models over HTTP.", notes);
  f.add_to(flags);
  if (!flags.parse(arguments)) return;
  server::ServeOptions options = f.resolved();
  options.log = [](const std::string& line) { log_info(line); };
  options.listening = [](const std::string& address) {
    fmt::print("listening on {}\n", address);
    std::fflush(stdout);
  };
  std::signal(SIGPIPE, SIG_IGN);  // a log whose reader has gone ends no requests
  server::serve(options, canceled);
}

}  // namespace

const Command serve = {"serve", "Serve models over HTTP, with the APIs of OpenAI, Anthropic and A1111", run_serve, "Server"};

}  // namespace hearth::cli
