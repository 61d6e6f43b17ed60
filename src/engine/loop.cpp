#include "engine/loop.h"

#include <algorithm>

#include "core/backend.h"
#include "core/memory.h"
#include "core/threads.h"

namespace hearth::engine {
namespace {

constexpr const char* shutting_down = "the server is shutting down";

Choice& as_choice(const Scheduler::Share& share) { return static_cast<Choice&>(*share.job); }

EngineOptions with_context(EngineOptions options, const models::LanguageModel& model) {
  if (options.context == 0) options.context = model.sizes().positions;
  options.pass_tokens = std::min(options.pass_tokens, model.pass_tokens());
  return options;
}

}  // namespace

Engine::Loop::Loop(models::LanguageModel& model, Backend& device, const text::Tokenizer* tokenizer, const EngineOptions& o)
    : options(with_context(o, model)),
      plan(plan_memory(model, options, system_available_bytes())),
      model_(model),
      device_(device),
      tokenizer_(tokenizer),
      pooling_(model.pooling(options.cache_type)),
      pool_(model.make_pool(options.cache_type, plan.pages)),
      cache_(pooling_.page, pooling_.state_bytes > 0, plan.snapshot_bytes),
      scheduler_({.tokens = options.pass_tokens, .parallel = plan.parallel}) {
  publish();
  thread_ = std::thread([this] { run(); });
}

Engine::Loop::~Loop() {
  {
    const std::lock_guard lock(inbox_->mutex);
    inbox_->closing = inbox_->stops = true;
    inbox_->changed.notify_all();
  }
  thread_.join();
}

void Engine::Loop::run() {
  while (take_news()) pass();
  for (const auto& choice : choices_) fail(choice->answer(), std::make_exception_ptr(StoppedError(shutting_down)));
  sweep();
}

bool Engine::Loop::take_news() {
  std::vector<std::shared_ptr<Answer>> submitted;
  {
    std::unique_lock lock(inbox_->mutex);
    inbox_->changed.wait(lock, [&] { return !choices_.empty() || !inbox_->submitted.empty() || inbox_->stops; });
    submitted.swap(inbox_->submitted);
    if (inbox_->stops) {
      lock.unlock();
      for (const auto& answer : submitted) fail(*answer, std::make_exception_ptr(StoppedError(shutting_down)));
      return false;
    }
  }
  for (const auto& answer : submitted) {
    answer->open_choices = answer->request.choices;
    try {
      auto choice = std::make_unique<Choice>(answer, 0, tokenizer_);
      choice->slots = answer->request.choices;
      choice->todo = std::ssize(choice->tokens());
      scheduler_.add(*choice, now());
      choices_.push_back(std::move(choice));
    } catch (const Error&) { fail(*answer, std::current_exception()); }
  }
  for (const auto& choice : choices_)
    if (choice->answer().canceled) cancel(choice->answer());
  sweep();
  return true;
}

void Engine::Loop::pass() {
  if (choices_.empty()) return publish();
  const double begin = now();
  draft();
  const std::vector<Scheduler::Share> shares = scheduler_.pass(*this, begin);
  if (shares.empty()) {  // nothing runs, and the first that waits has no room: plan_memory() rules that out
    for (const auto& choice : choices_)
      if (!choice->runs)
        return fail(choice->answer(), std::make_exception_ptr(Error("the KV cache has no room for this request"))), sweep();
    return;
  }
  const auto parts = slices(shares);
  try {
    model_.feed(parts);
  } catch (const std::exception&) {
    for (const Scheduler::Share& share : shares) fail(as_choice(share).answer(), std::current_exception());
    return sweep();
  }
  for (const Scheduler::Share& share : shares) keep_pages(as_choice(share));

  // The first token of each choice, on all threads; then one after the other what follows from it.
  std::vector<Choice*> ready;
  int64_t generating = 0, before = counted_.generated_tokens;
  for (const Scheduler::Share& share : shares) {
    Choice& choice = as_choice(share);
    const int64_t left = std::ssize(choice.tokens()) - choice.text->length();
    if (share.job->generates) ++generating;
    if (left > 0) {  // the prompt goes on
      choice.todo = left;
      continue;
    }
    begin_choices(choice, ready);
  }
  std::vector<int32_t> tokens(ready.size());
  std::vector<std::exception_ptr> errors(ready.size());
  device_.host().threads().run(std::ssize(ready), [&](int64_t i) {
    const auto at = size_t(i);
    try {
      if (!ready[at]->rows.empty()) tokens[at] = ready[at]->next(ready[at]->rows[0]);
    } catch (const std::exception&) { errors[at] = std::current_exception(); }
  });
  for (size_t i = 0; i < ready.size(); ++i) {
    if (ready[i]->ended()) continue;
    try {
      if (errors[i]) std::rethrow_exception(errors[i]);
      go_on(*ready[i], tokens[i]);
    } catch (const std::exception&) { fail(ready[i]->answer(), std::current_exception()); }
  }
  const double seconds = now() - begin;
  if (generating == std::ssize(shares)) control_.measured(generating, drafting_, counted_.generated_tokens - before, seconds);
  counted_.pass.add(seconds);
  ++counted_.passes;
  sweep();
  if (options.stop_every > 0 && counted_.passes % options.stop_every == 0) scheduler_.stop_last(*this);
  publish();
}

std::vector<models::LanguageModel::Slice> Engine::Loop::slices(std::span<const Scheduler::Share> shares) {
  std::vector<models::LanguageModel::Slice> all;
  for (const Scheduler::Share& share : shares) {
    Choice& choice = as_choice(share);
    Answer& answer = choice.answer();
    const Request& request = answer.request;
    const int64_t from = choice.text->length(), prompt = std::ssize(request.prompt), size = std::ssize(choice.tokens());
    choice.rows.clear();
    choice.fed.assign(choice.tokens().begin() + from, choice.tokens().begin() + from + share.tokens);
    choice.drafts.resize(size_t(share.draft));
    choice.fed.insert(choice.fed.end(), choice.drafts.begin(), choice.drafts.end());
    if (share.draft > 0 && pooling_.state_bytes > 0) choice.before_drafts = choice.text->snapshot(), choice.length_before_drafts = from;
    const bool scores = request.prompt_logprobs && from < prompt && answer.prompt_logprobs.size() < size_t(prompt);
    const bool last = from + share.tokens == size;
    models::LanguageModel::Slice slice{.text = choice.text.get(),
                                       .ids = choice.fed,
                                       .from = scores ? 0
                                               : last ? share.tokens - 1
                                                      : share.tokens,
                                       .length = std::max(size, from + std::ssize(choice.fed)),
                                       .logits = {}};
    slice.logits = [&choice, &answer, from, prompt, size](int64_t token, std::span<const float> logits) {
      const int64_t next = from + token + 1;  // the position that the logits are for
      if (answer.request.prompt_logprobs && next < prompt && next == std::ssize(answer.prompt_logprobs))
        answer.prompt_logprobs.push_back(logprob(logits, answer.request.prompt[size_t(next)], *answer.request.prompt_logprobs));
      if (next >= size) choice.rows.emplace_back(logits.begin(), logits.end());
    };
    if (request.embedding) {
      slice.from = share.tokens;
      slice.hidden = [&answer](int64_t, std::span<const float> hidden) {
        answer.embedding_sum.resize(hidden.size());
        for (size_t i = 0; i < hidden.size(); ++i) answer.embedding_sum[i] += hidden[i];
      };
    }
    if (request.prompt_logprobs && answer.prompt_logprobs.empty()) answer.prompt_logprobs.emplace_back();
    all.push_back(std::move(slice));
  }
  return all;
}

void Engine::Loop::publish() {
  const models::TextPool& pool = *pool_;
  int64_t total = 0, free = 0;
  for (const auto& group : pool.groups()) total += group.pages, free += group.free;
  const bool counts = now() - counted_pages_ > 0.1 || std::ranges::all_of(choices_, [](const auto& choice) { return choice->ended(); });
  if (counts) releasable_ = cache_.releasable(), counted_pages_ = now();
  counted_.pages_cached = std::min(releasable_, total - free);
  counted_.pages_free = free + counted_.pages_cached;
  counted_.pages_used = total - counted_.pages_free;
  const std::lock_guard lock(metrics_mutex_);
  published_ = counted_;
}

}  // namespace hearth::engine
