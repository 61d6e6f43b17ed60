// Maps the metadata of a family's GGUF files to config.json and back: a table of rows that is used in both directions. The families supply
// the tables (models/language_family.h); this folder knows none of them by name. Reference: ggml's keys (gguf-py/gguf/constants.py) and the
// values that its converter changes.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/files/config.h"
#include "weights/aliases.h"
#include "weights/gguf/gguf_forms.h"
#include "weights/gguf/gguf_keys.h"
#include "weights/stacked.h"

namespace hearth {

// A key of the file and the corresponding key of config.json.
struct GgufKey {
  enum class Kind {
    integer,
    number,        // f32
    flag,          // true or false
    rope_scaling,  // the keys rope.scaling.* ↔ an object like transformers' rope_scaling (weights/gguf/gguf_rope.h)
    divisors,      // no key; the vector `tensor` ↔ a list of divisors of rotary frequencies
    rows,          // the number of rows of the matrix `tensor`; the key is written but not read, and may be absent
    present,       // no key: true if `tensor` exists
    lacking,       // no key: true if it does not exist
    implied,       // no key: the value is `implied`, and a config with another one cannot be written
    per_layer,     // a list of integers, one for each layer; the file may have one for all
    layers,        // no key: the numbers of the layers that have `tensor`, a pattern with one '#'
    nothing,       // ignored: does not describe the network, and is not written
  };

  std::string_view key;          // after the architecture's name and a dot: "block_count"
  std::string_view config = {};  // "num_hidden_layers"; if several rows have the same, the first is read and all are written
  Kind kind = Kind::integer;
  std::string_view tensor = {};                     // its name in GGUF files
  double (*otherwise)(const GgufKeys&) = nullptr;   // the value if the file lacks the key
  bool optional = false;                            // may be absent on both sides
  std::string (*implied)(const Config&) = nullptr;  // JSON text, from the rows above it
};

// Tensors whose rows are heads.
struct GgufHeads {
  std::string_view names;  // official names, as a pattern of weights/aliases.h
  std::string_view count;  // the key of config.json that counts the heads
};

struct GgufArchitecture {
  std::string_view name;            // general.architecture; empty: the family has no GGUF files
  std::string_view marked_by = {};  // if families share a name, a file belongs to the one whose key is greater than 0 in it
  std::vector<GgufKey> keys = {};   // in the order in which they are written
  std::vector<Alias> names = {};
  // Tensors of the file that are several of the network (all rows of each slice).
  std::vector<StackRule> stacks = {};
  bool yarn_truncates = true;  // RotaryConfig::truncate of files with yarn, which have no key for it
  // Official names, as patterns of weights/aliases.h, of tensors that the file stores plus 1: the norms of families whose checkpoints store
  // the weight minus 1. Such a file has norm_offset 0 in its config.
  std::span<const std::string_view> plus_one = {};
  // In these tensors the file interleaves the halves of each head: row i of the first half is next to row i of the second. Such a file has
  // rope_pairs "neighbors" in its config.
  std::span<const GgufHeads> neighbors = {};
  std::span<const GgufForm> forms = {};               // of tensors that the file stores in another shape, or as other values
  void (*check)(const GgufKeys&) = nullptr;           // refuses combinations of keys that no single row can check
  std::string_view model_type = {}, class_name = {};  // in config.json; models/language_registry.h sets them
};

}  // namespace hearth
