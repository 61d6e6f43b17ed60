#include "backends/vulkan/vulkan_backend.h"

#include <cstring>

#include "backends/cpu/cpu_backend.h"
#include "backends/vulkan/vulkan_class.h"
#include "core/quantized/block_grids.h"
#include "core/threads.h"

namespace hearth {
namespace vulkan {
namespace {

std::shared_ptr<const Storage> device_storage(Backend& backend, std::shared_ptr<Memory> memory) {
  auto storage = std::make_shared<Storage>();
  storage->size = memory->bytes;
  storage->backend = &backend;
  storage->on_host = !backend.computes();  // a dry run is its own host
  storage->owner = std::move(memory);
  return storage;
}

}  // namespace

Memory::Memory(std::shared_ptr<Arena> arena_, size_t bytes_) : arena(std::move(arena_)), bytes(bytes_), span(arena->take(bytes)) {
  auto storage = std::make_shared<Storage>();
  storage->data = reinterpret_cast<std::byte*>(span.address);
  storage->size = bytes;
  addresses = std::move(storage);
}
Memory::~Memory() { arena->give(span); }

VulkanBackend::VulkanBackend(std::unique_ptr<Card> card, std::unique_ptr<Backend> host)
    : host_(std::move(host)),
      card_(std::move(card)),
      pipelines_(std::make_unique<Pipelines>(*card_)),
      whole_(card_->description().shared ? MemoryLedger::process() : own_memory_),
      largest_block_(card_->description().largest_block),
      arena_(std::make_shared<Arena>(card_.get(), largest_block_, whole_)),
      stream_(std::make_unique<Stream>(card_.get(), pipelines_.get())) {}

VulkanBackend::VulkanBackend(uint64_t largest_block, MemoryLedger& ledger)
    : idle_(std::make_unique<ThreadPool>(1, ThreadPool::Mode::idle)),
      whole_(ledger),
      largest_block_(largest_block),
      arena_(std::make_shared<Arena>(nullptr, largest_block, ledger)),
      stream_(std::make_unique<Stream>(nullptr, nullptr)) {}

VulkanBackend::~VulkanBackend() = default;

std::string VulkanBackend::features() const { return card_ && card_->narrow() ? "narrow" : ""; }

int64_t VulkanBackend::free_memory() const { return !card_ || card_->description().shared ? 0 : card_->free_memory(); }

std::shared_ptr<const void> VulkanBackend::count_mapped(int64_t bytes) {
  if (host_) return host_->count_mapped(bytes);
  whole_.add_mapped(bytes);
  return {&whole_, [&ledger = whole_, bytes](const void*) { ledger.add_mapped(-bytes); }};
}

std::shared_ptr<const Storage> VulkanBackend::allocate(size_t bytes) {
  return device_storage(*this, std::make_shared<Memory>(arena_, bytes));
}

uint64_t VulkanBackend::address(const Tensor& x) const {
  if (!x || !card_) return 0;
  if (x.storage().size > (size_t(1) << 33) && x.numel() >= int64_t(1) << 31)
    fail<UnsupportedError>("vulkan: a tensor {} has more than 2^31 elements", x.shape());
  return reinterpret_cast<uint64_t>(x.seen_in(static_cast<const Memory*>(x.storage().owner.get())->addresses).raw());
}

uint64_t VulkanBackend::address(const Weight& w) const {
  return card_ ? static_cast<const DeviceWeight&>(*w.prepared).memory->span.address : 0;
}

Span VulkanBackend::span(const Tensor& x) const {
  if (!card_) return {};
  const Span& whole = static_cast<const Memory*>(x.storage().owner.get())->span;
  const uint64_t first = address(x);
  return {whole.buffer, whole.offset + (first - whole.address), first};
}

void VulkanBackend::upload(const Tensor& x, Tensor& y) {
  if (x.numel() == 0 || !card_) return;
  if (x.dtype() != y.dtype()) {
    Tensor converted = Tensor::empty(*host_, x.shape(), y.dtype());
    host_->copy(x, converted);
    return upload(converted, y);
  }
  stream_->upload(x.raw(), span(y), y.bytes());
}

void VulkanBackend::download(const Tensor& x, Tensor& y) {
  if (x.numel() > 0) stream_->download(span(x), y.raw(), x.bytes());
}

void VulkanBackend::release_cached() {
  stream_->finish();
  {
    const std::lock_guard lock(grids_mutex_);
    grids_ = nullptr;
  }
  arena_->release_unused();
  if (host_) host_->release_cached();
}

std::unique_ptr<Backend> VulkanBackend::dry_twin(MemoryLedger& ledger) const {
  return std::make_unique<VulkanBackend>(largest_block_, ledger);
}

// w of its held type and in the order of its kernel: [O, taps, channels of a group] for every convolution.
static Tensor ordered(Backend& host, const Tensor& w, WeightKind kind, const WeightForm& form) {
  Tensor order = w;
  if (kind == WeightKind::conv) order = w.view({w.size(0), w.size(1), taps_of(w.shape())}).permute({0, 2, 1});
  if (kind == WeightKind::conv_transposed)
    order = w.view({form.groups, w.size(0) / form.groups, w.size(1), taps_of(w.shape())}).permute({0, 2, 3, 1});
  if (order.contiguous() && order.dtype() == form.hold) return order;
  Tensor held = Tensor::empty(host, order.shape(), form.hold);
  host.copy(order, held);
  return held;
}

std::shared_ptr<const PreparedWeight> VulkanBackend::prepare(const Tensor& w, WeightKind kind, const WeightForm& form) {
  auto weight = std::make_shared<DeviceWeight>();
  weight->bytes = bytes_of(form.hold, w.numel());
  weight->memory = std::make_shared<Memory>(arena_, weight->bytes);
  if (card_ && weight->bytes > 0)
    stream_->upload(ordered(*host_, w.to(*host_).dense(), kind, form).raw(), weight->memory->span, weight->bytes);
  return weight;
}

uint64_t VulkanBackend::grids(DType type) {
  if (type < DType::iq2_xxs || type > DType::iq1_m) return 0;
  const std::lock_guard lock(grids_mutex_);
  if (!grids_) {
    std::vector<std::byte> bytes;
    const auto add = [&](const auto& grid) {
      const auto* from = reinterpret_cast<const std::byte*>(grid.entries);
      bytes.insert(bytes.end(), from, from + sizeof grid.entries);
    };
    add(blocks::iq2_xxs_grid), add(blocks::iq2_xs_grid), add(blocks::iq2_s_grid), add(blocks::iq1_grid), add(blocks::iq3_xxs_grid);
    add(blocks::iq3_s_grid), add(blocks::iq_signs);
    grids_ = std::make_shared<Memory>(arena_, bytes.size());
    stream_->upload(bytes.data(), grids_->span, bytes.size());
  }
  return grids_->span.address;
}

}  // namespace vulkan

std::unique_ptr<Backend> make_vulkan_backend(int card, const std::string& features, int threads) {
  if (!features.empty() && features != "narrow") fail<UsageError>("backend: vulkan has no path '{}', expected narrow", features);
  return std::make_unique<vulkan::VulkanBackend>(std::make_unique<vulkan::Card>(card, features == "narrow"), make_cpu_backend("", threads));
}

std::vector<VulkanCard> vulkan_cards(std::string* why_none) {
  std::vector<VulkanCard> cards;
  try {
    const auto instance = vulkan::Instance::shared();
    for (const vulkan::CardDescription& c : instance->cards())
      cards.push_back({c.name, c.driver, c.memory, c.on_cpu, c.shared, c.dots, c.missing});
    if (cards.empty()) fail<UnsupportedError>(vulkan::no_driver);
  } catch (const Error& e) {
    const std::string_view why = e.what(), subject = "vulkan: ";
    if (why_none) *why_none = why.substr(why.starts_with(subject) ? subject.size() : 0);
  }
  return cards;
}

}  // namespace hearth
