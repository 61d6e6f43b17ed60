// An answer as a message of Anthropic's POST /v1/messages and as its events.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "server/text/chat.h"

namespace hearth::server {

// Events come in the order of the API, each with its "type". Thread-safe.
class AnthropicAnswer final : public ChatSink {
 public:
  struct Out {
    std::function<void(const Json& event)> event;       // empty: nobody wants events
    std::function<void(const Json& message)> ended;     // at the end, unless it fails
    std::function<void(const ApiError& error)> failed;  // there are no events after it
  };
  struct Options {
    std::string id, model;
    std::optional<int64_t> max_tokens;
    bool shows_thinking = true;
  };
  AnthropicAnswer(Options options, Out out);

  // The request is accepted: message_start. What the model says begins, too, if this was not called.
  void begin();

  void prompt(int64_t tokens) override;
  void text(int64_t choice, const std::string& delta) override;
  void reasoning(int64_t choice, const std::string& delta) override;
  void call(int64_t choice, int64_t index, const std::string& id, const std::string& name) override;
  void arguments(int64_t choice, int64_t index, const std::string& delta) override;
  void reasoning_tokens(int64_t choice, int64_t count) override;
  void end(int64_t choice, ChatFinish reason, const std::optional<std::string>& stop_sequence) override;
  void done(const engine::Usage& usage) override;
  void failed(const ApiError& error) override;

 private:
  void started();
  void emit(Json event);
  void open(const std::string& type, Json block);
  void delta(const char* type, const char* name, const std::string& text);
  void close();

  const Options options_;
  const Out out_;
  std::mutex mutex_;
  Json message_;
  bool begun_ = false, pinged_ = false, ended_ = false;
  int64_t blocks_ = 0, thinking_tokens_ = 0;
  std::string open_;  // the type of the open block; empty: none is open
  Json block_;
  std::string said_;  // its text, thinking or input
  ChatFinish reason_ = ChatFinish::stop;
};

}  // namespace hearth::server
