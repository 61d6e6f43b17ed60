// OpenAI's image API: generations, edits, variations, and the files that responses link to.
#include <fmt/format.h>

#include <mutex>

#include "server/api/base64.h"
#include "server/api/routes.h"
#include "server/api/stream.h"
#include "server/image/image_files.h"
#include "server/image/image_service.h"
#include "server/image/openai_image_request.h"

namespace hearth::server {
namespace {

constexpr size_t most_body = size_t(64) << 20;

// Answers one request from the service's thread.
class Answer : public ImageSink, public std::enable_shared_from_this<Answer> {
 public:
  struct Setup {
    std::shared_ptr<ImageService> service;
    std::shared_ptr<ImageFiles> files;
    std::string base;        // of links: "http://127.0.0.1:8080"
    std::string event_name;  // "image_generation"
    ImageForm form;
    std::string quality;
    bool links = false, stream = false;
    int64_t partial_images = 0;
  };
  Answer(http::Responder to, Setup setup) : to_(std::move(to)), setup_(std::move(setup)) {}

  void hold(ImageService::Ticket ticket) {
    {
      const std::lock_guard lock(mutex_);
      ticket_ = std::move(ticket);
    }
    to_.on_disconnect([self = weak_from_this()] {
      if (const auto answer = self.lock()) answer->cancel();
    });
  }

  void progress(const ImageProgress& p) override {
    if (p.batch != batch_) batch_ = p.batch, passed_ = sent_ = 0;
    if (setup_.stream && p.phase == "sample" && to_.queued_bytes() == 0) write(fmt::format(": step {} of {}\n\n", p.step, p.steps));
  }

  void preview(const std::vector<Image>& images, const ImageProgress& p) override {
    const double parts = double(setup_.partial_images + 1);
    if (p.batch_share >= 1 || p.batch_share * parts < double(passed_ + 1)) return;
    passed_ = int64_t(p.batch_share * parts);
    if (to_.queued_bytes() > unread_limit) return;
    for (size_t k = 0; k < images.size(); ++k) {
      Json event = event_of("partial_image", images[k], encoded(images[k], setup_.form));
      event["partial_image_index"] = sent_;
      event["index"] = p.batch * int64_t(images.size()) + int64_t(k);
      send(event);
    }
    ++sent_;
  }

  void made(Generation&& batch) override {
    for (size_t k = 0; k < batch.images.size(); ++k) {
      const Image& image = batch.images[k];
      std::string bytes = encoded(image, setup_.form);
      if (setup_.stream) {
        Json event = event_of("completed", image, bytes);
        event["index"] = images_++;
        event["seed"] = batch.seeds[k];
        send(event);
        continue;
      }
      size_ = fmt::format("{}x{}", image.width, image.height);
      Json one;
      if (setup_.links)
        one["url"] =
            setup_.base + "/v1/images/files/" + setup_.files->add({content_type_of(setup_.form), std::move(bytes)}, setup_.form.format);
      else one["b64_json"] = base64(bytes);
      one["seed"] = batch.seeds[k];
      data_.push_back(std::move(one));
    }
  }

  void done() override {
    setup_.service.reset();
    if (setup_.stream) {
      to_.end();
      return;
    }
    Json body{{"created", unix_seconds()},
              {"background", "opaque"},
              {"output_format", setup_.form.format},
              {"size", size_},
              {"data", std::move(data_)}};
    if (setup_.quality != "auto") body["quality"] = setup_.quality;
    to_.respond(200, "application/json", dumped(body));
  }

  void failed(const ApiError& error) override {
    setup_.service.reset();
    if (!begun_) return answer_error(to_, openai_error, error);
    write("event: error\ndata: " + openai_error(error) + "\n\n");
    to_.end();
  }

 private:
  void cancel() {
    const std::lock_guard lock(mutex_);
    ticket_.cancel();
  }

  Json event_of(const std::string& what, const Image& image, const std::string& bytes) const {
    return {{"type", setup_.event_name + "." + what},
            {"created_at", unix_seconds()},
            {"size", fmt::format("{}x{}", image.width, image.height)},
            {"quality", setup_.quality},
            {"background", "opaque"},
            {"output_format", setup_.form.format},
            {"b64_json", base64(bytes)}};
  }

  void send(const Json& event) { write("event: " + event.at("type").get<std::string>() + "\ndata: " + dumped(event) + "\n\n"); }

  void write(std::string text) {
    if (!begun_) to_.begin_stream(200, "text/event-stream", {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}});
    begun_ = true;
    if (to_.write(std::move(text)) != http::Sent::queued) cancel();
  }

  static constexpr size_t unread_limit = size_t(4) << 20;  // bytes; a client that is behind by more misses partial images

  const http::Responder to_;
  Setup setup_;
  std::mutex mutex_;
  ImageService::Ticket ticket_;  // under mutex_
  // Of the service's thread:
  bool begun_ = false;
  int64_t batch_ = 0, passed_ = 0, sent_ = 0;  // parts of the batch that are over; partial images of it that were sent
  int64_t images_ = 0;
  std::string size_;
  Json data_ = Json::array();
};

// The model that an empty id means for images.
std::string image_model(const ServerState& server, const std::string& id) {
  if (!id.empty()) return id;
  for (const OfferedModel& m : server.models.list())
    if (m.kind == OfferedModel::Kind::image) return m.id;
  throw ApiError(404, "the server offers no model that generates images", "model", "model_not_found");
}

std::string base_of(const http::Request& request) {
  const std::string_view host = request.headers.get("host");
  return host.empty() ? "" : fmt::format("{}://{}", request.is_https ? "https" : "http", host);
}

void answer(ImageEndpoint endpoint, ServerState& server, const std::shared_ptr<ImageFiles>& files, http::Request& http,
            const http::Responder& to) {
  if (server.draining) {
    ApiError error(503, "the server is shutting down", "", "shutting_down");
    error.retry_after = 5;
    throw error;
  }
  const ImageBody body = read_image_body(http);
  http.body = {};
  const std::shared_ptr<ImageService> service = server.models.image(image_model(server, Fields(body.fields).text("model").value_or("")));
  OpenAiImageRequest read = read_openai_image_request(endpoint, body, *service);
  const auto answer =
      std::make_shared<Answer>(to, Answer::Setup{.service = service,
                                                 .files = files,
                                                 .base = base_of(http),
                                                 .event_name = endpoint == ImageEndpoint::generations ? "image_generation" : "image_edit",
                                                 .form = read.form,
                                                 .quality = read.quality,
                                                 .links = read.links,
                                                 .stream = read.stream,
                                                 .partial_images = read.partial_images});
  answer->hold(service->submit(std::move(read.task), answer));
}

}  // namespace

void add_openai_images(http::Routes& routes, ServerState& server) {
  const auto files = std::make_shared<ImageFiles>();
  for (const auto& [path, endpoint] : {std::pair{"/v1/images/generations", ImageEndpoint::generations},
                                       {"/v1/images/edits", ImageEndpoint::edits},
                                       {"/v1/images/variations", ImageEndpoint::variations}})
    routes.add(
        "POST", path,
        guarded(openai_error, [&server, files, endpoint = endpoint](
                                  http::Request& request, const http::Responder& to) { answer(endpoint, server, files, request, to); }),
        {.body_bytes = most_body, .stream_queue_bytes = most_body});
  // Open, as the name is a secret of the response: a browser shows the image without the key.
  routes.add("GET", "/v1/images/files/{name}",
             guarded(openai_error,
                     [files](http::Request& request, const http::Responder& to) {
                       auto file = files->find(std::string(request.param("name")));
                       if (!file) throw ApiError(404, "the image does not exist, or is no longer kept", "", "not_found");
                       to.respond(200, file->content_type, std::move(file->bytes), {{"Cache-Control", "private, max-age=3600"}});
                     }),
             {.open = true});
}

}  // namespace hearth::server
