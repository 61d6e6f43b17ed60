// Reads Python pickles without executing them: a call that a pickle requests is recorded as a value and never made.
//
// All instructions of protocols 0 to 5 are supported, except those that need data from outside the file (extension codes, out-of-band
// buffers). The number of values and instructions is bounded, and therefore memory and time. Texts and bytes are views of the file. Values
// may contain themselves, as in Python: code that traverses them must bound the depth.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

struct PickleValue {
  enum class Kind : uint8_t {
    none,
    boolean,      // integer: 0 or 1
    integer,      // of 64 bits
    big_integer,  // text: two's complement, little endian, or (protocols 0 and 1) decimal digits
    real,
    text,        // UTF-8
    bytes,       // also a text that is not UTF-8
    tuple,       // items
    list,        // items
    set,         // items
    dict,        // items: key, value, key, value …
    global,      // items: module and name, e.g. "torch._utils", "_rebuild_tensor_v2"
    call,        // items: callable and arguments, then pairs of later changes to the result: a key and its value, or nullptr and an
                 // appended item or the state
    persistent,  // items: the id, whose meaning is defined by the program that wrote the pickle
  };
  Kind kind = Kind::none;
  int64_t integer = 0;
  double real = 0;
  std::string_view text;
  std::vector<const PickleValue*> items;

  bool is_text(std::string_view wanted) const { return kind == Kind::text && text == wanted; }
  bool is_global(std::string_view module, std::string_view name) const;
  // A call of such a global.
  bool is_call(std::string_view module, std::string_view name) const { return kind == Kind::call && items[0]->is_global(module, name); }
  // For messages: "the integer 3", "a dict of 2", "a call of os.system"; long texts are shortened.
  std::string describe() const;
};

class Pickle {
 public:
  static constexpr size_t max_values = size_t(1) << 22, max_instructions = 4 * max_values;  // per pickle: about 200 000 tensors

  // Reads the pickle at the start of `bytes`; its values are views of `bytes`. IoError, with a message that starts with `where` and names
  // the byte, for data that are not a pickle, are cut off or would be invalid in Python; UnsupportedError for another protocol and for
  // unsupported instructions.
  static Pickle read(std::string_view bytes, const std::string& where);

  const PickleValue& value() const { return *value_; }
  size_t bytes() const { return bytes_; }  // the pickle's length, after which other data may follow
  const std::vector<const PickleValue*>& globals() const { return globals_; }
  const std::vector<const PickleValue*>& persistents() const { return persistents_; }

 private:
  friend class PickleMachine;
  std::deque<PickleValue> values_;
  std::deque<std::string> texts_;  // texts that the file stores with escapes
  std::vector<const PickleValue*> globals_, persistents_;
  const PickleValue* value_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace hearth
