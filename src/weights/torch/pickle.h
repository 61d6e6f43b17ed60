// Python pickles, read without executing anything: what a pickle would have Python call is written down as a value, never done.
//
// All instructions of protocols 0 to 5 but those that need a program's help (extension codes, out-of-band buffers). The number of values
// and of instructions is bounded, and with it memory and time, whatever the file says. Texts and bytes are views of the file. Values may
// contain themselves, as Python's may: who walks them must bound the depth.
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
    big_integer,  // text: its two's complement, little endian, or (protocols 0 and 1) its decimal digits
    real,
    text,        // UTF-8
    bytes,       // also a text that is no UTF-8
    tuple,       // items
    list,        // items
    set,         // items
    dict,        // items: key, value, key, value …
    global,      // items: module and name, e.g. "torch._utils", "_rebuild_tensor_v2"
    call,        // items: callable and arguments, then, in pairs, what was done to the result: a key and its value, or nullptr and what was
                 // appended to it or given to it as its state
    persistent,  // items: the id, which the program that wrote the pickle understands
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
  // For people: "the integer 3", "a dict of 2", "a call of os.system"; long texts shortened.
  std::string describe() const;
};

class Pickle {
 public:
  static constexpr size_t max_values = size_t(1) << 22, max_instructions = 4 * max_values;  // of one pickle: some 200 000 tensors

  // The pickle at the start of `bytes`, to which its values point. IoError that begins with `where` and names the byte for what is no
  // pickle, is cut off or does what Python would refuse; UnsupportedError for another protocol and the instructions left out.
  static Pickle read(std::string_view bytes, const std::string& where);

  const PickleValue& value() const { return *value_; }
  size_t bytes() const { return bytes_; }  // the pickle's length: what follows it begins there
  const std::vector<const PickleValue*>& globals() const { return globals_; }
  const std::vector<const PickleValue*>& persistents() const { return persistents_; }

 private:
  friend class PickleMachine;
  std::deque<PickleValue> values_;
  std::deque<std::string> texts_;  // those that the file spells with escapes
  std::vector<const PickleValue*> globals_, persistents_;
  const PickleValue* value_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace hearth
