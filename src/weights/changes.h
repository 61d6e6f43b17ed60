// What a run changes about the weights of a component. The component's own network stays as it is: the run builds another one, which shares
// with it all weights that do not change.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "weights/weights.h"

namespace hearth {

// A branch of a weight (WeightBranch) in files: down [R, in] or [R, in, kernel …], up [out, R].
struct LowRank {
  Shape down, up;
  std::function<std::pair<Tensor, Tensor>(Backend& host)> read;  // both f32 and dense, on the host
};

struct WeightChanges {
  std::string key;                          // equal for equal changes only
  std::map<std::string, LowRank> branches;  // by the weight's name
  // The values in place of a tensor's own, given these as f32 on a host; f32 of the same shape.
  std::map<std::string, std::function<Tensor(const Tensor& own)>> replaced;

  bool empty() const { return branches.empty() && replaced.empty(); }
};

// The source with the replaced values, which are computed at every read. `changes` must list tensors of the source.
std::shared_ptr<TensorSource> changed(std::shared_ptr<TensorSource> source, std::shared_ptr<const WeightChanges> changes);

// Prepared weights and tensors of a network, for another network of the same component. Thread-safe.
class LoadedWeights {
 public:
  // `key`: name, kind and rows.
  Weight weight(const std::string& key) const;
  Tensor tensor(const std::string& key) const;
  void add(const std::string& key, const Weight& weight);
  void add(const std::string& key, const Tensor& tensor);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Weight> weights_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace hearth
