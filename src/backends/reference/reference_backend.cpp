#include "backends/reference/reference_backend.h"

#include "backends/reference/reference_class.h"

namespace hearth {

std::unique_ptr<Backend> make_reference_backend(int threads, std::optional<DType> inner) {
  return std::make_unique<reference::ReferenceBackend>(threads, inner);
}

namespace reference {

std::shared_ptr<const Storage> ReferenceBackend::allocate(size_t bytes) {
  auto storage = std::make_shared<Storage>();
  const size_t rounded = (bytes + 63) / 64 * 64 + 64;
  void* memory = std::aligned_alloc(64, rounded);
  if (!memory) fail<Error>("memory: {} bytes cannot be allocated", bytes);
  ledger_->add(int64_t(rounded));
  storage->data = static_cast<std::byte*>(memory);
  storage->size = bytes;
  storage->backend = this;
  storage->owner = std::shared_ptr<const void>(memory, [ledger = ledger_, rounded](const void* p) {
    ledger->add(-int64_t(rounded));
    std::free(const_cast<void*>(p));
  });
  return storage;
}

}  // namespace reference
}  // namespace hearth
