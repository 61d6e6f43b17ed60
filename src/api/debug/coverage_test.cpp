// Checks that the rows of `--debug timing` cover the run: every call of the backend belongs to a reported op, so that "between operations"
// is only host work on small lists. Counts calls instead of measuring time.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "api/assets.h"
#include "api/debug/debug.h"
#include "backends/backends.h"
#include "core/threads.h"
#include "models/checkpoints.h"
#include "models/registry.h"

namespace hearth::api {
namespace {

// The cpu backend, counting its calls by the names of ops.
class Counting final : public Backend {
 public:
  Counting() : inner_(make_backend({.threads = 2})) {}
  mutable std::map<std::string, int64_t> calls;

  std::string name() const override { return inner_->name(); }
  std::string features() const override { return inner_->features(); }
  ThreadPool& threads() override { return inner_->threads(); }
  int64_t most_thread_scratch() const override { return inner_->most_thread_scratch(); }
  void release_cached() override { inner_->release_cached(); }
  MemoryLedger& ledger() override { return inner_->ledger(); }
  std::shared_ptr<const void> count_mapped(int64_t bytes) override { return inner_->count_mapped(bytes); }
  std::unique_ptr<Backend> dry_twin(MemoryLedger& ledger) const override { return inner_->dry_twin(ledger); }
  std::shared_ptr<const Storage> allocate(size_t bytes) override {
    auto storage = std::make_shared<Storage>(*inner_->allocate(bytes));
    storage->backend = this;
    return storage;
  }
  std::shared_ptr<const PreparedWeight> prepare(const Tensor& w, WeightKind kind, const WeightForm& form) override {
    return inner_->prepare(w, kind, form);
  }
  void linear(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, const GroupNormSpec& norm, Tensor& y) override {
    ++calls[norm ? "group_norm+linear" : "linear"];
    inner_->linear(x, w, bias, e, norm, y);
  }
  void conv(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e, const GroupNormSpec& norm,
            Tensor& y) override {
    ++calls[norm ? "group_norm+conv2d" : "conv2d"];
    inner_->conv(x, w, bias, spec, e, norm, y);
  }
  void attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec, Tensor& y) override {
    ++calls["attention"];
    inner_->attention(q, k, v, spec, y);
  }
  void cached_attention(const Tensor& q, std::span<const KeyValues> texts, const CachedAttentionSpec& spec, Tensor& y) override {
    ++calls["cached_attention"];
    inner_->cached_attention(q, texts, spec, y);
  }
  void rope(const Tensor& x, const Tensor& table, RotaryPairs pairs, Tensor& y) override {
    ++calls["rope"];
    inner_->rope(x, table, pairs, y);
  }
  void group_norm(const Tensor& x, const GroupNormSpec& spec, Tensor& y) override {
    ++calls["group_norm"];
    inner_->group_norm(x, spec, y);
  }
  void layer_norm(const Tensor& x, const NormSpec& spec, Tensor& y) override {
    ++calls["layer_norm"];
    inner_->layer_norm(x, spec, y);
  }
  void rms_norm(const Tensor& x, const NormSpec& spec, Tensor& y) override {
    ++calls["rms_norm"];
    inner_->rms_norm(x, spec, y);
  }
  void activate(const Tensor& x, Activation act, Tensor& y) override {
    ++calls["activate"];
    inner_->activate(x, act, y);
  }
  void linear_combination(std::span<const Tensor> xs, std::span<const float> factors, Tensor& y) override {
    ++calls["linear_combination"];
    inner_->linear_combination(xs, factors, y);
  }
  void upload(const Tensor& x, Tensor& y) override { inner_->upload(x, y); }  // no op
  void fill(Tensor& y, float value) override { inner_->fill(y, value); }      // no op
  void copy(const Tensor& x, Tensor& y) override {
    ++calls["moves"];
    inner_->copy(x, y);
  }
  void resize_nearest(const Tensor& x, Tensor& y) override {
    ++calls["resize_nearest"];
    inner_->resize_nearest(x, y);
  }
  void embedding(const Tensor& ids, const Tensor& table, Tensor& y) override {
    ++calls["embedding"];
    inner_->embedding(ids, table, y);
  }

 private:
  std::unique_ptr<Backend> inner_;
};

TEST(Coverage, every_backend_call_is_an_op_in_its_phase) {
  Counting device;
  const Checkpoint checkpoint = models::open_checkpoint(demo_model_folder());
  const auto pipeline = models::open_image_model(checkpoint, device, {.warn = [](const auto&) {}});
  const models::ImageTask task{.request = {.prompt = "a lighthouse", .width = 64, .height = 64, .steps = 3, .batch_size = 2}, .seed = 1};
  const auto job = pipeline->prepare(task);
  job->plan();

  device.calls.clear();
  DebugObserver observer({.timing = true}, device);
  std::map<std::string, int64_t> calls;  // "sample conv2d"
  std::string phase = "prepare";
  const auto end_phase = [&](const std::string& next) {
    for (const auto& [op, n] : device.calls) calls[phase + " " + op] += n;
    device.calls.clear();
    phase = next;
    observer.set_phase(next);
  };
  {
    const ObserverScope scope(observer);
    job->run([&](const Progress& p) {
      if (p.phase != phase) end_phase(std::string(p.phase));
    });
    end_phase("finish");
  }
  observer.finish();

  std::map<std::string, int64_t> reported;
  const nlohmann::json report = observer.report();
  for (const nlohmann::json& row : report.at("timing").at("ops")) {
    std::string op = row.at("op");
    if (op == "between operations") continue;
    if (op == "copy" || op == "concat") op = "moves";
    reported[row.at("phase").get<std::string>() + " " + op] += row.at("calls").get<int64_t>();
  }
  for (const auto& [what, n] : calls) {
    if (what.ends_with(" moves")) {
      EXPECT_GT(reported[what], 0) << what;  // concat copies each of its inputs
    } else {
      EXPECT_EQ(reported[what], n) << what;
    }
  }
  EXPECT_GT(calls.at("sample group_norm+conv2d"), 30);
  EXPECT_GT(calls.at("decode attention"), 0);
  EXPECT_GT(calls.at("encode linear"), 0);
}

}  // namespace
}  // namespace hearth::api
