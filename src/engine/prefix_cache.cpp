#include "engine/prefix_cache.h"

#include <algorithm>

namespace hearth::engine {

namespace {
// Also bounds the cache of a model that stores nothing in pages.
constexpr int64_t most_nodes = int64_t(1) << 18;
}  // namespace

class PrefixCache::Node {
 public:
  Node* parent = nullptr;
  std::vector<int32_t> tokens;
  std::shared_ptr<models::TextPage> page;
  std::shared_ptr<const Snapshot> snapshot;
  int64_t snapshot_bytes = 0;
  std::map<std::vector<int32_t>, std::unique_ptr<Node>> children;
  int64_t used = 0, snapshot_used = 0, pins = 0;
};

PrefixCache::PrefixCache(int64_t page, bool needs_snapshots, int64_t snapshot_bytes)
    : page_(page), most_snapshot_bytes_(snapshot_bytes), needs_snapshots_(needs_snapshots), root_(std::make_unique<Node>()) {}

PrefixCache::~PrefixCache() = default;

PrefixCache::Hit PrefixCache::find(std::span<const int32_t> tokens) {
  Hit hit;
  std::vector<Node*> path;
  Node* node = root_.get();
  for (size_t begin = 0; begin + size_t(page_) < tokens.size(); begin += size_t(page_)) {
    const auto child = node->children.find({tokens.begin() + long(begin), tokens.begin() + long(begin) + page_});
    if (child == node->children.end()) break;
    path.push_back(node = child->second.get());
  }
  while (needs_snapshots_ && !path.empty() && !path.back()->snapshot) path.pop_back();
  if (path.empty()) return hit;
  for (Node* each : path) hit.pages.push_back(each->page);
  hit.last = path.back();
  hit.snapshot = hit.last->snapshot;
  touch(hit.last);
  return hit;
}

PrefixCache::Node* PrefixCache::add(Node* parent, std::span<const int32_t> tokens, std::shared_ptr<models::TextPage> page) {
  Node* const above = parent ? parent : root_.get();
  std::unique_ptr<Node>& child = above->children[std::vector<int32_t>(tokens.begin(), tokens.end())];
  if (!child) {
    child = std::make_unique<Node>();
    child->parent = above;
    child->tokens.assign(tokens.begin(), tokens.end());
    child->page = std::move(page);
    leaves_.erase(above->used);
    if (++nodes_ > most_nodes) drop(leaves_.begin()->second);
  }
  touch(child.get());
  return child.get();
}

void PrefixCache::add_snapshot(Node* node, Snapshot snapshot, Node* instead) {
  if (instead && instead != node) drop_snapshot(instead);
  drop_snapshot(node);
  int64_t bytes = 0;
  for (const auto& part : snapshot)
    for (const Tensor& x : part) bytes += int64_t(x.bytes());
  if (bytes > most_snapshot_bytes_) return;
  while (snapshot_bytes_ + bytes > most_snapshot_bytes_) drop_snapshot(snapshots_.begin()->second);
  node->snapshot = std::make_shared<const Snapshot>(std::move(snapshot));
  node->snapshot_bytes = bytes;
  node->snapshot_used = ++clock_;
  snapshots_[node->snapshot_used] = node;
  snapshot_bytes_ += bytes;
}

void PrefixCache::drop_snapshot(Node* node) {
  if (!node->snapshot) return;
  snapshots_.erase(node->snapshot_used);
  snapshot_bytes_ -= node->snapshot_bytes;
  node->snapshot = nullptr;
}

void PrefixCache::pin(Node* node) {
  if (!node) return;
  leaves_.erase(node->used);
  ++node->pins;
}

void PrefixCache::unpin(Node* node) {
  if (!node) return;
  --node->pins;
  touch(node);
}

// Nodes above a leaf are not used longer ago than the leaf.
void PrefixCache::touch(Node* node) {
  leaves_.erase(node->used);
  node->used = ++clock_;
  make_leaf_entry(node);
  if (!node->snapshot) return;
  snapshots_.erase(node->snapshot_used);
  node->snapshot_used = ++clock_;
  snapshots_[node->snapshot_used] = node;
}

void PrefixCache::make_leaf_entry(Node* node) {
  if (node != root_.get() && node->children.empty() && node->pins == 0) leaves_[node->used] = node;
}

void PrefixCache::drop(Node* node) {
  leaves_.erase(node->used);
  drop_snapshot(node);
  Node* const above = node->parent;
  --nodes_;
  const std::vector<int32_t> key = std::move(node->tokens);
  above->children.erase(key);
  make_leaf_entry(above);
}

bool PrefixCache::drop_one() {
  for (auto leaf = leaves_.begin(); leaf != leaves_.end(); ++leaf) {
    if (leaf->second->page->releasable() == 0) continue;
    drop(leaf->second);
    return true;
  }
  return false;
}

int64_t PrefixCache::releasable() const {
  int64_t sum = 0;
  std::vector<const Node*> open{root_.get()};
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    if (node->page) sum += node->page->releasable();
    for (const auto& [tokens, child] : node->children) open.push_back(child.get());
  }
  return sum;
}

void PrefixCache::clear() {
  while (!leaves_.empty()) drop(leaves_.begin()->second);
}

}  // namespace hearth::engine
