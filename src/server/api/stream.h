// Server-sent events to one client, from the engine's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "server/api_error.h"
#include "server/fields.h"
#include "server/http/responder.h"

namespace hearth::server {

inline std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Keeps what a response needs until it is complete: the tickets of its generations, which are canceled when the client goes.
class LiveRequest : public std::enable_shared_from_this<LiveRequest> {
 public:
  explicit LiveRequest(http::Responder to) : to_(std::move(to)) {}

  const http::Responder& to() const { return to_; }
  // The generations have begun. Call once, after submit().
  void hold(engine::Engine::Ticket ticket) {
    std::vector<engine::Engine::Ticket> one;
    one.push_back(std::move(ticket));
    hold(std::move(one));
  }
  void hold(std::vector<engine::Engine::Ticket> tickets) {
    {
      const std::lock_guard lock(mutex_);
      if (canceled_) tickets.clear();
      tickets_ = std::move(tickets);
    }
    to_.on_disconnect([self = weak_from_this()] {
      if (const auto live = self.lock()) live->cancel();
    });
  }
  void cancel() {
    const std::lock_guard lock(mutex_);
    canceled_ = true;
    for (engine::Engine::Ticket& ticket : tickets_) ticket.cancel();
  }

 private:
  http::Responder to_;
  std::mutex mutex_;
  bool canceled_ = false;
  std::vector<engine::Engine::Ticket> tickets_;
};

// Writes events; begins the stream with the first one, so that an error before it is an ordinary response. Thread-safe.
class EventStream {
 public:
  using Clock = std::chrono::steady_clock;

  // headers: of the response, in addition to its own.
  explicit EventStream(std::shared_ptr<LiveRequest> live, http::HeaderList headers = {})
      : live_(std::move(live)), headers_(std::move(headers)) {
    headers_.insert(headers_.end(), {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}});
  }

  bool begun() const {
    const std::lock_guard lock(mutex_);
    return begun_;
  }
  void data(const Json& json) { write("data: " + dumped(json) + "\n\n"); }
  void event(const std::string& name, const Json& json) { write("event: " + name + "\ndata: " + dumped(json) + "\n\n"); }
  void raw(const std::string& text) { write(text); }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    live_->to().end();
  }
  // Writes this if the stream has begun and nothing was written for so long. False once it has ended.
  bool write_if_silent(const std::string& text, Clock::duration silence) {
    const std::lock_guard lock(mutex_);
    if (begun_ && !ended_ && Clock::now() - written_ >= silence) write_now(text);
    return !ended_;
  }

 private:
  void write(std::string text) {
    const std::lock_guard lock(mutex_);
    if (!begun_) live_->to().begin_stream(200, "text/event-stream", headers_);
    begun_ = true;
    write_now(std::move(text));
  }
  void write_now(std::string text) {
    written_ = Clock::now();
    if (live_->to().write(std::move(text)) != http::Sent::queued) live_->cancel();
  }

  std::shared_ptr<LiveRequest> live_;
  http::HeaderList headers_;
  mutable std::mutex mutex_;
  bool begun_ = false, ended_ = false;
  Clock::time_point written_;
};

std::string new_id(const char* prefix);  // "chatcmpl-" and 24 letters and digits
int64_t unix_seconds();
Json usage_json(const engine::Usage& usage, int64_t reasoning = 0);  // OpenAI's; reasoning: tokens of it
std::string fingerprint();                                           // of this build

}  // namespace hearth::server
