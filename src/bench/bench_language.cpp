// `hearth bench` of a language model: prefill, decode and time to first token, compared with the machine's ceilings.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/precision.h"
#include "api/run_scope.h"
#include "backends/backends.h"
#include "bench/bench.h"
#include "bench/generated.h"
#include "bench/generated_language.h"
#include "core/memory.h"
#include "core/threads.h"
#include "models/language_loading.h"
#include "models/language_registry.h"

namespace hearth::api {
namespace {

namespace fs = std::filesystem;

struct Loaded : models::LoadedLanguageModel {
  std::string_view family;
};

// Bytes of the weights that products read.
struct WeightBytes : Observer {
  void on_op(const OpEvent& event) override { bytes += event.weight_bytes; }
  int64_t bytes = 0;
};

Loaded load(const fs::path& path, const BenchOptions& options, Backend& device) {
  const LanguageCheckpoint checkpoint = models::open_language_checkpoint(path);
  const auto [name, family] = models::find_family(checkpoint);
  const models::LoadRequest request{.types = held_types(options.precision, device),
                                    .card_blocks = options.gpu_layers.value_or(models::all_blocks)};
  return {models::load_language_model(family, checkpoint, device, request), name};
}

constexpr int64_t prompt_tokens = 512, decode_tokens = 64;

}  // namespace

bool benches_language(const std::string& model) { return published_language(model) || LanguageCheckpoint::is_one(model); }

Bench bench_language(const BenchOptions& options) {
  const auto note = [&](int64_t done) {
    if (options.progress) options.progress({.phase = "measure", .done = done, .total = 4});
  };
  const std::optional<PublishedLanguage> geometry = published_language(options.model);
  const std::string weights = options.weights.empty() ? "f16" : options.weights;
  const DType type = weight_type_named(weights);
  if (!geometry && !options.weights.empty())
    fail<UsageError>("bench: --weight-type requires generated weights, but {} is a checkpoint", options.model);
  if (!geometry && !options.keep.empty())
    fail<UsageError>("bench: --save-weights requires generated weights, but {} is a checkpoint", options.model);
  std::optional<GeneratedLanguageFile> generated;
  if (geometry) generated.emplace(*geometry, type, options.keep, options.progress);
  const fs::path path = generated ? generated->path() : fs::path(options.model);
  const auto device = bench_device(options);
  note(0);
  const Ceilings ceilings = measure_ceilings(*device);

  // The first load fills the page cache; the second one is measured.
  std::vector<int32_t> prompt;
  { Loaded first = load(path, options, *device); }
  const auto start = Clock::now();
  Loaded loaded = load(path, options, *device);
  const double load_seconds = seconds_since(start);
  models::LanguageModel& model = *loaded.model;
  const int64_t V = model.sizes().vocabulary;
  for (int64_t i = 0; i < prompt_tokens; ++i) prompt.push_back(int32_t((i * 7919 + 13) % V));
  const auto ignore = [](int64_t, std::span<const float>) {};
  {
    const auto text = model.start(1, DType::f32);
    model.feed(*text, std::span(prompt).first(1), 0, ignore);
  }
  const double first_token_seconds = seconds_since(start);
  WeightBytes read;  // by a token: of experts, only the chosen
  {
    const ObserverScope scope(read);
    const auto text = model.start(1, DType::f32);
    model.feed(*text, std::span(prompt).first(1), 0, ignore);
  }
  note(1);

  Products products(ceilings);
  {
    const ObserverScope scope(products);
    const auto text = model.start(prompt_tokens, DType::f32);
    model.feed(*text, prompt, prompt_tokens - 1, ignore);
  }
  note(2);
  const BenchTime prompt_time = time_of(options.repeats, [&] {
    const auto text = model.start(prompt_tokens, DType::f32);
    model.feed(*text, prompt, prompt_tokens - 1, ignore);
  });
  note(3);
  const auto text = model.start(prompt_tokens + decode_tokens, DType::f32);
  constexpr int64_t begun = 8;
  model.feed(*text, std::span(prompt).first(begun), begun - 1, ignore);
  const BenchTime decode_time = time_of(options.repeats, [&] {
    text->shorten(begun);
    for (int64_t i = begun; i < begun + decode_tokens; ++i) model.feed(*text, std::span(prompt).subspan(size_t(i), 1), 0, ignore);
  });
  note(4);

  const double prompt_rate = double(prompt_tokens) / prompt_time.seconds;
  const double decode_rate = double(decode_tokens) / decode_time.seconds;
  const double gbs = double(read.bytes) * decode_rate * 1e-9;
  nlohmann::json json;
  json["machine"] = machine_json(*device, ceilings);
  json["model"] = {{"name", options.model},
                   {"family", loaded.family},
                   {"weights", geometry ? weights : "as stored"},
                   {"factors", loaded.report.factors},
                   {"bytes_per_token", read.bytes}};
  json["parts"]["load"] = {{"seconds", load_seconds}};
  json["parts"]["first_token"] = {{"seconds", first_token_seconds}};
  json["parts"]["prompt"] = {{"tokens", prompt_tokens},
                             {"seconds", prompt_time.seconds},
                             {"tokens_per_second", prompt_rate},
                             {"gflop", products.flop * 1e-9},
                             {"fraction", products.least / prompt_time.seconds}};
  json["parts"]["decode"] = {{"tokens", decode_tokens},
                             {"seconds", decode_time.seconds},
                             {"tokens_per_second", decode_rate},
                             {"effective_gbs", gbs},
                             {"fraction", gbs / ceilings.read_gbs}};
  json["peak_memory_bytes"] = process_peak_bytes();
  std::string lines = machine_text(*device, ceilings);
  lines += fmt::format("load         {:9.3f} s\nfirst token  {:9.3f} s, load included\n", load_seconds, first_token_seconds);
  lines += fmt::format("prompt {:4}  {:9.1f} tokens/s  {:5.1f} % of the matrix ceiling\n", prompt_tokens, prompt_rate,
                       100 * products.least / prompt_time.seconds);
  lines += fmt::format("decode       {:9.1f} tokens/s  {:5.1f} GB/s, {:5.1f} % of the read ceiling\n", decode_rate, gbs,
                       100 * gbs / ceilings.read_gbs);
  lines += fmt::format("peak memory  {:9.2f} GB\n", double(process_peak_bytes()) * 1e-9);
  return {.text = lines, .json = json.dump()};
}

}  // namespace hearth::api

std::vector<std::string> hearth::language_benchmarks() {
  std::vector<std::string> names;
  for (const auto& [name, family] : models::language_families())
    for (const models::LanguageGeometry& g : family.geometries) names.emplace_back(g.name);
  return names;
}
