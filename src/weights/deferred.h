// A module that is loaded when it is first needed: a network's part that most runs never use.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "weights/scope.h"

namespace hearth {

// Made as every module is: what is missing, misshapen or unreadable is noted at once, and its tensors count as read. The first
// use reads and prepares them; what is not a number is found then: WeightError. Copies are one module. Safe from several threads.
template <class Module> class Deferred {
 public:
  using Build = std::function<Module(const Scope&)>;

  Deferred(const Scope& w, Build build) : state_(std::make_shared<State>()) {
    if (!w.weights().lists_tensors()) {
      state_->module.emplace(build(w));
      return;
    }
    w.weights().without_loading([&] { build(w); });
    state_->build = std::move(build);
    state_->path = w.path();
    state_->weights = w.weights().later();
  }

  bool loaded() const {
    const std::lock_guard lock(state_->mutex);
    return state_->module.has_value();
  }

  const Module& operator*() const {
    State& s = *state_;
    const std::lock_guard lock(s.mutex);
    if (!s.module) {
      Weights weights = s.weights->now(s.path);
      Module module = s.build(Scope(weights, s.path));
      weights.finish();
      s.module.emplace(std::move(module));
      s.weights.reset();
    }
    return *s.module;
  }

 private:
  struct State {
    std::mutex mutex;
    std::optional<Module> module;
    Build build;
    std::string path;
    std::optional<Weights> weights;
  };
  std::shared_ptr<State> state_;
};

}  // namespace hearth
