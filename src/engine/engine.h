// Generates for many requests at once with one language model, on a thread of its own.
//
// The keys and values of all texts lie in pages of one pool. In each pass the scheduler chooses what is computed: the next token of every
// text that generates, and pieces of prompts. A text that begins like an earlier one continues from its pages (PrefixCache). If the
// pool is too small for all running texts, the one that came last is stopped, and computed again later or taken from where it was kept.
//
// None of this changes an answer: the tokens and log-probabilities of a request have the same bits alone and among others, with a prefix
// that was reused, after it was stopped, and with drafts.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "core/error.h"
#include "engine/request.h"
#include "models/language_model.h"
#include "text/tokenizer/tokenizer.h"

namespace hearth::engine {

struct EngineOptions {
  int64_t context = 0;        // tokens of a text, prompt and completion; 0: what the model was trained for
  int64_t parallel = 32;      // texts that are computed at once
  int64_t cache_bytes = 0;    // of pages and recurrent states; 0: see plan_memory()
  int64_t swap_bytes = 0;     // of texts that were stopped and are kept; what does not fit is computed again
  int64_t pass_tokens = 512;  // tokens of a pass
  int64_t max_queue = 256;    // requests that wait; more are refused
  bool prefix_cache = true;
  DType cache_type = DType::f32;
  std::shared_ptr<const class Drafter> drafter;  // null: no speculation
  int64_t draft_tokens = 4;
  // For tests: stops the text that was admitted last in every pass of this number; 0: never.
  int64_t stop_every = 0;
};

// Pages, texts and snapshots for these options.
struct MemoryPlan {
  std::vector<int64_t> pages;  // of each group of the pool
  std::vector<int64_t> most;   // of these, what one text may hold
  int64_t page_bytes = 0, state_bytes = 0, snapshot_bytes = 0;
  int64_t parallel = 0;
  int64_t bytes() const { return page_bytes + state_bytes + snapshot_bytes; }
};
// UsageError if cache_bytes is less than one text of the whole context needs, with both numbers. Without cache_bytes: eight texts of the
// whole context, at most a quarter of the memory that is available, at least one text.
MemoryPlan plan_memory(const models::LanguageModel& model, const EngineOptions& options, int64_t available);

// Takes the memory that an engine with this plan takes, in a dry run: all texts at once, and a pass of as many tokens as there can be. In
// an engine at work, texts that come and go also leave holes between blocks of memory.
void rehearse(models::LanguageModel& dry, const EngineOptions& options, const MemoryPlan& plan);

// The queue is full: `seconds` until it is worth trying again.
class OverloadedError : public Error {
 public:
  OverloadedError(const std::string& what, int64_t s) : Error(what), seconds(s) {}
  int64_t seconds;
};
// The engine ends, or the request was canceled.
class StoppedError : public Error {
 public:
  using Error::Error;
};

struct Histogram {
  static constexpr double bounds[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300};
  std::array<int64_t, std::size(bounds) + 1> counts = {};
  double sum = 0;
  int64_t count = 0;
  void add(double seconds);
};

struct EngineMetrics {
  int64_t waiting = 0, running = 0;                          // requests
  int64_t finished = 0, aborted = 0, failed = 0;             // since the start
  int64_t pages_used = 0, pages_cached = 0, pages_free = 0;  // of running texts; kept for others; free
  int64_t prompt_tokens = 0, generated_tokens = 0, prefix_tokens = 0, preemptions = 0, passes = 0;
  std::vector<int64_t> drafted, accepted;  // by position
  Histogram first_token, between_tokens, whole, pass;
};

class Engine {
 public:
  // The model, its device and its tokenizer (null: none) must outlive the engine. Starts the thread.
  Engine(models::LanguageModel& model, Backend& device, const text::Tokenizer* tokenizer, const EngineOptions& options);
  ~Engine();  // cancels what is left

  // Cancels when destroyed, unless the request has ended.
  class Ticket {
   public:
    Ticket() = default;
    Ticket(Ticket&&) noexcept = default;
    Ticket& operator=(Ticket&&) noexcept;
    ~Ticket() { cancel(); }
    void cancel();

   private:
    friend class Engine;
    std::shared_ptr<struct Answer> answer_;
  };
  // UsageError for a request that can never be answered; OverloadedError; StoppedError while the engine ends.
  Ticket submit(Request request, std::shared_ptr<Sink> sink);

  // No new requests; waits until all are answered, or until the deadline, and cancels the rest.
  void drain(std::chrono::steady_clock::time_point deadline);
  bool idle() const;

  EngineMetrics metrics() const;
  int64_t context() const;
  const MemoryPlan& memory() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace hearth::engine
