#include "api/debug/debug.h"

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace hearth::api {

DebugObserver::DebugObserver(const Debug& debug, Backend& device)
    : debug_(debug),
      profile_(debug.timing && has_ceilings(device) ? std::optional(measure_ceilings(device, Effort::quick)) : std::nullopt) {
  began_ = std::chrono::steady_clock::now();
  set_phase("prepare");
}

void DebugObserver::set_phase(std::string_view phase) {
  phase_ = phase;
  if (debug_.timing) profile_.begin_phase(phase, now());
}

void DebugObserver::finish() { profile_.end(now()); }

void DebugObserver::on_enter(std::string_view path) {
  if (debug_.timing) profile_.enter(path, now());
}

void DebugObserver::on_leave() {
  if (debug_.timing) profile_.leave(now());
}

void DebugObserver::on_op(const OpEvent& event) {
  if (debug_.timing) profile_.op(event, now());
  if (debug_.shapes) {
    const std::string line = fmt::format("{}: {}{}{} {} → {} {}", phase_, event.op, event.weight.empty() ? "" : " ", event.weight,
                                         event.x.shape(), event.y.shape(), name_of(event.y.dtype()));
    if (++shapes_[line] == 1) shape_order_.push_back(line);
  }
  if (debug_.nan && is_float(event.y.dtype())) {
    if (const int64_t bad = count_non_finite(event.y)) {
      const int64_t before = is_float(event.x.dtype()) ? count_non_finite(event.x) : 0;
      fail<NonFiniteError>("{}: {}{}{}{} is the first op with non-finite values: {} of {} (its input has {}){}{}", phase_, event.op,
                           event.weight.empty() ? "" : " '", event.weight, event.weight.empty() ? "" : "'", bad, event.y.numel(), before,
                           last_block_.empty() ? "" : ", after the block ", last_block_);
    }
  }
  if (debug_.timing && (debug_.shapes || debug_.nan)) profile_.debugging(now());
}

nlohmann::json DebugObserver::report() const {
  nlohmann::json report = nlohmann::json::object();
  if (debug_.timing) report["timing"] = profile_.report();
  if (debug_.shapes)
    for (const std::string& line : shape_order_) report["shapes"].push_back(fmt::format("{}, {} times", line, shapes_.at(line)));
  if (debug_.nan) report["nan"] = "every op returned finite values";
  return report;
}

}  // namespace hearth::api
