// The messages of a chat, as JSON, oldest first.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace hearth::cli {

class Conversation {
 public:
  Conversation();
  ~Conversation();

  // Loads a JSON list of messages. UsageError or IoError for anything else; the chat then stays unchanged.
  void load(const std::filesystem::path& file);
  void save(const std::filesystem::path& file) const;

  void add(const std::string& role, const std::string& text);
  void set_system(const std::string& text);  // "": none
  // Removes the last message if it is a reply, so that it can be generated again. False if there is none.
  bool remove_reply();
  void remove_unanswered();  // removes the last message unless it is a reply
  void clear();              // removes all messages except the system prompt
  bool awaits_reply() const;

  std::string json() const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

}  // namespace hearth::cli
