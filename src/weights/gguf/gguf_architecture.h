// How the GGUF files of a family say what its config.json says: a table of rows that is walked in both directions. The families bring the
// tables (models/language_family.h); nothing here knows one by its name. Reference: ggml's keys (gguf-py/gguf/constants.py) and the values
// that its converter changes.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "weights/aliases.h"
#include "weights/gguf/gguf_keys.h"

namespace hearth {

// A key of the file, and the key of config.json that says the same.
struct GgufKey {
  enum class Kind {
    integer,
    number,         // f32
    flag,           // true or false
    rope_scaling,   // the keys rope.scaling.*, and an object as transformers' rope_scaling (weights/gguf/gguf_rope.h)
    rope_divisors,  // no key but the tensor rope_freqs.weight, and a list of what the frequencies are divided by
    rows,           // of the matrix `tensor`; the key is written, but not read: it may be absent
    present,        // no key: true where there is `tensor`
    lacking,        // no key: true where there is none
    nothing,        // let pass: says nothing of the network, and is not written
  };

  std::string_view key;          // behind the architecture's name: "block_count"
  std::string_view config = {};  // "num_hidden_layers"; of several rows with one, the first is read and all are written
  Kind kind = Kind::integer;
  std::string_view tensor = {};                    // as GGUF files call it
  double (*otherwise)(const GgufKeys&) = nullptr;  // what a file means that lacks the key
  bool optional = false;                           // may be absent on both sides
};

// Tensors whose rows are heads.
struct GgufHeads {
  std::string_view names;  // published ones, as a pattern of weights/aliases.h
  std::string_view count;  // the key of config.json that counts the heads
};

struct GgufArchitecture {
  std::string_view name;            // general.architecture; empty: there are no such files of the family
  std::string_view marked_by = {};  // of families that share a name, a file is that one's whose key is more than 0 in it
  std::vector<GgufKey> keys = {};   // in the order in which they are written
  std::span<const Alias> names = {};
  // Of these the file has number i of a head's first half beside number i of the second; its config says rope_pairs "neighbors".
  std::span<const GgufHeads> neighbors = {};
  void (*check)(const GgufKeys&) = nullptr;           // refuses what no row alone can see
  std::string_view model_type = {}, class_name = {};  // in config.json; models/language_registry.h fills them in
};

}  // namespace hearth
