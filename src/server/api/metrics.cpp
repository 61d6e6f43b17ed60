#include "server/api/metrics.h"

#include <fmt/format.h>

#include "server/image/image_service.h"

namespace hearth::server {
namespace {

class Text {
 public:
  void family(const char* name, const char* type, const char* help) {
    text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  void value(const char* name, const std::string& labels, double v) { text += fmt::format("{}{{{}}} {}\n", name, labels, v); }
  void histogram(const char* name, const std::string& labels, const engine::Histogram& h) {
    int64_t sum = 0;
    for (size_t i = 0; i < std::size(engine::Histogram::bounds); ++i)
      text += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, engine::Histogram::bounds[i], sum += h.counts[i]);
    text += fmt::format("{}_bucket{{{},le=\"+Inf\"}} {}\n{}_sum{{{}}} {}\n{}_count{{{}}} {}\n", name, labels, h.count, name, labels, h.sum,
                        name, labels, h.count);
  }

  std::string text;
};

std::string escaped(const std::string& label) {
  std::string out;
  for (const char c : label) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') out += "\\n";
    else out += c;
  }
  return out;
}

struct Row {
  const char *name, *type, *help;
  double (*value)(const engine::EngineMetrics&);
};
constexpr Row rows[] = {
    {"hearth_requests_waiting", "gauge", "Requests that wait to be computed.", [](const auto& m) { return double(m.waiting); }},
    {"hearth_requests_running", "gauge", "Requests that are computed.", [](const auto& m) { return double(m.running); }},
    {"hearth_requests_finished", "counter", "Requests that were answered.", [](const auto& m) { return double(m.finished); }},
    {"hearth_requests_aborted", "counter", "Requests whose clients left.", [](const auto& m) { return double(m.aborted); }},
    {"hearth_requests_failed", "counter", "Requests that failed.", [](const auto& m) { return double(m.failed); }},
    {"hearth_kv_blocks_used", "gauge", "Pages of running requests.", [](const auto& m) { return double(m.pages_used); }},
    {"hearth_kv_blocks_free", "gauge", "Pages that are free, those of reusable prefixes included.",
     [](const auto& m) { return double(m.pages_free); }},
    {"hearth_kv_blocks_total", "gauge", "Pages in all.", [](const auto& m) { return double(m.pages_used + m.pages_free); }},
    {"hearth_kv_blocks_cached", "gauge", "Pages that hold prefixes of earlier requests and are given up when others need them.",
     [](const auto& m) { return double(m.pages_cached); }},
    {"hearth_prompt_tokens_total", "counter", "Tokens of prompts.", [](const auto& m) { return double(m.prompt_tokens); }},
    {"hearth_generation_tokens_total", "counter", "Tokens generated.", [](const auto& m) { return double(m.generated_tokens); }},
    {"hearth_prefix_hit_tokens_total", "counter", "Tokens of prompts that were not computed again.",
     [](const auto& m) { return double(m.prefix_tokens); }},
    {"hearth_preemptions_total", "counter", "Requests that were stopped for others and continued later.",
     [](const auto& m) { return double(m.preemptions); }},
};

struct ImageRow {
  const char *name, *type, *help;
  double (*value)(const ImageService::Metrics&);
};
constexpr ImageRow image_rows[] = {
    {"hearth_image_jobs_waiting", "gauge", "Requests for images that wait.", [](const auto& m) { return double(m.waiting); }},
    {"hearth_image_jobs_running", "gauge", "Requests for images that are computed.", [](const auto& m) { return double(m.running); }},
    {"hearth_image_jobs_finished", "counter", "Requests for images that were answered.", [](const auto& m) { return double(m.finished); }},
    {"hearth_image_jobs_aborted", "counter", "Requests for images whose clients left.", [](const auto& m) { return double(m.canceled); }},
    {"hearth_image_jobs_failed", "counter", "Requests for images that failed.", [](const auto& m) { return double(m.failed); }},
    {"hearth_images_total", "counter", "Images made.", [](const auto& m) { return double(m.images); }},
    {"hearth_image_steps_total", "counter", "Denoising steps.", [](const auto& m) { return double(m.steps); }},
    {"hearth_image_seconds_total", "counter", "Seconds spent on requests for images.", [](const auto& m) { return m.seconds; }},
};

struct HistogramRow {
  const char *name, *help;
  engine::Histogram engine::EngineMetrics::*member;
};
constexpr HistogramRow histograms[] = {
    {"hearth_ttft_seconds", "From the arrival of a request to its first token.", &engine::EngineMetrics::first_token},
    {"hearth_itl_seconds", "Between two tokens of a request.", &engine::EngineMetrics::between_tokens},
    {"hearth_e2e_seconds", "From the arrival of a request to its end.", &engine::EngineMetrics::whole},
    {"hearth_step_seconds", "Of a pass through the model.", &engine::EngineMetrics::pass},
};

}  // namespace

std::string metrics_text(const ServerState& server) {
  Text t;
  std::vector<std::pair<std::string, engine::EngineMetrics>> all;
  for (const auto& service : server.models.loaded_language())
    all.emplace_back(fmt::format("model=\"{}\"", escaped(service->id())), service->engine().metrics());
  for (const Row& row : rows) {
    t.family(row.name, row.type, row.help);
    for (const auto& [labels, metrics] : all) t.value(row.name, labels, row.value(metrics));
  }
  for (const auto& [name, counts] : {std::pair{"hearth_spec_drafted_total", &engine::EngineMetrics::drafted},
                                     {"hearth_spec_accepted_total", &engine::EngineMetrics::accepted}}) {
    t.family(name, "counter", "Drafted tokens by position, from 0.");
    for (const auto& [labels, metrics] : all)
      for (size_t i = 0; i < (metrics.*counts).size(); ++i)
        t.value(name, fmt::format("{},position=\"{}\"", labels, i), double((metrics.*counts)[i]));
  }
  for (const HistogramRow& row : histograms) {
    t.family(row.name, "histogram", row.help);
    for (const auto& [labels, metrics] : all) t.histogram(row.name, labels, metrics.*row.member);
  }
  const auto images = server.models.loaded_images();
  for (const ImageRow& row : image_rows) {
    t.family(row.name, row.type, row.help);
    for (const auto& service : images)
      t.value(row.name, fmt::format("model=\"{}\"", escaped(service->id())), row.value(service->metrics()));
  }
  t.family("hearth_model_loaded", "gauge", "Whether the model is in memory.");
  for (const OfferedModel& m : server.models.list()) t.value("hearth_model_loaded", fmt::format("model=\"{}\"", escaped(m.id)), m.loaded);
  return t.text;
}

}  // namespace hearth::server
