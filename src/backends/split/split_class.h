// The class behind make_split_backend: where an op runs, and what its operands are there.
#pragma once

#include <atomic>
#include <concepts>
#include <tuple>
#include <vector>

#include "backends/split/split_backend.h"
#include "backends/split/split_storage.h"

namespace hearth::split {

struct SplitWeight final : PreparedWeight {
  Side side = Side::card;
  std::shared_ptr<const PreparedWeight> own;  // of that side's backend
};

// A tensor that an op writes.
struct Output {
  Tensor* y;
  bool updates = false;  // it also reads what is there
  Tensor own = {};       // on the side where the op runs
};

// f(tensor) for each tensor of an op's argument, and of a spec in it.
template <class T>
concept WithoutTensors = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::same_as<T, ConvSpec> || std::same_as<T, PoolSpec> ||
    std::same_as<T, std::span<const float>> || std::same_as<T, Output>;
template <class F> void each_tensor(WithoutTensors auto&, const F&) {}
template <class F> void each_tensor(Tensor& x, const F& f) {
  if (x) f(x);
}
template <class F, class... More> void each_of(const F& f, More&... xs) { (each_tensor(xs, f), ...); }
template <class F> void each_tensor(Weight& w, const F& f) { each_of(f, w.scale); }
template <class F> void each_tensor(Epilogue& e, const F& f) { each_of(f, e.per_image, e.addend, e.gate, e.residual); }
template <class F> void each_tensor(GroupNormSpec& s, const F& f) { each_of(f, s.gamma, s.beta, s.scale, s.shift); }
template <class F> void each_tensor(NormSpec& s, const F& f) { each_of(f, s.gamma, s.beta, s.scale, s.shift); }
template <class F> void each_tensor(AttentionSpec& s, const F& f) { each_of(f, s.bias, s.sinks); }
template <class F> void each_tensor(CachedAttentionSpec& s, const F& f) { each_of(f, s.sinks); }
template <class F> void each_tensor(KeyValues& s, const F& f) { each_of(f, s.k, s.v, s.pages); }
template <class F> void each_tensor(StateSpaceSpec& s, const F& f) { each_of(f, s.a, s.d, s.bias); }
template <class F> void each_tensor(DeltaRule& r, const F& f) { each_of(f, r.q, r.k, r.v, r.decay, r.beta, r.a, r.b); }
template <class T, class F> void each_tensor(std::vector<T>& all, const F& f) {
  for (T& one : all) each_tensor(one, f);
}

// Where an op may run, from its arguments.
struct Vote {
  std::optional<Side> weight, pinned, contents;  // of a weight; of a tensor that belongs somewhere; of what it updates
  bool floating = false, settled = false;        // of its inputs: some only uploaded so far; some not
};

class Split final : public SplitBackend, private Sides {
 public:
  Split(std::shared_ptr<Backend> card, std::shared_ptr<Backend> host, std::function<Side()> undecided,
        std::unique_ptr<MemoryLedger> card_ledger);
  ~Split() override;

  std::string name() const override { return card_->name() + "+" + host_->name(); }
  std::string features() const override { return host_->features(); }
  ThreadPool& threads() override { return host_->threads(); }
  bool computes() const override { return card_->computes(); }
  bool multiplies_bf16() const override { return card_->multiplies_bf16() && host_->multiplies_bf16(); }
  bool prefers_bf16() const override { return card_->prefers_bf16() && host_->prefers_bf16(); }
  std::optional<DType> inner_type(DType factors) const override {
    const std::optional<DType> type = card_->inner_type(factors);
    return type == host_->inner_type(factors) ? type : std::nullopt;
  }
  Backend& card() override { return *card_; }
  Backend& host() override { return *host_; }
  SplitTransfers transfers() const override;

  std::shared_ptr<const Storage> allocate(size_t bytes) override;
  void upload(const Tensor& x, Tensor& y) override;
  void download(const Tensor& x, Tensor& y) override;
  void fill(Tensor& y, float value) override;
  void finish() override;
  MemoryLedger& ledger() override { return host_->ledger(); }
  int64_t most_thread_scratch() const override { return host_->most_thread_scratch(); }
  void release_cached() override;
  int64_t free_memory() const override { return card_->free_memory(); }
  bool lost() const override { return card_->lost(); }
  std::shared_ptr<MemoryRegion> region() override { return host_->region(); }
  std::shared_ptr<const void> count_mapped(int64_t bytes) override { return host_->count_mapped(bytes); }
  std::unique_ptr<Backend> dry_twin(MemoryLedger& ledger) const override;
  std::shared_ptr<const PreparedWeight> prepare(const Tensor& w, WeightKind kind, const WeightForm& form) override;

  void linear(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, const GroupNormSpec& norm, Tensor& y) override;
  void linears(const Tensor& x, std::span<LinearCall> calls) override;
  void conv(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e, const GroupNormSpec& norm,
            Tensor& y) override;
  void attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec, Tensor& y) override;
  void cached_attention(const Tensor& q, std::span<const KeyValues> texts, const CachedAttentionSpec& spec, Tensor& y) override;
  void rope(const Tensor& x, const Tensor& table, RotaryPairs pairs, Tensor& y) override;
  void group_norm(const Tensor& x, const GroupNormSpec& spec, Tensor& y) override;
  void layer_norm(const Tensor& x, const NormSpec& spec, Tensor& y) override;
  void rms_norm(const Tensor& x, const NormSpec& spec, Tensor& y) override;
  void activate(const Tensor& x, Activation act, Tensor& y) override;
  void linear_combination(std::span<const Tensor> xs, std::span<const float> factors, Tensor& y) override;
  void multiply(const Tensor& a, const Tensor& b, Tensor& y) override;
  void affine(const Tensor& x, const Tensor& scale, const Tensor& shift, Tensor& y) override;
  void embedding(const Tensor& ids, const Tensor& table, Tensor& y) override;
  void top_k(const Tensor& x, Tensor& values, Tensor& columns) override;
  void gather(const Tensor& x, const Tensor& rows, Tensor& y) override;
  void scatter_add(const Tensor& x, const Tensor& rows, const Tensor& factors, Tensor& y) override;
  void causal_conv(const Tensor& x, const Tensor& taps, const Tensor& bias, Activation act, Tensor& tail, Tensor& y) override;
  void selective_scan(const Tensor& x, const Tensor& dt, const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d, Tensor& state,
                      Tensor& y) override;
  void state_space_scan(const Tensor& x, const Tensor& dt, const Tensor& b, const Tensor& c, const StateSpaceSpec& spec, Tensor& state,
                        Tensor& y) override;
  void linear_attention(const Tensor& q, const Tensor& k, const Tensor& v, float eps, Tensor& y) override;
  void copy(const Tensor& x, Tensor& y) override;
  void resize_nearest(const Tensor& x, Tensor& y) override;
  void pool(const Tensor& x, const PoolSpec& spec, Tensor& y) override;
  void delta_rule(const DeltaRule& rule, Tensor& state, Tensor& y) override;
  void add_weighted(const Tensor& base, const Tensor& q, const Tensor& k, const Tensor& u, const Tensor& v, Tensor& y) override;
  void gated_scan(const Tensor& x, const Tensor& log_a, bool starts, Tensor& state, Tensor& y) override;

 private:
  struct Choice {
    Side side;
    bool floating;  // of what the op writes
  };

  Backend& at(Side side) override { return side == Side::card ? *card_ : *host_; }
  void transfer(Side from, const std::shared_ptr<const Storage>& x, const std::shared_ptr<const Storage>& y) override;
  void count(Side to, size_t bytes);

  Copies& copies_of(const Tensor& x) const;
  void add_to(Vote& vote, const Tensor& input) const;
  void add_to(Vote& vote, const Output& output) const;
  Choice choose(const Vote& vote);
  Side now();  // of the last op with a weight
  Tensor there(const Tensor& x, Side side) const { return x.seen_in(copies_of(x).read(side)); }
  Tensor written(const Tensor& y, Side side, bool updates, bool floating) const;

  void add_argument(Vote& vote, Weight& w) const { vote.weight = static_cast<const SplitWeight&>(*w.prepared).side; }
  void add_argument(Vote& vote, Output& output) const { add_to(vote, output); }
  void add_argument(Vote& vote, auto& argument) const {
    each_tensor(argument, [&](const Tensor& x) { add_to(vote, x); });
  }
  void bring(Weight& w, const Choice& to) {
    w.backend = &at(to.side);
    w.prepared = static_cast<const SplitWeight&>(*w.prepared).own;
    if (w.scale) w.scale = there(w.scale, to.side);
  }
  void bring(Output& output, const Choice& to) { output.own = written(*output.y, to.side, output.updates, to.floating); }
  void bring(auto& argument, const Choice& to) {
    each_tensor(argument, [&](Tensor& x) { x = there(x, to.side); });
  }
  static Tensor& passed(Output& output) { return output.own; }
  static auto& passed(auto& argument) { return argument; }

  // Runs an op where its arguments say; what it writes comes last.
  template <class Op, class... Args> void run(Op op, Args... args) {
    Vote vote;
    (add_argument(vote, args), ...);
    const Choice to = choose(vote);
    (bring(args, to), ...);  // in this order: inputs may be parts of what is written
    ((at(to.side)).*op)(passed(args)...);
  }

  std::unique_ptr<MemoryLedger> card_ledger_;  // of a dry run
  std::shared_ptr<Backend> card_, host_;
  const std::function<Side()> undecided_;
  const uint64_t id_;  // differs between all backends of a process
  std::atomic<int64_t> up_{0}, down_{0}, bytes_up_{0}, bytes_down_{0};
};

}  // namespace hearth::split
