// `hearth bench serve`: clients that stream completions of random prompts, over HTTP.
#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "api/run_scope.h"
#include "backends/backends.h"
#include "bench/bench.h"
#include "bench/generated.h"
#include "bench/generated_language.h"
#include "core/error.h"
#include "core/memory.h"
#include "server/server.h"

namespace hearth::api {
namespace {

namespace fs = std::filesystem;

// One completion as its client sees it.
struct Seen {
  Clock::time_point begin;
  std::vector<double> tokens;  // seconds until each event with a token
  std::string rest;            // of the stream, not yet a whole line
  std::string error;

  void take(std::string_view bytes) {
    rest += bytes;
    for (size_t end; (end = rest.find('\n')) != rest.npos; rest.erase(0, end + 1)) {
      const std::string_view line = std::string_view(rest).substr(0, end);
      if (line.starts_with("{\"error\"") || line.starts_with("data: {\"error\"")) error = line;
      if (!line.starts_with("data: {")) continue;
      const auto event = nlohmann::json::parse(line.substr(6), nullptr, false);
      const bool has_choice = event.is_object() && event.contains("choices") && !event["choices"].empty();
      if (has_choice && event["choices"][0].value("finish_reason", nlohmann::json()).is_null()) tokens.push_back(seconds_since(begin));
    }
  }
};

size_t on_bytes(char* data, size_t size, size_t count, void* to) {
  static_cast<Seen*>(to)->take({data, size * count});
  return size * count;
}

Seen complete(const std::string& url, const std::vector<int32_t>& prompt, int64_t answer) {
  Seen seen{.begin = Clock::now()};
  CURL* const handle = curl_easy_init();
  const nlohmann::json body{{"prompt", prompt},   {"max_tokens", answer}, {"temperature", 0},
                            {"ignore_eos", true}, {"stream", true},       {"return_token_ids", true}};
  const std::string text = body.dump(), target = url + "/v1/completions";
  curl_slist* const headers = curl_slist_append(nullptr, "Content-Type: application/json");
  curl_easy_setopt(handle, CURLOPT_URL, target.c_str());
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(handle, CURLOPT_POSTFIELDS, text.c_str());
  curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, long(text.size()));
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_bytes);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &seen);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
  if (const CURLcode code = curl_easy_perform(handle); code != CURLE_OK) seen.error = curl_easy_strerror(code);
  curl_slist_free_all(headers);
  curl_easy_cleanup(handle);
  if (!seen.error.empty() || seen.tokens.empty())
    fail<IoError>("bench: {} answered {}", target, seen.error.empty() ? "no tokens: " + seen.rest.substr(0, 200) : seen.error);
  return seen;
}

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[std::min(values.size() - 1, size_t(q * double(values.size())))];
}

// An own server, which ends with this object.
class OwnServer {
 public:
  OwnServer(const fs::path& model, const BenchOptions& options) {
    server::ServeOptions how;
    how.models.models = {{"bench", model}};
    how.models.language.open = {.device = options.device, .threads = options.threads, .precision = options.precision};
    how.models.language.engine.context = options.prompt_tokens + options.answer_tokens;
    how.models.language.engine.parallel = std::ranges::max(options.clients);
    how.models.language.engine.max_queue = 4096;
    how.models.language.engine.cache_bytes = system_available_bytes() / 3;
    std::promise<std::string> address;
    auto ready = address.get_future();
    how.log = [](const std::string&) {};
    how.listening = [&address](const std::string& a) { address.set_value(a); };
    thread_ = std::thread([this, how, &address] {
      try {
        server::serve(how, stop_);
      } catch (...) { address.set_exception(std::current_exception()); }
    });
    try {
      url = ready.get();
    } catch (...) {
      thread_.join();
      throw;
    }
  }
  ~OwnServer() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::string url;

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace

Bench bench_serve(const BenchOptions& options) {
  const auto device = make_backend({.name = options.device, .features = options.path, .threads = options.threads});
  const Ceilings ceilings = measure_ceilings(*device);
  std::optional<GeneratedLanguageFile> generated;
  const std::string weights = options.weights.empty() ? "f16" : options.weights;
  std::optional<OwnServer> own;
  int64_t bytes = 0;
  if (options.url.empty()) {
    const auto geometry = published_language(options.model);
    if (geometry) generated.emplace(*geometry, weight_type_named(weights), options.keep, options.progress);
    const fs::path path = generated ? generated->path() : fs::path(options.model);
    if (!fs::is_directory(path)) bytes = int64_t(fs::file_size(path));
    own.emplace(path, options);
  }
  const std::string url = own ? own->url : options.url;

  nlohmann::json json;
  json["machine"] = machine_json(*device, ceilings);
  json["model"] = {{"name", options.model},
                   {"weights", generated ? weights : "as stored"},
                   {"prompt_tokens", options.prompt_tokens},
                   {"answer_tokens", options.answer_tokens}};
  json["loads"] = nlohmann::json::array();
  std::string lines = machine_text(*device, ceilings);
  lines += "clients  generated    prompts  first token p50, p99      between tokens p50, p99\n";
  std::mt19937 random(1);
  const auto prompt = [&](int64_t count) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < count; ++i) ids.push_back(int32_t(random() % 200 + 10));  // ids that every vocabulary has
    return ids;
  };
  complete(url, prompt(std::min<int64_t>(16, options.prompt_tokens)), std::min<int64_t>(4, options.answer_tokens));  // warms up
  for (const int64_t clients : options.clients) {
    std::vector<std::vector<std::vector<int32_t>>> prompts(static_cast<size_t>(clients));
    for (auto& of_client : prompts)
      for (int r = 0; r < options.repeats; ++r) of_client.push_back(prompt(options.prompt_tokens));
    const auto begin = Clock::now();
    std::vector<std::future<std::vector<Seen>>> running;
    for (const auto& of_client : prompts)
      running.push_back(std::async(std::launch::async, [&] {
        std::vector<Seen> all;
        for (const auto& p : of_client) all.push_back(complete(url, p, options.answer_tokens));
        return all;
      }));
    std::vector<double> first, between;
    for (auto& answers : running)
      for (const Seen& seen : answers.get()) {
        first.push_back(seen.tokens[0]);
        for (size_t i = 1; i < seen.tokens.size(); ++i) between.push_back(seen.tokens[i] - seen.tokens[i - 1]);
      }
    const double seconds = seconds_since(begin);
    const double made = double(clients * options.repeats * options.answer_tokens) / seconds;
    const double fed = double(clients * options.repeats * options.prompt_tokens) / seconds;
    const double alone = quantile(between, 0.5) > 0 ? double(bytes) * 1e-9 / quantile(between, 0.5) / ceilings.read_gbs : 0;
    json["loads"].push_back({{"clients", clients},
                             {"generated_tokens_per_second", made},
                             {"prompt_tokens_per_second", fed},
                             {"first_token_seconds", {{"p50", quantile(first, 0.5)}, {"p99", quantile(first, 0.99)}}},
                             {"between_tokens_seconds", {{"p50", quantile(between, 0.5)}, {"p99", quantile(between, 0.99)}}},
                             {"decode_fraction", alone}});
    lines += fmt::format("{:7}  {:7.1f}/s  {:7.1f}/s  {:8.3f} s {:8.3f} s      {:8.4f} s {:8.4f} s\n", clients, made, fed,
                         quantile(first, 0.5), quantile(first, 0.99), quantile(between, 0.5), quantile(between, 0.99));
    if (clients == 1 && alone > 0) lines += fmt::format("         decode at {:.1f} % of the read ceiling\n", 100 * alone);
  }
  own.reset();
  json["peak_memory_bytes"] = process_peak_bytes();
  return {.text = lines, .json = json.dump()};
}

}  // namespace hearth::api
