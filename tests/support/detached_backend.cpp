#include "support/detached_backend.h"

#include <sys/mman.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "backends/backends.h"
#include "core/threads.h"

namespace hearth::test {
namespace {

// Runs work in the order of submission, on one thread.
class Queue {
 public:
  Queue() : thread_([this] { work(); }) {}
  ~Queue() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void add(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
  }
  // Waits until all work is done. Throws the first error since the last call.
  void finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty() && !busy_; });
    if (const auto failed = std::exchange(failed_, nullptr)) std::rethrow_exception(failed);
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      {
        const std::function<void()> task = std::move(tasks_.front());
        tasks_.pop_front();
        busy_ = true;
        lock.unlock();
        std::exception_ptr failed;
        try {
          task();
        } catch (...) { failed = std::current_exception(); }
        lock.lock();
        if (failed && !failed_) failed_ = failed;
      }
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool busy_ = false, ends_ = false;
  std::exception_ptr failed_;
  std::thread thread_;
};

// What a storage of the device consists of: addresses that cannot be accessed, and the memory itself.
struct Block {
  Block(std::shared_ptr<const Storage> memory_) : memory(std::move(memory_)), size(std::max<size_t>(memory->size, 1)) {
    address = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) fail<Error>("detached: address space of {} bytes cannot be reserved", size);
  }
  ~Block() { ::munmap(address, size); }
  Block(const Block&) = delete;

  std::shared_ptr<const Storage> memory;
  size_t size;
  void* address;
};

struct DetachedWeight final : PreparedWeight {
  explicit DetachedWeight(std::shared_ptr<const PreparedWeight> inner_) : inner(std::move(inner_)) { bytes = inner->bytes; }
  std::shared_ptr<const PreparedWeight> inner;
};

class DetachedBackend final : public Backend {
 public:
  explicit DetachedBackend(const DetachedOptions& options)
      : inner_(make_backend({.name = options.inner, .threads = options.threads})),
        host_(make_backend({.name = options.inner, .threads = options.threads})),
        free_memory_(options.free_memory),
        faults_(options.faults),
        number_(faults_ ? faults_->made++ : 0),
        queue_(options.at_once ? nullptr : std::make_unique<Queue>()) {}

  std::string name() const override { return "detached"; }
  std::string features() const override { return ""; }
  ThreadPool& threads() override { return host_->threads(); }
  bool multiplies_bf16() const override { return inner_->multiplies_bf16(); }
  // As a card: where it loses nothing.
  std::optional<DType> inner_type(DType factors) const override {
    return factors == DType::bf16 ? std::optional(DType::bf16) : std::nullopt;
  }

  std::shared_ptr<const Storage> allocate(size_t bytes) override {
    const auto block = std::make_shared<const Block>(inner_->allocate(bytes));
    auto storage = std::make_shared<Storage>();
    storage->data = static_cast<std::byte*>(block->address);
    storage->size = bytes;
    storage->backend = this;
    storage->on_host = false;
    storage->owner = block;
    return storage;
  }
  Backend& host() override { return *host_; }
  int64_t free_memory() const override { return free_memory_; }
  bool lost() const override { return faults_ && number_ < faults_->lost; }
  MemoryLedger& ledger() override { return inner_->ledger(); }
  std::shared_ptr<const void> count_mapped(int64_t bytes) override { return host_->count_mapped(bytes); }
  std::unique_ptr<Backend> dry_twin(MemoryLedger& ledger) const override { return inner_->dry_twin(ledger); }

  void upload(const Tensor& x, Tensor& y) override {
    if (!queue_) {
      Tensor to = inside(y);
      return inner_->copy(x, to);
    }
    Tensor copy = Tensor::empty(*inner_, x.shape(), x.dtype());  // the caller may change x immediately
    inner_->copy(x, copy);
    later([this, copy, to = inside(y)]() mutable { inner_->copy(copy, to); });
  }
  void download(const Tensor& x, Tensor& y) override {
    finish();
    inner_->copy(inside(x), y);
  }
  void fill(Tensor& y, float value) override {
    later([this, to = inside(y), value]() mutable { inner_->fill(to, value); });
  }
  void finish() override {
    if (lost()) fail<Error>("detached: the device stopped working");
    if (queue_) queue_->finish();
  }

  std::shared_ptr<const PreparedWeight> prepare(const Tensor& w, WeightKind kind, const WeightForm& form) override {
    return std::make_shared<DetachedWeight>(inner_->prepare(w, kind, form));
  }

  void linear(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, const GroupNormSpec& norm, Tensor& y) override {
    run(&Backend::linear, x, w, bias, e, norm, y);
  }
  void linears(const Tensor& x, std::span<LinearCall> calls) override {
    struct Own {
      Weight w;
      Tensor bias;
      Epilogue e;
      Tensor y;
    };
    std::vector<Own> all;
    for (const LinearCall& call : calls) all.push_back({inside(call.w), inside(call.bias), inside(call.e), inside(call.y)});
    later([this, from = inside(x), all] {
      std::vector<LinearCall> own;
      for (const Own& one : all) own.push_back({one.w, one.bias, one.e, one.y});
      inner_->linears(from, own);
    });
  }
  void conv(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e, const GroupNormSpec& norm,
            Tensor& y) override {
    run(&Backend::conv, x, w, bias, spec, e, norm, y);
  }
  void attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec, Tensor& y) override {
    run(&Backend::attention, q, k, v, spec, y);
  }
  void cached_attention(const Tensor& q, std::span<const KeyValues> texts, const CachedAttentionSpec& spec, Tensor& y) override {
    std::vector<KeyValues> own;
    for (const KeyValues& text : texts) own.push_back(inside(text));
    later([this, from = inside(q), own, own_spec = inside(spec), to = inside(y)]() mutable {
      inner_->cached_attention(from, own, own_spec, to);
    });
  }
  void rope(const Tensor& x, const Tensor& table, RotaryPairs pairs, Tensor& y) override { run(&Backend::rope, x, table, pairs, y); }
  void group_norm(const Tensor& x, const GroupNormSpec& spec, Tensor& y) override { run(&Backend::group_norm, x, spec, y); }
  void layer_norm(const Tensor& x, const NormSpec& spec, Tensor& y) override { run(&Backend::layer_norm, x, spec, y); }
  void rms_norm(const Tensor& x, const NormSpec& spec, Tensor& y) override { run(&Backend::rms_norm, x, spec, y); }
  void activate(const Tensor& x, Activation act, Tensor& y) override { run(&Backend::activate, x, act, y); }
  void linear_combination(std::span<const Tensor> xs, std::span<const float> factors, Tensor& y) override {
    std::vector<Tensor> own;
    for (const Tensor& x : xs) own.push_back(inside(x));
    later([this, own, own_factors = std::vector(factors.begin(), factors.end()), to = inside(y)]() mutable {
      inner_->linear_combination(own, own_factors, to);
    });
  }
  void multiply(const Tensor& a, const Tensor& b, Tensor& y) override { run(&Backend::multiply, a, b, y); }
  void affine(const Tensor& x, const Tensor& scale, const Tensor& shift, Tensor& y) override { run(&Backend::affine, x, scale, shift, y); }
  void embedding(const Tensor& ids, const Tensor& table, Tensor& y) override { run(&Backend::embedding, ids, table, y); }
  void top_k(const Tensor& x, Tensor& values, Tensor& columns) override {
    later([this, from = inside(x), to = inside(values), places = inside(columns)]() mutable { inner_->top_k(from, to, places); });
  }
  void gather(const Tensor& x, const Tensor& rows, Tensor& y) override { run(&Backend::gather, x, rows, y); }
  void scatter_add(const Tensor& x, const Tensor& rows, const Tensor& factors, Tensor& y) override {
    run(&Backend::scatter_add, x, rows, factors, y);
  }
  void causal_conv(const Tensor& x, const Tensor& taps, const Tensor& bias, Activation act, Tensor& tail, Tensor& y) override {
    run(&Backend::causal_conv, x, taps, bias, act, tail, y);
  }
  void selective_scan(const Tensor& x, const Tensor& dt, const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d, Tensor& state,
                      Tensor& y) override {
    run(&Backend::selective_scan, x, dt, a, b, c, d, state, y);
  }
  void state_space_scan(const Tensor& x, const Tensor& dt, const Tensor& b, const Tensor& c, const StateSpaceSpec& spec, Tensor& state,
                        Tensor& y) override {
    run(&Backend::state_space_scan, x, dt, b, c, spec, state, y);
  }
  void copy(const Tensor& x, Tensor& y) override { run(&Backend::copy, x, y); }
  void resize_nearest(const Tensor& x, Tensor& y) override { run(&Backend::resize_nearest, x, y); }
  void pool(const Tensor& x, const PoolSpec& spec, Tensor& y) override { run(&Backend::pool, x, spec, y); }
  void delta_rule(const DeltaRule& rule, Tensor& state, Tensor& y) override { run(&Backend::delta_rule, rule, state, y); }
  void add_weighted(const Tensor& base, const Tensor& q, const Tensor& k, const Tensor& u, const Tensor& v, Tensor& y) override {
    run(&Backend::add_weighted, base, q, k, u, v, y);
  }
  void linear_attention(const Tensor& q, const Tensor& k, const Tensor& v, float eps, Tensor& y) override {
    run(&Backend::linear_attention, q, k, v, eps, y);
  }
  void gated_scan(const Tensor& x, const Tensor& log_a, bool starts, Tensor& state, Tensor& y) override {
    run(&Backend::gated_scan, x, log_a, starts, state, y);
  }

 private:
  // The same tensor in the memory behind its addresses.
  Tensor inside(const Tensor& x) const {
    if (!x) return x;
    if (&x.backend() != this) fail<Error>("detached: {} is on the backend {}, expected detached", x.shape(), x.backend().name());
    return x.seen_in(static_cast<const Block*>(x.storage().owner.get())->memory);
  }
  Weight inside(Weight w) const {
    w.prepared = static_cast<const DetachedWeight&>(*w.prepared).inner;
    w.backend = inner_.get();
    w.scale = inside(w.scale);
    return w;
  }
  Epilogue inside(Epilogue e) const {
    e.per_image = inside(e.per_image), e.addend = inside(e.addend), e.gate = inside(e.gate), e.residual = inside(e.residual);
    return e;
  }
  GroupNormSpec inside(GroupNormSpec s) const {
    s.gamma = inside(s.gamma), s.beta = inside(s.beta), s.scale = inside(s.scale), s.shift = inside(s.shift);
    return s;
  }
  NormSpec inside(NormSpec s) const {
    s.gamma = inside(s.gamma), s.beta = inside(s.beta), s.scale = inside(s.scale), s.shift = inside(s.shift);
    return s;
  }
  AttentionSpec inside(AttentionSpec s) const {
    s.bias = inside(s.bias), s.sinks = inside(s.sinks);
    return s;
  }
  CachedAttentionSpec inside(CachedAttentionSpec s) const {
    s.sinks = inside(s.sinks);
    return s;
  }
  KeyValues inside(KeyValues s) const {
    s.k = inside(s.k), s.v = inside(s.v), s.pages = inside(s.pages);
    return s;
  }
  StateSpaceSpec inside(StateSpaceSpec s) const {
    s.a = inside(s.a), s.d = inside(s.d), s.bias = inside(s.bias);
    return s;
  }
  DeltaRule inside(DeltaRule r) const {
    for (Tensor* x : {&r.q, &r.k, &r.v, &r.decay, &r.beta, &r.a, &r.b}) *x = inside(*x);
    return r;
  }
  bool inside(bool b) const { return b; }
  float inside(float f) const { return f; }
  ConvSpec inside(const ConvSpec& s) const { return s; }
  PoolSpec inside(const PoolSpec& s) const { return s; }
  Activation inside(Activation a) const { return a; }
  RotaryPairs inside(RotaryPairs p) const { return p; }

  void later(std::function<void()> task) {
    if (queue_) queue_->add(std::move(task));
    else task();
  }
  // Submits an op of the inner backend with copies of all its arguments.
  template <class Op, class... Args> void run(Op op, const Args&... args) {
    later([this, op, own = std::tuple(inside(args)...)]() mutable { std::apply([&](auto&... a) { ((*inner_).*op)(a...); }, own); });
  }

  const std::unique_ptr<Backend> inner_, host_;
  const int64_t free_memory_;
  const std::shared_ptr<Faults> faults_;
  const int number_;
  const std::unique_ptr<Queue> queue_;
};

}  // namespace

std::unique_ptr<Backend> make_detached_backend(const DetachedOptions& options) { return std::make_unique<DetachedBackend>(options); }

void add_detached_backend(const std::string& name, const DetachedOptions& options) {
  add_backend(name, [options](int threads) {
    DetachedOptions own = options;
    own.threads = threads;
    return make_detached_backend(own);
  });
}

}  // namespace hearth::test
