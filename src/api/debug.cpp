#include "api/debug.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace hearth::api {

void DebugObserver::on_op(const OpEvent& event) {
  if (debug_.timing) {
    Sum& sum = ops_[{phase_, std::string(event.op)}];
    ++sum.calls;
    sum.seconds += event.seconds;
    sum.flop += event.flop;
    since_block_ += event.seconds;
  }
  if (debug_.shapes) {
    const std::string line = fmt::format("{}: {}{}{} {} → {} {}", phase_, event.op, event.weight.empty() ? "" : " ", event.weight,
                                         event.x.shape(), event.y.shape(), name_of(event.y.dtype()));
    if (++shapes_[line] == 1) shape_order_.push_back(line);
  }
  if (debug_.nan && is_float(event.y.dtype())) {
    if (const int64_t bad = count_non_finite(event.y)) {
      const int64_t before = is_float(event.x.dtype()) ? count_non_finite(event.x) : 0;
      fail<NonFiniteError>("{}: {}{}{}{} is the first with values that are no numbers: {} of {} (its input has {}){}{}", phase_, event.op,
                           event.weight.empty() ? "" : " '", event.weight, event.weight.empty() ? "" : "'", bad, event.y.numel(), before,
                           last_block_.empty() ? "" : ", after the block ", last_block_);
    }
  }
}

void DebugObserver::on_tap(std::string_view path, const Tensor&) {
  last_block_ = path;
  Sum& sum = blocks_[{phase_, last_block_}];
  ++sum.calls;
  sum.seconds += since_block_;
  since_block_ = 0;
}

nlohmann::json DebugObserver::report() const {
  nlohmann::json report = nlohmann::json::object();
  const auto slowest_first = [](const std::map<Key, Sum>& sums) {
    std::vector<std::pair<Key, Sum>> sorted(sums.begin(), sums.end());
    std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
    return sorted;
  };
  if (debug_.timing) {
    auto& ops = report["timing"]["ops"] = nlohmann::json::array();
    for (const auto& [key, sum] : slowest_first(ops_))
      ops.push_back({{"phase", key.first}, {"op", key.second}, {"calls", sum.calls}, {"seconds", sum.seconds}, {"gflop", sum.flop * 1e-9}});
    auto& blocks = report["timing"]["blocks"] = nlohmann::json::array();
    for (const auto& [key, sum] : slowest_first(blocks_))
      blocks.push_back({{"phase", key.first}, {"block", key.second}, {"calls", sum.calls}, {"seconds", sum.seconds}});
  }
  if (debug_.shapes)
    for (const std::string& line : shape_order_) report["shapes"].push_back(fmt::format("{}, {} times", line, shapes_.at(line)));
  if (debug_.nan) report["nan"] = "every result of every operation was a number";
  return report;
}

}  // namespace hearth::api
