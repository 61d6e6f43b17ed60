// GET /v1/models, POST /v1/embeddings.
#include <fmt/format.h>

#include <cmath>
#include <mutex>

#include "server/api/base64.h"
#include "server/api/routes.h"
#include "server/api/stream.h"

namespace hearth::server {
namespace {

// By the names that /v1/images/generations knows, so that a client may send them back.
Json defaults_json(const api::ImageDefaults& d) {
  Json made{{"steps", d.steps}, {"guidance", d.guidance}, {"sampler", d.sampler}};
  if (d.size) made["width"] = (*d.size)[0], made["height"] = (*d.size)[1];
  return made;
}

Json model_json(const ServerState& server, const OfferedModel& m) {
  Json made{{"id", m.id}, {"object", "model"}, {"created", m.created}, {"owned_by", "hearth"}};
  made["kind"] = m.kind == OfferedModel::Kind::language ? "language" : "image";
  made["loaded"] = m.loaded;
  if (!m.parent.empty()) made["parent"] = m.parent;
  if (m.defaults) made["defaults"] = defaults_json(*m.defaults), made["side_unit"] = m.defaults->side_unit;
  for (const auto& service : server.models.loaded_language())
    if (service->id() == m.id) made["max_model_len"] = service->engine().context();
  return made;
}

// Answers when the embedding of every input is there.
class Embeddings {
 public:
  Embeddings(std::shared_ptr<LiveRequest> live, std::string model, size_t count, bool base64, std::optional<int64_t> dimensions)
      : live_(std::move(live)), model_(std::move(model)), values_(count), open_(count), base64_(base64), dimensions_(dimensions) {}

  void set(size_t i, std::vector<float> values) {
    const std::lock_guard lock(mutex_);
    values_[i] = std::move(values);
  }
  void done(const engine::Usage& usage) {
    const std::lock_guard lock(mutex_);
    tokens_ += usage.prompt;
    if (--open_ > 0 || broken_) return;
    Json data = Json::array();
    for (size_t i = 0; i < values_.size(); ++i) data.push_back({{"object", "embedding"}, {"index", i}, {"embedding", written(values_[i])}});
    live_->to().respond(
        200, "application/json",
        dumped(
            {{"object", "list"}, {"data", data}, {"model", model_}, {"usage", {{"prompt_tokens", tokens_}, {"total_tokens", tokens_}}}}));
  }
  void fail(const ApiError& error) {
    const std::lock_guard lock(mutex_);
    if (std::exchange(broken_, true)) return;
    answer_error(live_->to(), openai_error, error);
    live_->cancel();
  }

 private:
  // Fewer dimensions have unit length again, as OpenAI's.
  Json written(std::vector<float> v) const {
    if (dimensions_ && size_t(*dimensions_) < v.size()) {
      v.resize(size_t(*dimensions_));
      double squares = 0;
      for (const float x : v) squares += double(x) * x;
      if (squares > 0)
        for (float& x : v) x = float(double(x) / std::sqrt(squares));
    }
    if (!base64_) return v;
    return base64({reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float)});
  }

  std::shared_ptr<LiveRequest> live_;
  std::string model_;
  std::mutex mutex_;
  std::vector<std::vector<float>> values_;
  size_t open_;
  int64_t tokens_ = 0;
  bool base64_, broken_ = false;
  std::optional<int64_t> dimensions_;
};

class EmbeddingSink final : public engine::Sink {
 public:
  EmbeddingSink(std::shared_ptr<Embeddings> all, size_t index) : all_(std::move(all)), index_(index) {}
  void embedding(std::vector<float> values) override { all_->set(index_, std::move(values)); }
  void done(const engine::Usage& usage) override { all_->done(usage); }
  void failed(std::exception_ptr error) override { all_->fail(api_error(std::move(error))); }

 private:
  std::shared_ptr<Embeddings> all_;
  size_t index_;
};

void embed(ServerState& server, http::Request& http, const http::Responder& to) {
  const Json body = parse_body(http.body);
  const Fields request(body);
  const auto service = server.models.language(request.text("model").value_or(""));
  static constexpr std::string_view formats[] = {"float", "base64"};
  const bool base64 = request.word("encoding_format", formats).value_or("float") == "base64";
  const auto dimensions = request.integer("dimensions", 1, 1 << 20);
  const Json& input = request.need("input");
  std::vector<std::vector<int32_t>> prompts;
  const auto ids = [&](const Json& list) {
    std::vector<int32_t> all;
    for (const Json& id : list) {
      if (!id.is_number_integer() || id < 0 || id >= service->state().model->sizes().vocabulary)
        request.refuse("input", "expected token ids of the vocabulary");
      all.push_back(id.get<int32_t>());
    }
    return all;
  };
  if (input.is_string()) {
    prompts.push_back(service->tokenizer().encode(input.get<std::string>()));
  } else if (input.is_array() && !input.empty() && input[0].is_number()) {
    prompts.push_back(ids(input));
  } else if (input.is_array() && !input.empty() && input.size() <= 2048) {
    for (const Json& one : input) {
      if (one.is_string()) prompts.push_back(service->tokenizer().encode(one.get<std::string>()));
      else if (one.is_array()) prompts.push_back(ids(one));
      else request.refuse("input", "expected a text, token ids, or a list of these");
    }
  } else {
    request.refuse("input", "expected a text, token ids, or a list of 1 to 2048 of these");
  }
  for (const auto& prompt : prompts)
    if (prompt.empty()) request.refuse("input", "has no tokens, expected at least one");
  const auto live = std::make_shared<LiveRequest>(to);
  const auto all = std::make_shared<Embeddings>(live, service->id(), prompts.size(), base64, dimensions);
  std::vector<engine::Engine::Ticket> tickets;
  try {
    for (size_t i = 0; i < prompts.size(); ++i)
      tickets.push_back(
          service->engine().submit({.prompt = prompts[i], .max_tokens = 0, .embedding = true}, std::make_shared<EmbeddingSink>(all, i)));
  } catch (const std::exception&) { return all->fail(api_error(std::current_exception())); }
  live->hold(std::move(tickets));
}

}  // namespace

void add_openai_models(http::Routes& routes, ServerState& server) {
  routes.add("GET", "/v1/models", guarded(openai_error, [&server](http::Request&, const http::Responder& to) {
               Json list = Json::array();
               for (const OfferedModel& m : server.models.list()) list.push_back(model_json(server, m));
               to.respond(200, "application/json", dumped({{"object", "list"}, {"data", list}}));
             }));
  routes.add("GET", "/v1/models/{id*}", guarded(openai_error, [&server](http::Request& r, const http::Responder& to) {
               to.respond(200, "application/json", dumped(model_json(server, server.models.find(std::string(r.param("id"))))));
             }));
  routes.add("POST", "/v1/embeddings",
             guarded(openai_error, [&server](http::Request& r, const http::Responder& to) { embed(server, r, to); }));
}

}  // namespace hearth::server
