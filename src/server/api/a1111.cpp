// A1111's API under /sdapi/v1, as far as hearth has what it offers. Clients: webuiapi, and the programs that let their users choose
// "Automatic1111" as the source of images.
#include <fmt/format.h>

#include <ctime>
#include <mutex>

#include "api/image/prompt_loras.h"
#include "core/memory.h"
#include "core/text/utf8.h"
#include "media/formats/image_file.h"
#include "media/metadata/parameters.h"
#include "server/api/base64.h"
#include "server/api/routes.h"
#include "server/api/stream.h"
#include "server/image/a1111_names.h"
#include "server/image/a1111_options.h"
#include "server/image/a1111_request.h"
#include "server/image/image_adapters.h"

namespace hearth::server {
namespace {

constexpr size_t most_body = size_t(128) << 20;

std::string timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[16] = {};
  std::strftime(text, sizeof text, "%Y%m%d%H%M%S", &local);
  return text;
}

// A run of txt2img or img2img.
class Run : public ImageSink, public std::enable_shared_from_this<Run> {
 public:
  Run(http::Responder to, std::shared_ptr<ImageService> service, A1111Request request)
      : to_(std::move(to)), service_(std::move(service)), model_(service_->id()), task_id_(request.task_id), request_(std::move(request)) {}

  template <class F> auto with_ticket(F f) {
    const std::lock_guard lock(mutex_);
    return f(ticket_);
  }
  void begin() {
    ImageService::Ticket ticket = service_->submit(std::move(request_.task), shared_from_this());
    {
      const std::lock_guard lock(mutex_);
      ticket_ = std::move(ticket);
    }
    to_.on_disconnect([self = weak_from_this()] {
      if (const auto run = self.lock()) run->with_ticket([](ImageService::Ticket& t) { t.cancel(); });
    });
  }
  const std::string& began() const { return began_; }
  const std::string& task_id() const { return task_id_; }

  void made(Generation&& batch) override {
    for (size_t k = 0; k < batch.images.size(); ++k) {
      Image& image = batch.images[k];
      if (request_.send_images) images_.push_back(base64(encoded(image, request_.form)));
      results_.seeds.push_back(batch.seeds[k]);
      results_.variation_seeds.push_back(batch.variation_seed > 0 ? batch.variation_seed + k : 0);
      results_.images.push_back({.width = image.width, .height = image.height, .parameters = std::move(image.parameters)});
    }
  }
  void done() override {
    service_.reset();
    to_.respond(
        200, "application/json",
        dumped({{"images", std::move(images_)}, {"parameters", request_.echo}, {"info", a1111_info(request_, results_, model_, began_)}}));
  }
  void failed(const ApiError& error) override {
    service_.reset();
    answer_error(to_, a1111_error, error);
  }

 private:
  const http::Responder to_;
  std::shared_ptr<ImageService> service_;
  const std::string model_, task_id_, began_ = timestamp();
  A1111Request request_;
  std::mutex mutex_;
  ImageService::Ticket ticket_;  // under mutex_
  Json images_ = Json::array();
  A1111Results results_;
};

// What the API keeps between requests.
class State {
 public:
  explicit State(ServerState& server) : server_(server) {
    for (const OfferedModel& m : server.models.list())
      if (options_.checkpoint.empty() && m.kind == OfferedModel::Kind::image) options_.checkpoint = m.id;
  }

  ModelHost& models() { return server_.models; }
  A1111Options options() {
    const std::lock_guard lock(mutex_);
    return options_;
  }
  void set_options(const A1111Options& options) {
    const std::lock_guard lock(mutex_);
    options_ = options;
  }
  // The id of the image model that the options name.
  std::string checkpoint(const A1111Options& options) const {
    if (options.checkpoint.empty()) throw ApiError(404, "the server offers no model that generates images", "model", "model_not_found");
    return options.checkpoint;
  }
  void add(const std::shared_ptr<Run>& run) {
    const std::lock_guard lock(mutex_);
    std::erase_if(runs_, [](const std::weak_ptr<Run>& r) { return r.expired(); });
    runs_.push_back(run);
  }
  // Those that run now, the oldest first.
  std::vector<std::shared_ptr<Run>> running() {
    std::vector<std::shared_ptr<Run>> all;
    const std::lock_guard lock(mutex_);
    for (const std::weak_ptr<Run>& r : runs_)
      if (auto run = r.lock())
        if (run->with_ticket([](ImageService::Ticket& t) { return t.progress().state; }) == ImageProgress::State::running)
          all.push_back(std::move(run));
    return all;
  }
  bool draining() const { return server_.draining; }

 private:
  ServerState& server_;
  std::mutex mutex_;
  A1111Options options_;                  // under mutex_
  std::vector<std::weak_ptr<Run>> runs_;  // in the order in which they came; under mutex_
};

void answer_json(const http::Responder& to, const Json& json) { to.respond(200, "application/json", dumped(json)); }

void generate(State& state, bool from_image, http::Request& http, const http::Responder& to) {
  if (state.draining()) {
    ApiError error(503, "the server is shutting down", "", "shutting_down");
    error.retry_after = 5;
    throw error;
  }
  const Json body = parse_body(http.body);
  http.body = {};
  const Fields request(body);
  A1111Options options = state.options();
  if (const auto overrides = request.object("override_settings")) options.set(*overrides, state.models().list());
  const auto service = state.models().image(state.checkpoint(options));
  const auto run = std::make_shared<Run>(to, service, read_a1111_request(request, from_image, options, *service));
  run->begin();
  state.add(run);
  if (!request.flag("override_settings_restore_afterwards").value_or(true)) state.set_options(options);
}

void progress(State& state, http::Request& request, const http::Responder& to) {
  Json json{{"progress", 0.0},          {"eta_relative", 0.0}, {"state", nullptr},
            {"current_image", nullptr}, {"textinfo", nullptr}, {"current_task", nullptr}};
  ImageProgress p;
  std::vector<Image> preview;
  std::string began = "0";
  const auto runs = state.running();
  if (!runs.empty()) {
    began = runs[0]->began();
    if (!runs[0]->task_id().empty()) json["current_task"] = runs[0]->task_id();
    runs[0]->with_ticket([&](ImageService::Ticket& ticket) { p = ticket.progress(), preview = ticket.preview(); });
    json["progress"] = std::max(p.share, 0.01);
    json["eta_relative"] = p.seconds_left.value_or(0);
    const std::string_view skip = request.query_value("skip_current_image");
    if (!preview.empty() && skip != "true" && skip != "1") json["current_image"] = base64(encoded(preview[0], {}));
  }
  json["state"] = {{"skipped", false},
                   {"interrupted", false},
                   {"stopping_generation", false},
                   {"job", p.batches > 1 ? fmt::format("Batch {} out of {}", p.batch + 1, p.batches) : ""},
                   {"job_count", runs.empty() ? 0 : p.batches},
                   {"job_timestamp", began},
                   {"job_no", p.batch},
                   {"sampling_step", p.step},
                   {"sampling_steps", p.steps}};
  answer_json(to, json);
}

void set_options(State& state, http::Request& http, const http::Responder& to) {
  const Json body = parse_body(http.body);
  A1111Options options = state.options();
  const std::string before = options.checkpoint;
  options.set(Fields(body), state.models().list());
  if (options.checkpoint != before) state.models().load(options.checkpoint);
  state.set_options(options);
  answer_json(to, nullptr);
}

void list_checkpoints(State& state, http::Request&, const http::Responder& to) {
  Json list = Json::array();
  for (const OfferedModel& m : state.models().list())
    if (m.kind == OfferedModel::Kind::image)
      list.push_back({{"title", m.id},
                      {"model_name", m.id},
                      {"hash", nullptr},
                      {"sha256", nullptr},
                      {"filename", m.path.filename().string()},
                      {"config", nullptr}});
  answer_json(to, list);
}

// The generation parameters in an image, of whatever program.
void png_info(http::Request& http, const http::Responder& to) {
  const Json body = parse_body(http.body);
  const Fields request(body);
  const std::string bytes = image_bytes_of(request.need_text("image"), "image");
  LoadedImage read;
  try {
    read = decode_image(bytes, "image", {.pixels = int64_t(1) << 26});
  } catch (const Error& e) { request.refuse("image", e.what(), "invalid_image"); }
  Json items = Json::object(), parameters = Json::object();
  std::string info;
  for (const PngText& text : read.texts)
    if (text.keyword == parameters_keyword) info = text.text;
    else items[text.keyword] = text.text;
  if (!info.empty()) {
    const Parameters parsed = parse_parameters(info);
    parameters["Prompt"] = parsed.prompt;
    parameters["Negative prompt"] = parsed.negative_prompt;
    for (const auto& [name, value] : parsed.settings) {
      const size_t x = value.find('x');
      if (name == "Size" && x != value.npos) parameters["Size-1"] = value.substr(0, x), parameters["Size-2"] = value.substr(x + 1);
      else parameters[name] = value;
    }
  }
  answer_json(to, {{"info", info}, {"items", items}, {"parameters", parameters}});
}

void list_loras(State& state, http::Request&, const http::Responder& to) {
  Json all = Json::array();
  const std::filesystem::path& folder = state.models().adapters().lora_folder;
  if (!folder.empty())
    for (const auto& [name, file] : api::loras_in(folder))
      all.push_back({{"name", valid_utf8(name)}, {"alias", valid_utf8(name)}, {"path", ""}, {"metadata", Json::object()}});
  answer_json(to, all);
}

void memory(const http::Responder& to) {
  const int64_t used = process_resident_bytes(), free = system_available_bytes();
  answer_json(to, {{"ram", {{"free", free}, {"used", used}, {"total", used + free}}}, {"cuda", {{"error", "unavailable"}}}});
}

// The lists of the ControlNet extension: networks and adapters that units may name, and modules.
void add_control_lists(http::Routes& routes, const ServerState& server) {
  const OfferedAdapters& offered = server.models.adapters();
  Json names = Json::array(), prompts = Json::array(), modules = Json::array();
  for (const auto& [name, path] : offered.controls) names.push_back(valid_utf8(name));
  for (const auto& [name, path] : offered.image_prompts) names.push_back(valid_utf8(name)), prompts.push_back(valid_utf8(name));
  for (const std::string_view module : control_module_names()) modules.push_back(module);
  const std::pair<const char*, Json> lists[] = {{"/controlnet/model_list", {{"model_list", names}, {"image_prompts", prompts}}},
                                                {"/controlnet/module_list", {{"module_list", modules}}}};
  for (const auto& [path, json] : lists)
    routes.add("GET", path,
               [text = dumped(json)](const http::Request&, const http::Responder& to) { to.respond(200, "application/json", text); });
}

// What A1111 has and hearth lacks.
struct Absent {
  const char *path, *what;
};
constexpr Absent absent[] = {
    {"extra-single-image", "networks that enlarge images"},
    {"extra-batch-images", "networks that enlarge images"},
    {"interrogate", "networks that describe images"},
    {"create/embedding", "training"},
    {"create/hypernetwork", "training"},
    {"train/embedding", "training"},
    {"train/hypernetwork", "training"},
};

}  // namespace

void add_a1111(http::Routes& routes, ServerState& server) {
  const auto state = std::make_shared<State>(server);
  using Answer = std::function<void(http::Request&, const http::Responder&)>;
  const auto add = [&](const char* method, const std::string& path, Answer answer, http::RouteOptions options = {}) {
    routes.add(method, "/sdapi/v1/" + path, guarded(a1111_error, std::move(answer)), std::move(options));
  };
  const auto list = [&](const char* path, Json json) {
    add("GET", path, [text = dumped(json)](http::Request&, const http::Responder& to) { to.respond(200, "application/json", text); });
  };
  const auto bind = [&](void (*answer)(State&, http::Request&, const http::Responder&)) -> Answer {
    return [state, answer](http::Request& request, const http::Responder& to) { answer(*state, request, to); };
  };
  const auto on_runs = [&](const char* path, void (ImageService::Ticket::*act)()) {
    add("POST", path, [state, act](http::Request&, const http::Responder& to) {
      for (const auto& run : state->running()) run->with_ticket([&](ImageService::Ticket& ticket) { (ticket.*act)(); });
      answer_json(to, Json::object());
    });
  };

  add("POST", "txt2img", [state](http::Request& r, const http::Responder& to) { generate(*state, false, r, to); },
      {.body_bytes = most_body});
  add("POST", "img2img", [state](http::Request& r, const http::Responder& to) { generate(*state, true, r, to); },
      {.body_bytes = most_body});
  add("GET", "progress", bind(progress));
  on_runs("interrupt", &ImageService::Ticket::finish);
  on_runs("skip", &ImageService::Ticket::skip);
  add("GET", "options", [state](http::Request&, const http::Responder& to) { answer_json(to, state->options().json()); });
  add("POST", "options", bind(set_options));
  add("GET", "sd-models", bind(list_checkpoints));
  add("POST", "png-info", [](http::Request& r, const http::Responder& to) { png_info(r, to); }, {.body_bytes = most_body});
  add("GET", "memory", [](http::Request&, const http::Responder& to) { memory(to); });
  add("POST", "unload-checkpoint", [state](http::Request&, const http::Responder& to) {
    state->models().unload(state->checkpoint(state->options()));
    answer_json(to, Json::object());
  });
  add("POST", "reload-checkpoint", [state](http::Request&, const http::Responder& to) {
    state->models().load(state->checkpoint(state->options()));
    answer_json(to, Json::object());
  });
  for (const char* path : {"refresh-checkpoints", "refresh-vae", "refresh-loras", "refresh-embeddings"})  // the models are fixed
    add("POST", path, [](http::Request&, const http::Responder& to) { answer_json(to, nullptr); });

  list("samplers", a1111_samplers());
  list("schedulers", a1111_schedulers());
  list("upscalers", a1111_upscalers());
  list("latent-upscale-modes", a1111_latent_upscale_modes());
  list("embeddings", {{"loaded", Json::object()}, {"skipped", Json::object()}});
  list("cmd-flags", {{"api", true}, {"nowebui", true}});
  list("scripts", {{"txt2img", Json::array()}, {"img2img", Json::array()}});
  add("GET", "loras", bind(list_loras));
  add_control_lists(routes, server);
  for (const char* path :
       {"sd-vae", "sd-modules", "hypernetworks", "face-restorers", "realesrgan-models", "prompt-styles", "script-info", "extensions"})
    list(path, Json::array());
  for (const auto& [path, what] : absent)
    add("POST", path, [path = std::string(path), what = std::string(what)](http::Request&, const http::Responder&) {
      throw ApiError(404, fmt::format("{}: hearth has no {}", path, what), "", "unsupported");
    });
}

}  // namespace hearth::server
