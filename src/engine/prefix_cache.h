// What texts have computed, kept for texts that begin with the same tokens: a tree whose nodes are full pages, each with the tokens that it
// covers. Leaves that were not used for longest are dropped first.
//
// A model with recurrent layers can continue a text only where there is a snapshot of them: some nodes have one, of the state behind
// their last token.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "models/language_model.h"

namespace hearth::engine {

class PrefixCache {
 public:
  using Snapshot = models::TextState::Parts;
  class Node;

  // page: tokens of a page. needs_snapshots: of a model with recurrent layers; they take at most snapshot_bytes.
  PrefixCache(int64_t page, bool needs_snapshots, int64_t snapshot_bytes);
  ~PrefixCache();

  // The longest prefix of `tokens`, in whole pages and shorter than all of them, that a text can begin with.
  struct Hit {
    std::vector<std::shared_ptr<models::TextPage>> pages;
    std::shared_ptr<const Snapshot> snapshot;  // null if the model needs none
    Node* last = nullptr;                      // of `pages`; null: no page
  };
  Hit find(std::span<const int32_t> tokens);

  // The page behind `parent` (null: the first) with these tokens. Returns the node that was there already, if there is one.
  Node* add(Node* parent, std::span<const int32_t> tokens, std::shared_ptr<models::TextPage> page);
  // A snapshot behind the last token of the node. `instead`: a node whose snapshot it replaces, or null.
  void add_snapshot(Node* node, Snapshot snapshot, Node* instead);
  // A node that a text builds on is not dropped.
  void pin(Node* node);
  void unpin(Node* node);

  // Drops leaves until one that frees memory is gone. False if there is none.
  bool drop_one();
  void clear();  // all that is not pinned
  int64_t nodes() const { return nodes_; }
  int64_t releasable() const;  // pages of the pool that only the cache holds
  int64_t snapshot_bytes() const { return snapshot_bytes_; }

 private:
  void drop(Node* node);
  void drop_snapshot(Node* node);
  void touch(Node* node);
  void make_leaf_entry(Node* node);

  int64_t page_, most_snapshot_bytes_, snapshot_bytes_ = 0, nodes_ = 0, clock_ = 0;
  bool needs_snapshots_;
  std::unique_ptr<Node> root_;
  std::map<int64_t, Node*> leaves_;     // without pins, by last use
  std::map<int64_t, Node*> snapshots_;  // by last use
};

}  // namespace hearth::engine
