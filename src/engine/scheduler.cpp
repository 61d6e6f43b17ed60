#include "engine/scheduler.h"

#include <algorithm>

namespace hearth::engine {

void Scheduler::add(Job& job, double now) {
  job.arrived = now;
  job.order = ++orders_;
  job.runs = false;
  waiting_.push_back(&job);
}

void Scheduler::add_running(Job& job) {
  job.order = ++orders_;
  job.runs = true;
  running_.push_back(&job);
}

void Scheduler::remove(Job& job) {
  waiting_.remove(&job);
  running_.remove(&job);
  job.runs = false;
}

int64_t Scheduler::slots_in_use() const {
  int64_t sum = 0;
  for (const Job* job : running_) sum += job->slots;
  return sum;
}

// The lowest priority, which waiting improves; the earliest among equals.
std::list<Job*>::iterator Scheduler::next_waiting(double now) {
  const auto rank = [&](const Job* job) { return double(job->priority) - std::max(0.0, now - job->arrived) / limits_.patience; };
  const bool equal = std::ranges::all_of(waiting_, [&](const Job* job) { return job->priority == waiting_.front()->priority; });
  if (equal) return waiting_.begin();
  return std::ranges::min_element(waiting_, {}, rank);
}

Job& Scheduler::stop_back(Memory& memory) {
  Job& last = *running_.back();
  running_.pop_back();
  memory.stop(last);
  last.runs = false;
  waiting_.insert(std::ranges::find_if(waiting_, [&](const Job* other) { return other->order > last.order; }), &last);
  return last;
}

void Scheduler::stop_last(Memory& memory) {
  if (!running_.empty()) stop_back(memory);
}

bool Scheduler::make_room(Memory& memory, Job& job, int64_t count, std::vector<Share>& shares) {
  while (!memory.reserve(job, count)) {
    const Job& last = stop_back(memory);
    std::erase_if(shares, [&](const Share& share) { return share.job == &last; });
    stopped_ = true;
    if (&last == &job) return false;
  }
  return true;
}

std::vector<Scheduler::Share> Scheduler::pass(Memory& memory, double now) {
  std::vector<Share> shares;
  int64_t left = limits_.tokens;
  stopped_ = false;
  const std::vector<Job*> in_order(running_.begin(), running_.end());
  for (const bool generating : {true, false})
    for (Job* const job : in_order) {
      if (left == 0 || !job->runs || job->generates != generating) continue;
      const int64_t draft = generating ? std::min(job->draft, left - job->todo) : 0;
      const int64_t count = memory.piece(*job, std::min(left, job->todo));
      const bool drafts = draft > 0 && memory.reserve(*job, count + draft);  // not worth stopping another text
      if (!drafts && !make_room(memory, *job, count, shares)) continue;
      shares.push_back({job, count, drafts ? draft : 0});
      left -= count + (drafts ? draft : 0);
    }
  while (left > 0 && !stopped_ && !waiting_.empty()) {
    const auto next = next_waiting(now);
    Job& job = **next;
    if (slots_in_use() + job.slots > limits_.parallel && !running_.empty()) break;
    if (!memory.admit(job)) break;
    const int64_t count = memory.piece(job, std::min(left, job.todo));
    if (!memory.reserve(job, count)) {
      memory.stop(job);
      break;
    }
    waiting_.erase(next);
    job.runs = true;
    running_.push_back(&job);
    shares.push_back({&job, count, 0});
    left -= count;
  }
  return shares;
}

}  // namespace hearth::engine
