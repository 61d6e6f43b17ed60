#include "engine/engine.h"

#include <algorithm>

#include "core/memory.h"
#include "engine/loop.h"

namespace hearth::engine {

void Histogram::add(double seconds) {
  size_t i = 0;
  while (i < std::size(bounds) && seconds > bounds[i]) ++i;
  ++counts[i], ++count;
  sum += seconds;
}

Engine::Engine(models::LanguageModel& model, Backend& device, const text::Tokenizer* tokenizer, const EngineOptions& options)
    : loop_(std::make_unique<Loop>(model, device, tokenizer, options)) {}
Engine::~Engine() = default;

Engine::Ticket& Engine::Ticket::operator=(Ticket&& other) noexcept {
  cancel();
  answer_ = std::move(other.answer_);
  return *this;
}

void Engine::Ticket::cancel() {
  const auto answer = std::exchange(answer_, nullptr);
  if (!answer) return;
  answer->canceled = true;  // the engine looks before every pass
}

Engine::Ticket Engine::submit(Request request, std::shared_ptr<Sink> sink) { return loop_->submit(std::move(request), std::move(sink)); }
void Engine::drain(std::chrono::steady_clock::time_point deadline) { loop_->drain(deadline); }
bool Engine::idle() const { return loop_->idle(); }
EngineMetrics Engine::metrics() const { return loop_->metrics(); }
int64_t Engine::context() const { return loop_->options.context; }
const MemoryPlan& Engine::memory() const { return loop_->plan; }

Engine::Ticket Engine::Loop::submit(Request request, std::shared_ptr<Sink> sink) {
  const int64_t prompt = std::ssize(request.prompt), rows = model_.sizes().vocabulary;
  if (prompt == 0) hearth::fail<UsageError>("the prompt has no tokens, expected at least one");
  for (const int32_t id : request.prompt)
    if (id < 0 || id >= rows) hearth::fail<UsageError>("prompt: token id {} is outside the model's vocabulary of {}", id, rows);
  if (prompt > options.context)
    hearth::fail<UsageError>("the prompt has {} tokens, expected at most the context length of {}", prompt, options.context);
  if (request.choices < 1 || request.choices > plan.parallel)
    hearth::fail<UsageError>("{} choices: expected 1 to {}", request.choices, plan.parallel);
  request.max_tokens = std::min(request.max_tokens, options.context - prompt);
  request.sampling.vocabulary = tokenizer_ ? std::min(tokenizer_->vocab_size(), rows) : 0;
  sampling::check(request.sampling);
  auto answer = std::make_shared<Answer>();
  answer->request = std::move(request);
  answer->sink = std::move(sink);
  answer->arrived = now();
  {
    const std::lock_guard lock(inbox_->mutex);
    if (inbox_->closing) throw StoppedError("the server is shutting down");
    if (inbox_->waiting >= options.max_queue) {
      const double seconds = inbox_->mean_seconds * double(inbox_->waiting + 1) / double(plan.parallel);
      throw OverloadedError(fmt::format("the queue is full: {} requests are waiting", inbox_->waiting),
                            std::clamp<int64_t>(int64_t(seconds), 1, 60));
    }
    ++inbox_->open, ++inbox_->waiting;
    inbox_->submitted.push_back(answer);
    inbox_->changed.notify_all();
  }
  Ticket ticket;
  ticket.answer_ = std::move(answer);
  return ticket;
}

void Engine::Loop::drain(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(inbox_->mutex);
  inbox_->closing = true;
  inbox_->changed.notify_all();
  inbox_->changed.wait_until(lock, deadline, [&] { return inbox_->open == 0; });
}

bool Engine::Loop::idle() const {
  const std::lock_guard lock(inbox_->mutex);
  return inbox_->open == 0;
}

EngineMetrics Engine::Loop::metrics() const {
  int64_t waiting = 0, running = 0;
  {
    const std::lock_guard lock(inbox_->mutex);
    waiting = inbox_->waiting, running = inbox_->open - inbox_->waiting;
  }
  const std::lock_guard lock(metrics_mutex_);  // after the requests: what they used was published before they ended
  EngineMetrics m = published_;
  m.waiting = waiting, m.running = running;
  return m;
}

}  // namespace hearth::engine
