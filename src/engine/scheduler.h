// Which texts take part in the next pass, and with how many tokens. Knows neither models nor pages: tests run it in simulated time.
//
// In each pass, texts that generate come first, in the order in which they were admitted; then prompts, first come first served; then
// waiting texts are admitted, until the budget of tokens or of texts is used up. If there is no memory for a text's next tokens, the text
// that was admitted last stops and waits again. The one that was admitted first is never stopped, so that all of them end. In a pass that
// stopped a text, none is admitted.
#pragma once

#include <cstdint>
#include <list>
#include <vector>

namespace hearth::engine {

// A text that is to be computed. The owner changes todo, draft and slots between passes.
struct Job {
  virtual ~Job() = default;

  int64_t todo = 0;  // tokens to feed; 1: the text generates, and this is its last token
  bool generates = false;
  int64_t draft = 0;     // tokens that it wants to try in addition
  int64_t slots = 1;     // of `parallel` that it takes: choices that will share its prompt
  int64_t priority = 0;  // lower is earlier
  double arrived = 0;    // seconds

  // Of the scheduler.
  int64_t order = 0;
  bool runs = false;
};

class Scheduler {
 public:
  struct Limits {
    int64_t tokens = 512;   // of a pass
    int64_t parallel = 32;  // texts
    double patience = 10;   // seconds of waiting that count as one priority
  };

  class Memory {
   public:
    virtual ~Memory() = default;
    // Gets a waiting text ready for its first tokens; todo and draft may change. False if there is no room for it now.
    virtual bool admit(Job& job) = 0;
    // How many of the text's next `count` tokens one pass may have.
    virtual int64_t piece(const Job& job, int64_t count) = 0;
    virtual bool reserve(Job& job, int64_t count) = 0;  // room for its next tokens
    virtual void stop(Job& job) = 0;                    // its memory is needed; it will be admitted again
  };

  struct Share {
    Job* job = nullptr;
    int64_t tokens = 0, draft = 0;
  };

  explicit Scheduler(Limits limits) : limits_(limits) {}

  void add(Job& job, double now);  // waits
  void add_running(Job& job);      // begun by another text
  void remove(Job& job);           // ended or canceled
  std::vector<Share> pass(Memory& memory, double now);

  void stop_last(Memory& memory);  // for tests

  int64_t waiting() const { return std::ssize(waiting_); }
  int64_t running() const { return std::ssize(running_); }

 private:
  Job& stop_back(Memory& memory);
  bool make_room(Memory& memory, Job& job, int64_t count, std::vector<Share>& shares);
  int64_t slots_in_use() const;
  std::list<Job*>::iterator next_waiting(double now);

  Limits limits_;
  std::list<Job*> waiting_, running_;  // by arrival; by admission
  int64_t orders_ = 0;
  bool stopped_ = false;  // a text, in this pass
};

}  // namespace hearth::engine
