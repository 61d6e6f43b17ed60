#include "api/debug/profile.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hearth::api {

void Profile::begin_phase(std::string_view name, double now) {
  if (between_ && name == phase_) return;
  end(now);
  phase_ = name;
  since_phase_ = last_ = now;
  between_ = &ops_[{phase_, "between operations"}];
  outside_ = &blocks_[{phase_, "outside the blocks"}];
}

void Profile::end(double now) {
  if (!between_) return;
  while (!open_.empty()) leave(now);
  spend(now - last_, *between_);
  last_ = now;
  const auto known = std::ranges::find(phases_, phase_, &std::pair<std::string, double>::first);
  if (known != phases_.end()) known->second += now - since_phase_;
  else phases_.emplace_back(phase_, now - since_phase_);
  between_ = outside_ = nullptr;
}

void Profile::spend(double seconds, Row& op) {
  op.seconds += seconds;
  (open_.empty() ? outside_ : open_.back().row)->seconds += seconds;
}

void Profile::enter(std::string_view block, double now) {
  if (!between_) return;
  spend(now - last_, *between_);
  last_ = now;
  Row& row = blocks_[{phase_, std::string(block)}];
  ++row.calls;
  open_.push_back({&row, now});
}

void Profile::leave(double now) {
  if (open_.empty()) return;
  spend(now - last_, *between_);
  last_ = now;
  open_.back().row->whole += now - open_.back().since;
  open_.pop_back();
}

// An op that called another one (a copy that makes its input dense) is reported after it, so it is charged the time since that report at
// most.
void Profile::op(const OpEvent& event, double now) {
  if (!between_) return;
  const double seconds = std::min(event.seconds, now - last_);
  spend(now - last_ - seconds, *between_);
  last_ = now;
  Row& row = ops_[{phase_, std::string(event.op)}];
  Row& block = open_.empty() ? *outside_ : *open_.back().row;
  spend(seconds, row);
  ++row.calls;
  const Least bound = least(event);
  for (Row* r : {&row, &block}) {
    r->flop += event.flop;
    r->least += std::max(bound.computing, bound.reading);
    if (event.flop == 0) r->read += event.bytes;
    else if (bound.reading > bound.computing) r->read += event.weight_bytes;
    else ++r->computed;
  }
}

void Profile::debugging(double now) {
  if (!between_) return;
  const double seconds = now - last_;
  blocks_[{phase_, "debugging"}].seconds += seconds;
  for (Open& block : open_) block.since += seconds;
  ops_[{phase_, "debugging"}].seconds += seconds;
  last_ = now;
}

Profile::Least Profile::least(const OpEvent& event) const {
  if (!ceilings_) return {};
  return {.computing = event.flop * 1e-9 / ceilings_->gflops(event.factors),
          .reading = double(event.flop > 0 ? event.weight_bytes : event.bytes) * 1e-9 / ceilings_->read_gbs};
}

nlohmann::json Profile::report() const {
  nlohmann::json report;
  if (ceilings_)
    report["ceilings"] = {
        {"matrix_gflops", ceilings_->matrix_gflops}, {"bf16_gflops", ceilings_->bf16_gflops}, {"read_gbs", ceilings_->read_gbs}};
  for (const auto& [phase, seconds] : phases_) report["phases"].push_back({{"phase", phase}, {"wall_seconds", seconds}});

  const auto rows = [](const std::map<Key, Row>& table, const char* name, bool block) {
    std::vector<std::pair<Key, Row>> sorted(table.begin(), table.end());
    std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
    nlohmann::json list = nlohmann::json::array();
    for (const auto& [key, row] : sorted) {
      nlohmann::json entry = {
          {"phase", key.first}, {name, key.second}, {"calls", row.calls}, {"seconds", row.seconds}, {"gflop", row.flop * 1e-9}};
      if (block) entry["whole_seconds"] = row.whole;
      if (!block && row.computed == 0 && row.read > 0 && row.seconds > 0) entry["gbs"] = double(row.read) * 1e-9 / row.seconds;
      if (row.least > 0 && row.seconds > 0) entry["fraction"] = row.least / row.seconds;
      list.push_back(entry);
    }
    return list;
  };
  report["ops"] = rows(ops_, "op", false);
  report["blocks"] = rows(blocks_, "block", true);
  return report;
}

}  // namespace hearth::api
