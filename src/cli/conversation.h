// The messages of a chat: kept as JSON in the order that they were said.
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

  // A list of messages as text. UsageError or IoError for what is none; then nothing changes.
  void load(const std::filesystem::path& file);
  void save(const std::filesystem::path& file) const;

  void say(const std::string& role, const std::string& text);
  void set_system(const std::string& text);  // "": none
  // Forgets the last answer, and what was asked for it is to be answered again. False where there is none.
  bool take_back_answer();
  void take_back_question();  // one that was not answered
  void clear();               // but for the system's message
  bool awaits_answer() const;

  std::string json() const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

}  // namespace hearth::cli
