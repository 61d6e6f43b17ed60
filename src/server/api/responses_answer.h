// An answer as a response of POST /v1/responses and as its events.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "server/api/logprobs.h"
#include "server/text/chat.h"

namespace hearth::server {

// Events come in the order of the API, numbered from 0, each with its "type"; what they say of an item joins to the item in the response.
// Reasoning is an item of its own, in front of the message, with the model's words as reasoning_text. Thread-safe.
class ResponsesAnswer final : public ChatSink {
 public:
  struct Out {
    std::function<void(const Json& event)> event;     // empty: nobody wants events
    std::function<void(const Json& response)> ready;  // the response has its last state; before the event that says so
    // Afterwards, once. error: what has failed.
    std::function<void(const Json& response, const ApiError* error)> ended;
  };
  struct Options {
    Json head;  // of the response: "id", "created_at", "model", and the fields that repeat the request
    bool sealed_reasoning = false;
    TokenBytes token_bytes;  // for log-probabilities
  };
  ResponsesAnswer(Options options, Out out);

  // The request is accepted: response.created and response.in_progress. What the model says begins, too, if this was not called.
  void begin();
  // The response as it is now.
  Json snapshot() const;
  // Ends it as "cancelled", without an event. False if it has ended already.
  bool cancel();

  void text(int64_t choice, const std::string& delta) override;
  void reasoning(int64_t choice, const std::string& delta) override;
  void call(int64_t choice, int64_t index, const std::string& id, const std::string& name) override;
  void arguments(int64_t choice, int64_t index, const std::string& delta) override;
  void logprobs(int64_t choice, const engine::TokenLogprob& row) override;
  void reasoning_tokens(int64_t choice, int64_t count) override;
  void end(int64_t choice, ChatFinish reason, const std::optional<std::string>& stop_sequence) override;
  void done(const engine::Usage& usage) override;
  void failed(const ApiError& error) override;

 private:
  enum class Open { nothing, message, reasoning, call };

  void started();
  void emit(const char* type, Json fields);
  void open(Open kind, Json item);
  void open_part(Json part);
  void close(const char* status);
  void close_part(const char* event, Json fields);
  Json place() const;  // item_id, output_index
  void finish(const char* event, const char* status, const ApiError* error);

  const Options options_;
  const Out out_;
  mutable std::mutex mutex_;
  Json response_;
  int64_t sequence_ = 0, reasoning_tokens_ = 0;
  bool begun_ = false, ended_ = false, cut_ = false;
  Open open_ = Open::nothing;
  Json item_;                                                 // that is open
  std::string said_;                                          // its text or arguments
  Json scores_ = Json::array(), all_scores_ = Json::array();  // of tokens whose text has not come; of the open message
};

}  // namespace hearth::server
