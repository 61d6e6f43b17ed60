// The responses of POST /v1/responses that clients may ask for again, in memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "server/fields.h"

namespace hearth::server {

// What was asked and what was answered. What followed it holds it, also after the store has let it go.
struct ResponseTurn {
  std::shared_ptr<ResponseTurn> previous;
  Json input;     // the items of its own request
  Json response;  // as the client got it, with "id" and "output"

  ResponseTurn() = default;
  ResponseTurn(const ResponseTurn&) = delete;
  ~ResponseTurn();
  // The items of all turns up to this one and of their answers, oldest first.
  Json context() const;
};

// Keeps turns up to so many bytes, as their JSON takes them in memory, earlier turns included. Beyond that, the turns that were not asked
// for longest go. Thread-safe.
class ResponseStore {
 public:
  explicit ResponseStore(size_t most_bytes) : most_bytes_(most_bytes) {}

  void keep(std::shared_ptr<ResponseTurn> turn);
  // Null for an id that is unknown or has gone. Counts as a use.
  std::shared_ptr<ResponseTurn> find(const std::string& id);
  std::optional<Json> item(const std::string& id);  // of the input or output of a turn
  bool remove(const std::string& id);               // false if there was none
  size_t bytes() const { return *bytes_; }

 private:
  struct Kept {
    std::string id;
    std::shared_ptr<ResponseTurn> turn;
  };
  using Place = std::list<Kept>::iterator;
  void drop(Place place);  // under the mutex

  const size_t most_bytes_;
  std::shared_ptr<std::atomic<size_t>> bytes_ = std::make_shared<std::atomic<size_t>>(0);
  std::mutex mutex_;
  std::list<Kept> order_;  // most recently used first
  std::unordered_map<std::string, Place> places_;
  std::unordered_map<std::string, std::string> items_;  // the turn of an item
};

}  // namespace hearth::server
