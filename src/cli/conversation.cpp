#include "cli/conversation.h"

#include <nlohmann/json.hpp>

#include "cli/input.h"
#include "core/error.h"
#include "core/files/file.h"

namespace hearth::cli {

using Json = nlohmann::ordered_json;

struct Conversation::Data {
  Json messages = Json::array();

  std::string role(size_t i) const { return messages[i].value("role", ""); }
};

Conversation::Conversation() : data_(std::make_unique<Data>()) {}
Conversation::~Conversation() = default;

void Conversation::load(const std::filesystem::path& file) {
  const Json messages = Json::parse(read_text(file), nullptr, false);
  if (!messages.is_array()) fail<UsageError>("{}: not a JSON list of messages", file.string());
  for (const Json& m : messages)
    if (!m.is_object() || !m.contains("role") || !m["role"].is_string())
      fail<UsageError>("{}: a message is not an object with a \"role\"", file.string());
  data_->messages = messages;
}

void Conversation::save(const std::filesystem::path& file) const {
  write_file(file, data_->messages.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void Conversation::add(const std::string& role, const std::string& text) { data_->messages.push_back({{"role", role}, {"content", text}}); }

void Conversation::set_system(const std::string& text) {
  Json& m = data_->messages;
  if (!m.empty() && data_->role(0) == "system") m.erase(0);
  if (!text.empty()) m.insert(m.begin(), Json{{"role", "system"}, {"content", text}});
}

bool Conversation::remove_reply() {
  Json& m = data_->messages;
  if (m.empty() || data_->role(m.size() - 1) != "assistant") return false;
  m.erase(m.size() - 1);
  return awaits_reply();
}

void Conversation::remove_unanswered() {
  if (awaits_reply()) data_->messages.erase(data_->messages.size() - 1);
}

void Conversation::clear() {
  Json& m = data_->messages;
  const bool system = !m.empty() && data_->role(0) == "system";
  m = system ? Json::array({m[0]}) : Json::array();
}

bool Conversation::awaits_reply() const {
  const Json& m = data_->messages;
  return !m.empty() && data_->role(m.size() - 1) != "assistant" && data_->role(m.size() - 1) != "system";
}

std::string Conversation::json() const { return data_->messages.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace hearth::cli
