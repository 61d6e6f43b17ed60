// The engine's thread: how choices go on after a pass, and how requests end.
#include <algorithm>
#include <cmath>

#include "engine/loop.h"

namespace hearth::engine {
namespace {

// A sink that fails at the end has nobody left to tell.
template <class F> void safely(const F& f) {
  try {
    f();
  } catch (const std::exception&) {}
}

}  // namespace

void Engine::Loop::draft() {
  int64_t texts = 0;
  for (const auto& choice : choices_)
    if (choice->runs && choice->generates) ++texts;
  drafting_ = options.drafter && texts > 0 && control_.use(texts);
  for (const auto& choice : choices_) {
    choice->drafts.clear();
    if (drafting_ && choice->runs && choice->generates && choice->todo == 1) {
      // The last token that the choice may have is not drafted, nor what the context has no room for.
      const int64_t most = std::min({options.draft_tokens, choice->answer().request.max_tokens - choice->completion() - 1,
                                     options.context - std::ssize(choice->tokens())});
      if (!choice->guesses) choice->guesses = options.drafter->start();
      if (most > 0) choice->drafts = choice->guesses->after(choice->tokens(), most);
    }
    choice->draft = std::ssize(choice->drafts);
  }
}

// The prompt is complete, or one more token: the choices that it now has.
void Engine::Loop::begin_choices(Choice& first, std::vector<Choice*>& ready) {
  Answer& answer = first.answer();
  const Request& request = answer.request;
  if (!std::exchange(answer.started, true)) {
    counted_.prompt_tokens += std::ssize(request.prompt);
    answer.usage.prompt = std::ssize(request.prompt);
    answer.usage.prompt_seconds = now() - answer.admitted;
    if (request.prompt_logprobs) answer.sink->prompt(std::exchange(answer.prompt_logprobs, {}));
  }
  if (request.embedding) {
    double squares = 0;
    for (const float v : answer.embedding_sum) squares += double(v) * v;
    for (float& v : answer.embedding_sum) v = float(double(v) / std::sqrt(squares));
    answer.sink->embedding(std::move(answer.embedding_sum));
    first.close();
    return finish(answer);
  }
  if (request.max_tokens == 0) {
    for (int64_t k = 0; k < request.choices; ++k) answer.sink->end(k, {.reason = Finish::length});
    first.close();
    return finish(answer);
  }
  ready.push_back(&first);
  if (first.slots == 1) return;
  first.slots = 1;
  for (int64_t k = 1; k < request.choices; ++k) {
    auto choice = std::make_unique<Choice>(first.shared_answer(), k, tokenizer_);
    choice->text = model_.start(pool_, options.context);
    choice->text->begin_like(*first.text);
    choice->kept = first.kept, choice->kept_pages = first.kept_pages;
    cache_.pin(choice->kept);
    choice->rows = first.rows;
    scheduler_.add_running(*choice);
    ready.push_back(choice.get());
    choices_.push_back(std::move(choice));
  }
}

// The text has its last token and its drafts; rows are the logits behind each.
void Engine::Loop::go_on(Choice& choice, int32_t token) {
  Answer& answer = choice.answer();
  const auto tell = [&](int32_t t, size_t row) {
    const double at = now();
    if (answer.first_token == 0) counted_.first_token.add((answer.first_token = at) - answer.arrived);
    else if (choice.last_token > 0) counted_.between_tokens.add(at - choice.last_token);
    choice.last_token = at;
    ++counted_.generated_tokens, ++answer.usage.completion;
    choice.push(t, choice.rows[row]);
  };
  tell(token, 0);
  const size_t drafted = choice.drafts.size();
  size_t accepted = 0;
  while (accepted < drafted && !choice.ended() && choice.tokens().back() == choice.drafts[accepted]) {
    ++accepted;
    tell(choice.next(choice.rows[accepted]), accepted);
  }
  for (size_t i = 0; i < drafted; ++i) {
    if (counted_.drafted.size() <= i) counted_.drafted.resize(i + 1), counted_.accepted.resize(i + 1);
    ++counted_.drafted[i];
    if (i < accepted) ++counted_.accepted[i];
  }
  answer.usage.drafted += int64_t(drafted), answer.usage.accepted += int64_t(accepted);
  if (choice.ended()) {
    const bool last = --answer.open_choices == 0;
    retire(choice);
    if (last) finish(answer);
    return;
  }
  // What the model has stored of wrong drafts.
  const int64_t right = std::ssize(choice.tokens()) - 1;
  if (choice.text->length() > right) {
    if (choice.before_drafts) choice.text->restore(choice.length_before_drafts, *choice.before_drafts);
    else choice.text->shorten(right);
  }
  choice.before_drafts.reset();
  choice.generates = true;
  choice.todo = std::ssize(choice.tokens()) - choice.text->length();
}

void Engine::Loop::retire(Choice& choice) {
  choice.close();
  scheduler_.remove(choice);
  let_go(choice);
}

// The sink is handed out and not kept: it may own what owns the request.
std::shared_ptr<Sink> Engine::Loop::leave(Answer& answer) {
  answer.ended = true;
  for (const auto& choice : choices_)
    if (&choice->answer() == &answer) retire(*choice);
  publish();  // who sees that nothing runs sees that nothing is in use
  const std::lock_guard lock(inbox_->mutex);
  --inbox_->open;
  if (answer.admitted == 0) --inbox_->waiting;
  inbox_->changed.notify_all();
  return std::exchange(answer.sink, nullptr);
}

void Engine::Loop::finish(Answer& answer) {
  if (answer.ended) return;
  const double end = now(), seconds = end - answer.arrived;
  answer.usage.queue_seconds = answer.admitted - answer.arrived;
  if (answer.first_token > 0) answer.usage.decode_seconds = end - answer.first_token;
  counted_.whole.add(seconds);
  ++counted_.finished;
  {
    const std::lock_guard lock(inbox_->mutex);
    inbox_->mean_seconds += (end - answer.admitted - inbox_->mean_seconds) / 8;
  }
  const auto sink = leave(answer);
  safely([&] { sink->done(answer.usage); });
}

void Engine::Loop::fail(Answer& answer, std::exception_ptr error) {
  if (answer.ended) return;
  ++counted_.failed;
  const auto sink = leave(answer);
  safely([&] { sink->failed(std::move(error)); });
}

void Engine::Loop::cancel(Answer& answer) {
  if (answer.ended) return;
  ++counted_.aborted;
  const auto sink = leave(answer);
  safely([&] { sink->failed(std::make_exception_ptr(StoppedError("the request was canceled"))); });
}

void Engine::Loop::sweep() {
  choices_.remove_if([](const std::unique_ptr<Choice>& choice) { return choice->ended(); });
}

}  // namespace hearth::engine
