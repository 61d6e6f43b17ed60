// POST /v1/completions: with echo, log-probabilities, token-id prompts and lists of prompts.
#include <fmt/format.h>

#include <mutex>

#include "core/text/utf8.h"
#include "server/api/routes.h"
#include "server/api/stream.h"
#include "server/text/format_rules.h"

namespace hearth::server {
namespace {

constexpr int64_t most = std::numeric_limits<int32_t>::max();
constexpr size_t most_prompts = 2048;

std::vector<int32_t> ids_of(const Fields& request, const Json& list, int64_t vocabulary) {
  std::vector<int32_t> ids;
  for (const Json& id : list) {
    if (!id.is_number_integer() || id < 0 || id >= vocabulary)
      request.refuse("prompt", fmt::format("{}, expected token ids from 0 to {}", id.dump(), vocabulary - 1));
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

struct Prompt {
  std::vector<int32_t> ids;
  std::string text;  // as given, or of the ids: what `echo` repeats
};

// A text, a list of texts, a list of ids, or a list of those.
std::vector<Prompt> prompts_of(const Fields& request, const LanguageService& service) {
  const int64_t vocabulary = service.state().model->sizes().vocabulary;
  const Json* prompt = request.value("prompt");
  const bool special = request.flag("add_special_tokens").value_or(true);
  const auto of_text = [&](const std::string& text) -> Prompt {
    return {service.tokenizer().encode(text, {.add_special_tokens = special}), text};
  };
  const auto of_ids = [&](const Json& list) -> Prompt {
    Prompt made{ids_of(request, list, vocabulary), ""};
    if (service.state().has_tokenizer()) made.text = service.tokenizer().decode(made.ids, {.skip_special_tokens = true});
    return made;
  };
  std::vector<Prompt> all;
  if (!prompt) {
    request.refuse("prompt", "is missing");
  } else if (prompt->is_string()) {
    all.push_back(of_text(prompt->get<std::string>()));
  } else if (prompt->is_array() && !prompt->empty()) {
    if ((*prompt)[0].is_number()) return {of_ids(*prompt)};
    if (prompt->size() > most_prompts)
      request.refuse("prompt", fmt::format("{} prompts, expected at most {}", prompt->size(), most_prompts));
    for (const Json& one : *prompt) {
      if (one.is_string()) all.push_back(of_text(one.get<std::string>()));
      else if (one.is_array()) all.push_back(of_ids(one));
      else request.refuse("prompt", "expected a text, token ids, or a list of these");
    }
  } else {
    request.refuse("prompt", "expected a text, token ids, or a list of these");
  }
  for (const Prompt& one : all)
    if (one.ids.empty()) request.refuse("prompt", "has no tokens, expected at least one");
  return all;
}

// logprobs of the completions API: parallel lists over tokens.
class Scores {
 public:
  explicit Scores(const LanguageService& service) : service_(service) {}

  void add(int32_t token, const std::optional<engine::TokenLogprob>& row) {
    const std::string piece = name(token);
    tokens_.push_back(piece);
    values_.push_back(row ? Json(row->logprob) : Json());
    if (row && !row->top.empty()) {
      Json top = Json::object();
      for (const auto& [id, value] : row->top) {
        const std::string key = name(id);
        if (!top.contains(key)) top[key] = value;  // spellings of broken bytes may be equal: the more probable one
      }
      top_.push_back(top);
    } else {
      top_.push_back(row ? Json::object() : Json());
    }
    offsets_.push_back(offset_);
    if (!service_.tokenizer().is_special(token))
      for (const char c : service_.token_bytes(token)) offset_ += (uint8_t(c) & 0xc0) != 0x80 ? 1 : 0;
  }
  bool empty() const { return tokens_.empty(); }
  Json take() {
    Json made{{"tokens", std::exchange(tokens_, Json::array())},
              {"token_logprobs", std::exchange(values_, Json::array())},
              {"top_logprobs", std::exchange(top_, Json::array())},
              {"text_offset", std::exchange(offsets_, Json::array())}};
    return made;
  }

 private:
  std::string name(int32_t token) const { return valid_utf8(service_.token_bytes(token)); }

  const LanguageService& service_;
  int64_t offset_ = 0;  // in the text, in characters; special tokens are not part of it
  Json tokens_ = Json::array(), values_ = Json::array(), top_ = Json::array(), offsets_ = Json::array();
};

// What all prompts of a request share.
class Completions {
 public:
  virtual ~Completions() = default;
  virtual void text(int64_t choice, const std::string& delta) = 0;
  virtual void token(int64_t /*choice*/, int32_t /*token*/) {}
  virtual void end(int64_t choice, engine::Finish reason, const std::optional<std::string>& stop) = 0;
  virtual void all_done() = 0;
  virtual void failed(const ApiError& error) = 0;

  Completions(std::shared_ptr<LiveRequest> l, std::shared_ptr<LanguageService> s, int64_t prompts, int64_t per_prompt)
      : live(std::move(l)), service(std::move(s)), open(prompts), choices(per_prompt), scores(size_t(prompts * per_prompt)) {}

  void done(const engine::Usage& u) {
    const std::lock_guard lock(mutex);
    usage.prompt += u.prompt, usage.cached += u.cached, usage.completion += u.completion;
    usage.drafted += u.drafted, usage.accepted += u.accepted;
    if (--open == 0 && !broken) all_done();
  }
  void fail(const ApiError& error) {
    const std::lock_guard lock(mutex);
    if (std::exchange(broken, true)) return;
    failed(error);
    live->cancel();
  }

  std::shared_ptr<LiveRequest> live;
  std::shared_ptr<LanguageService> service;
  int64_t open, choices;
  std::mutex mutex;                       // a prompt that is refused fails the others, which may be answered already
  bool broken = false, with_ids = false;  // with_ids: token ids beside the text
  engine::Usage usage;
  std::vector<std::optional<Scores>> scores;
  std::string id = new_id("cmpl-");
  int64_t created = unix_seconds();
};

// One prompt.
class PromptSink final : public engine::Sink {
 public:
  PromptSink(std::shared_ptr<Completions> all, int64_t index, std::vector<int32_t> prompt, std::string echo, bool scores)
      : all_(std::move(all)), first_(index * all_->choices), prompt_(std::move(prompt)), echo_(std::move(echo)) {
    for (int64_t k = 0; scores && k < all_->choices; ++k) all_->scores[size_t(first_ + k)].emplace(*all_->service);
  }

  void prompt(std::vector<std::optional<engine::TokenLogprob>> rows) override {
    const std::lock_guard lock(all_->mutex);
    for (int64_t k = 0; k < all_->choices; ++k)
      if (auto& scores = all_->scores[size_t(first_ + k)])
        for (size_t i = 0; i < rows.size(); ++i) scores->add(prompt_[i], rows[i]);
  }
  void token(int64_t choice, engine::TokenEvent event) override {
    const std::lock_guard lock(all_->mutex);
    begin(choice);
    if (auto& scores = all_->scores[size_t(first_ + choice)]) scores->add(event.token, event.logprob);
    if (all_->broken) return;
    all_->token(first_ + choice, event.token);
    if (!event.text.empty() || all_->with_ids) all_->text(first_ + choice, event.text);
  }
  void end(int64_t choice, engine::ChoiceEnd end) override {
    const std::lock_guard lock(all_->mutex);
    begin(choice);
    if (all_->broken) return;
    if (!end.text.empty()) all_->text(first_ + choice, end.text);
    all_->end(first_ + choice, end.reason, end.stop);
  }
  void done(const engine::Usage& usage) override { all_->done(usage); }
  void failed(std::exception_ptr error) override { all_->fail(api_error(std::move(error))); }

 private:
  void begin(int64_t choice) {
    if (begun_.size() <= size_t(choice)) begun_.resize(size_t(choice) + 1);
    if (begun_[size_t(choice)]) return;
    begun_[size_t(choice)] = true;
    if (!echo_.empty() && !all_->broken) all_->text(first_ + choice, echo_);
  }

  std::shared_ptr<Completions> all_;
  int64_t first_;
  std::vector<int32_t> prompt_;
  std::string echo_;
  std::vector<bool> begun_;
};

const char* name_of(engine::Finish reason) { return reason == engine::Finish::length ? "length" : "stop"; }

class WholeCompletions final : public Completions {
 public:
  using Completions::Completions;
  void text(int64_t choice, const std::string& delta) override { choice_at(choice).text += delta; }
  void token(int64_t choice, int32_t token) override { choice_at(choice).ids.push_back(token); }
  void end(int64_t choice, engine::Finish reason, const std::optional<std::string>& stop) override {
    choice_at(choice).reason = reason, choice_at(choice).stop = stop;
  }
  void all_done() override {
    Json list = Json::array();
    for (size_t k = 0; k < choices_.size(); ++k) {
      list.push_back({{"text", choices_[k].text},
                      {"index", k},
                      {"logprobs", scores[k] ? scores[k]->take() : Json()},
                      {"finish_reason", name_of(choices_[k].reason)},
                      {"stop_reason", choices_[k].stop ? Json(*choices_[k].stop) : Json()}});
      if (with_ids) list.back()["token_ids"] = choices_[k].ids;
    }
    live->to().respond(200, "application/json",
                       dumped({{"id", id},
                               {"object", "text_completion"},
                               {"created", created},
                               {"model", service->id()},
                               {"choices", list},
                               {"usage", usage_json(usage)},
                               {"system_fingerprint", fingerprint()}}));
  }
  void failed(const ApiError& error) override { answer_error(live->to(), openai_error, error); }

 private:
  struct Choice {
    std::string text;
    std::vector<int32_t> ids;
    engine::Finish reason = engine::Finish::stop;
    std::optional<std::string> stop;
  };
  Choice& choice_at(int64_t choice) {
    choices_.resize(std::max(choices_.size(), scores.size()));
    return choices_[size_t(choice)];
  }
  std::vector<Choice> choices_;
};

class StreamedCompletions final : public Completions {
 public:
  StreamedCompletions(const std::shared_ptr<LiveRequest>& l, std::shared_ptr<LanguageService> s, int64_t prompts, int64_t per_prompt,
                      bool with_usage)
      : Completions(l, std::move(s), prompts, per_prompt), stream_(l), usage_(with_usage) {}

  void text(int64_t choice, const std::string& delta) override { send(choice, delta, {}, {}); }
  void token(int64_t, int32_t token) override { ids_.push_back(token); }
  void end(int64_t choice, engine::Finish reason, const std::optional<std::string>& stop) override {
    send(choice, "", name_of(reason), stop ? Json(*stop) : Json());
  }
  void all_done() override {
    if (usage_) {
      Json last = chunk(Json::array());
      last["usage"] = usage_json(usage);
      stream_.data(last);
    }
    stream_.raw("data: [DONE]\n\n");
    stream_.end();
  }
  void failed(const ApiError& error) override {
    if (!stream_.begun()) return answer_error(live->to(), openai_error, error);
    stream_.raw("data: " + openai_error(error) + "\n\n");
    stream_.end();
  }

 private:
  Json chunk(Json list) const {
    Json made{{"id", id},
              {"object", "text_completion"},
              {"created", created},
              {"model", service->id()},
              {"system_fingerprint", fingerprint()},
              {"choices", std::move(list)}};
    if (usage_) made["usage"] = nullptr;
    return made;
  }
  void send(int64_t choice, const std::string& delta, const Json& reason, const Json& stop) {
    auto& own = scores[size_t(choice)];
    const Json logprobs = own && !own->empty() ? own->take() : Json();
    stream_.data(chunk({{{"text", delta}, {"index", choice}, {"logprobs", logprobs}, {"finish_reason", reason}, {"stop_reason", stop}}}));
  }

  EventStream stream_;
  std::vector<int32_t> ids_;  // of the next event
  bool usage_;
};

void answer(ServerState& server, http::Request& http, const http::Responder& to) {
  const Json body = parse_body(http.body);
  const Fields request(body);
  const auto service = server.models.language(request.text("model").value_or(""));
  if (request.text("suffix").value_or("") != "") request.refuse("suffix", "this model has no fill-in-the-middle", "unsupported");
  GenerationFields fields = generation_fields(request, *service);
  fields.choices = request.integer("n", 1, 128).value_or(1);
  if (const auto best = request.integer("best_of", 1, 128); best && *best != fields.choices)
    request.refuse("best_of", fmt::format("{}, expected the number of choices, {}", *best, fields.choices), "unsupported");
  fields.max_tokens = request.integer("max_tokens", 0, most).value_or(16);
  fields.logprobs = request.integer("logprobs", 0, 20);
  const bool echo = request.flag("echo").value_or(false);
  const bool stream = request.flag("stream").value_or(false);
  const auto options = request.object("stream_options");
  if (options && !stream) request.refuse("stream_options", "needs stream: true");
  const bool usage = options && options->flag("include_usage").value_or(false);
  const auto prompt_logprobs = request.integer("prompt_logprobs", 0, 20);
  if (prompt_logprobs && !echo) request.refuse("prompt_logprobs", "needs echo: true");
  const ResponseFormat format = response_format(request);
  const auto constraint = format.kind == ResponseFormat::Kind::free
                              ? nullptr
                              : service->constraint(
                                    "text", source_of(format), [&] { return *format_rules(format); }, param_of(format.kind));
  const auto prompts = prompts_of(request, *service);

  std::vector<engine::Request> requests;
  for (const Prompt& prompt : prompts) {
    engine::Request r = engine_request(fields, *service, prompt.ids);
    if (echo && fields.logprobs) r.prompt_logprobs = fields.logprobs;
    else if (prompt_logprobs) r.prompt_logprobs = prompt_logprobs;
    r.constraint = constraint;
    requests.push_back(std::move(r));
  }
  const auto live = std::make_shared<LiveRequest>(to);
  const auto count = std::ssize(prompts);
  std::shared_ptr<Completions> all;
  if (stream) all = std::make_shared<StreamedCompletions>(live, service, count, fields.choices, usage);
  else all = std::make_shared<WholeCompletions>(live, service, count, fields.choices);
  all->with_ids = request.flag("return_token_ids").value_or(false);
  std::vector<engine::Engine::Ticket> tickets;
  try {
    for (int64_t i = 0; i < count; ++i) {
      const Prompt& prompt = prompts[size_t(i)];
      tickets.push_back(
          service->engine().submit(std::move(requests[size_t(i)]),
                                   std::make_shared<PromptSink>(all, i, prompt.ids, echo ? prompt.text : "", fields.logprobs.has_value())));
    }
  } catch (const std::exception&) { return all->fail(api_error(std::current_exception())); }
  live->hold(std::move(tickets));
}

}  // namespace

void add_openai_completions(http::Routes& routes, ServerState& server) {
  routes.add("POST", "/v1/completions",
             guarded(openai_error, [&server](http::Request& r, const http::Responder& to) { answer(server, r, to); }));
}

}  // namespace hearth::server
