// The engine's thread: what Engine does, pass by pass.
#pragma once

#include <list>

#include "engine/choice.h"
#include "engine/drafter.h"
#include "engine/engine.h"

namespace hearth::engine {

// Where other threads leave requests for the engine's thread.
struct Inbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::shared_ptr<Answer>> submitted;
  int64_t open = 0;     // requests that were submitted and have not ended
  int64_t waiting = 0;  // of these, not admitted yet
  bool closing = false, stops = false;
  double mean_seconds = 1;  // that a request takes
};

class Engine::Loop final : Scheduler::Memory {
 public:
  Loop(models::LanguageModel& model, Backend& device, const text::Tokenizer* tokenizer, const EngineOptions& options);
  ~Loop();

  Ticket submit(Request request, std::shared_ptr<Sink> sink);
  void drain(std::chrono::steady_clock::time_point deadline);
  bool idle() const;
  EngineMetrics metrics() const;

  const EngineOptions options;
  const MemoryPlan plan;

 private:
  // loop.cpp
  void run();
  bool take_news();  // false: the loop ends
  void pass();
  std::vector<models::LanguageModel::Slice> slices(std::span<const Scheduler::Share> shares);
  void publish();
  double now() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  // answers.cpp
  void draft();
  void begin_choices(Choice& first, std::vector<Choice*>& ready);
  void go_on(Choice& choice, int32_t token);
  void retire(Choice& choice);
  std::shared_ptr<Sink> leave(Answer& answer);
  void finish(Answer& answer);
  void fail(Answer& answer, std::exception_ptr error);
  void cancel(Answer& answer);
  void sweep();

  // pages.cpp
  bool admit(Job& job) override;
  int64_t piece(const Job& job, int64_t count) override;
  bool reserve(Job& job, int64_t count) override;
  void stop(Job& job) override;
  bool ensure(const models::PooledText& text, int64_t length, int64_t spare);
  bool uses_cache() const;
  void keep_pages(Choice& choice);
  void let_go(Choice& choice);

  models::LanguageModel& model_;
  Backend& device_;
  const text::Tokenizer* tokenizer_;
  const models::LanguageModel::Pooling pooling_;
  std::shared_ptr<models::TextPool> pool_;
  PrefixCache cache_;
  Scheduler scheduler_;
  std::list<std::unique_ptr<Choice>> choices_;
  DraftControl control_;
  bool drafting_ = false;  // in this pass
  int64_t swapped_ = 0;    // bytes
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();

  std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  EngineMetrics counted_;
  int64_t releasable_ = 0;     // pages that only the cache holds, as of
  double counted_pages_ = -1;  // this time
  mutable std::mutex metrics_mutex_;
  EngineMetrics published_;
  std::thread thread_;
};

}  // namespace hearth::engine
