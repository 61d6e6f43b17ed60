#include "backends/plan/plan_backend.h"

#include "core/threads.h"

namespace hearth {
namespace {

struct PlannedWeight final : PreparedWeight {
  PlannedWeight(MemoryLedger& l, size_t size, Tensor in_place_) : in_place(std::move(in_place_)), ledger(l) {
    bytes = size;
    ledger.add(int64_t(size));
  }
  ~PlannedWeight() override { ledger.add(-int64_t(bytes)); }
  Tensor in_place;
  MemoryLedger& ledger;
};

class PlanBackend final : public Backend {
 public:
  explicit PlanBackend(MemoryLedger& ledger) : ledger_(ledger), pool_(1) {}

  std::string name() const override { return "plan"; }
  std::string features() const override { return ""; }
  ThreadPool& threads() override { return pool_; }
  bool computes() const override { return false; }
  std::unique_ptr<Backend> dry_twin(MemoryLedger& ledger) const override { return make_plan_backend(ledger); }
  MemoryLedger& ledger() override { return ledger_; }
  std::shared_ptr<const void> count_mapped(int64_t bytes) override {
    ledger_.add_mapped(bytes);
    return {&ledger_, [&ledger = ledger_, bytes](const void*) { ledger.add_mapped(-bytes); }};
  }
  bool multiplies_bf16() const override { return true; }

  std::shared_ptr<const Storage> allocate(size_t bytes) override {
    auto storage = std::make_shared<Storage>();
    storage->size = bytes;
    storage->backend = this;
    storage->on_host = false;
    ledger_.add(int64_t(bytes));
    storage->owner =
        std::shared_ptr<const void>(static_cast<const void*>(nullptr), [this, bytes](const void*) { ledger_.add(-int64_t(bytes)); });
    return storage;
  }
  std::shared_ptr<const PreparedWeight> prepare(const Tensor& w, WeightKind, const WeightForm& form) override {
    if (form.in_place) return std::make_shared<PlannedWeight>(ledger_, 0, w);
    return std::make_shared<PlannedWeight>(ledger_, bytes_of(form.hold, w.numel()), Tensor());
  }

 private:
  MemoryLedger& ledger_;
  ThreadPool pool_;
};

}  // namespace

std::unique_ptr<Backend> make_plan_backend(MemoryLedger& ledger) { return std::make_unique<PlanBackend>(ledger); }

}  // namespace hearth
