// A call written as one JSON object: {"name": NAME, "arguments": {…}}, in either order, with other members between.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/tools/json_scanner.h"

namespace hearth::server::tools {

class CallObject {
 public:
  // strict: "type": "function" alone may stand in front of the name.
  CallObject(std::string_view name_key, std::string_view arguments_key, bool strict)
      : name_key_(name_key), arguments_key_(arguments_key), strict_(strict) {}

  enum class Step { inside, ended, bad };
  Step push(char c);  // the first is {; after ended or bad nothing more

  const std::optional<std::string>& name() const { return name_; }
  // Bytes of the arguments, an object, since the last call: as the model wrote them. "{}" at the end of a call without arguments.
  std::string take_arguments();
  bool has_arguments() const { return !arguments_.empty(); }
  bool arguments_complete() const { return arguments_complete_; }

 private:
  enum class State { open, first_key, key, in_key, colon, value, in_value, after };
  enum class Member { name, arguments, other };

  Step value_byte(char c);
  bool value_ended();
  bool choose_member();

  std::string_view name_key_, arguments_key_;
  bool strict_;
  State state_ = State::open;
  Member member_ = Member::other;
  JsonScanner scanner_;
  std::string key_;        // with its quotes
  std::string raw_;        // of a value that is read as a whole
  bool streamed_ = false;  // the value is the arguments' object
  std::optional<std::string> name_;
  std::string arguments_;
  bool arguments_begun_ = false, arguments_complete_ = false;
};

}  // namespace hearth::server::tools
