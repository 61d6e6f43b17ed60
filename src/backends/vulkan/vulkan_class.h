// The class behind make_vulkan_backend; its ops are in files named as in ops/.
#pragma once

#include <memory>
#include <optional>

#include "backends/vulkan/arena.h"
#include "backends/vulkan/parameters.h"
#include "backends/vulkan/stream.h"
#include "backends/vulkan/vulkan_backend.h"
#include "core/axes.h"
#include "core/memory.h"
#include "core/threads.h"

namespace hearth::vulkan {

// What owns the memory of a tensor or a weight.
struct Memory {
  Memory(std::shared_ptr<Arena> arena_, size_t bytes_);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  const std::shared_ptr<Arena> arena;
  const size_t bytes;
  const Span span;
  std::shared_ptr<const Storage> addresses;  // the same memory as the card's shaders see it, for arithmetic
};

struct DeviceWeight final : PreparedWeight {
  std::shared_ptr<Memory> memory;
};

class VulkanBackend final : public Backend {
 public:
  VulkanBackend(std::unique_ptr<Card> card, std::unique_ptr<Backend> host);
  // A dry run: tensors and weights without contents, placed in memory as on a card whose largest block is so large.
  VulkanBackend(uint64_t largest_block, MemoryLedger& ledger);
  ~VulkanBackend() override;

  std::string name() const override { return card_ ? "vulkan" : "plan"; }
  std::string features() const override;
  bool multiplies_bf16() const override { return true; }
  // Where that loses nothing.
  std::optional<DType> inner_type(DType factors) const override {
    return factors == DType::bf16 ? std::optional(DType::bf16) : std::nullopt;
  }
  ThreadPool& threads() override { return host_ ? host_->threads() : *idle_; }
  Backend& host() override { return host_ ? *host_ : *this; }
  bool computes() const override { return card_ != nullptr; }

  std::shared_ptr<const Storage> allocate(size_t bytes) override;
  void upload(const Tensor& x, Tensor& y) override;
  void download(const Tensor& x, Tensor& y) override;
  void fill(Tensor& y, float value) override;
  void finish() override { stream_->finish(); }
  MemoryLedger& ledger() override { return arena_->ledger(); }
  void release_cached() override;
  int64_t free_memory() const override;
  bool lost() const override { return stream_->lost(); }
  std::shared_ptr<const void> count_mapped(int64_t bytes) override;
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
  // Address of the first element as shaders see it. 0 if x is undefined, and in a dry run. UnsupportedError if x has 2³¹ elements or more.
  uint64_t address(const Tensor& x) const;
  uint64_t address(const Weight& w) const;
  Span span(const Tensor& x) const;
  uint64_t grids(DType type);  // address of the codebooks of the IQ types (shaders/stored.glsl); 0 for others

  // linear() of an x that is normalized; `integers`: the same as to_integers() returns it, for a product with i16 factors (core/weight.h).
  void multiply(const Tensor& x, const Tensor& integers, const Weight& w, const Tensor& bias, const Epilogue& e, Tensor& y);
  Tensor to_integers(const Tensor& x);
  EpilogueParameters epilogue(const Epilogue& e, const Weight& w, const Tensor& bias, int64_t image_rows, const Tensor& y) const;
  // x [B, …, C] normalized, for products with these factors: in f32, or rounded to bf16; x itself without a norm.
  Tensor normalized(const Tensor& x, const GroupNormSpec& norm, DType factors);

  // Without host, card and pipelines in a dry run, whose `idle_` threads and stream do nothing.
  const std::unique_ptr<Backend> host_;
  const std::unique_ptr<ThreadPool> idle_;
  const std::unique_ptr<Card> card_;
  const std::unique_ptr<Pipelines> pipelines_;
  MemoryLedger own_memory_;  // of a card that does not compute in the host's memory
  MemoryLedger& whole_;
  const uint64_t largest_block_;
  std::shared_ptr<Arena> arena_;
  std::mutex grids_mutex_;
  std::shared_ptr<Memory> grids_;         // under grids_mutex_
  const std::unique_ptr<Stream> stream_;  // the last member: its end waits for work that uses the memory of the others
};

// Workgroups of `size` invocations that cover n elements.
constexpr int64_t parts(int64_t n, int64_t size) { return (n + size - 1) / size; }
inline constexpr int64_t pointwise_size = 64;  // invocations of a workgroup of shaders without shared memory
inline uint32_t code(DType type) { return uint32_t(type); }
inline uint32_t code(Activation activation) { return uint32_t(activation); }

// What a product rounds to bf16 (shaders/multiply.glsl): its left side unless that is stored so; its right side.
inline uint32_t left_to_round(const Tensor& x) { return x.dtype() != DType::bf16 ? 1 : 0; }
inline constexpr uint32_t round_right = 2;

}  // namespace hearth::vulkan
