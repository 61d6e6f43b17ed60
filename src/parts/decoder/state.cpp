#include "parts/decoder/state.h"

#include <algorithm>
#include <stdexcept>

#include "core/error.h"

namespace hearth::parts {

int64_t DecoderPool::bytes() const {
  int64_t sum = 0;
  for (const Group& group : groups) sum += group.pages->count() * group.bytes;
  return sum;
}

void DecoderPool::copy_page(size_t group, int32_t from, int32_t to) const {
  for (size_t i = 0; i < layers.size(); ++i)
    if (layers[i] && group_of[i] == group) layers[i]->copy_page(from, to);
}

DecoderPage::DecoderPage(std::shared_ptr<DecoderPool> pool, std::vector<int32_t> pages) : pool_(std::move(pool)), pages_(std::move(pages)) {
  for (size_t g = 0; g < pages_.size(); ++g)
    if (pages_[g] != nn::PageTable::none) pool_->groups[g].pages->share(pages_[g]);
}

DecoderPage::~DecoderPage() {
  for (size_t g = 0; g < pages_.size(); ++g)
    if (pages_[g] != nn::PageTable::none) pool_->groups[g].pages->release(pages_[g]);
}

int64_t DecoderPage::releasable() const {
  int64_t sum = 0;
  for (size_t g = 0; g < pages_.size(); ++g)
    if (pages_[g] != nn::PageTable::none && pool_->groups[g].pages->users(pages_[g]) == 1) ++sum;
  return sum;
}

int64_t DecoderState::bytes() const {
  int64_t sum = alone ? pool->bytes() : 0;
  for (size_t g = 0; g < tables.size() && !alone; ++g)
    sum += (tables[g]->end() - tables[g]->oldest()) / tables[g]->size() * pool->groups[g].bytes;
  for (const auto& block : blocks) sum += block ? block->bytes() : 0;
  return sum;
}

int64_t DecoderState::missing(size_t g, int64_t to) const {
  const nn::PageTable& table = *tables[g];
  const int64_t last = length / table.size();  // of the token that follows
  const bool shared = to > length && last < std::ssize(table.pages()) && table.pool().users(table.pages()[size_t(last)]) > 1;
  return table.missing(to) + (shared ? 1 : 0);
}

bool DecoderState::reserve(int64_t to) {
  for (size_t g = 0; g < tables.size(); ++g) {
    if (missing(g, to) <= tables[g]->pool().free()) continue;
    // No more than it takes: a text may be shortened to where its window's keys still are.
    if (const int64_t window = pool->groups[g].window) {
      const int64_t more = missing(g, to) - tables[g]->pool().free();
      tables[g]->forget(std::min(std::max<int64_t>(0, length - window + 1), tables[g]->oldest() + more * DecoderPool::page));
    }
    if (missing(g, to) > tables[g]->pool().free()) return false;
  }
  for (size_t g = 0; g < tables.size(); ++g) {
    if (missing(g, to) > tables[g]->missing(to)) {
      const auto [from, own] = tables[g]->replace(length / tables[g]->size());
      pool->copy_page(g, from, own);
    }
    tables[g]->extend(to);
  }
  return true;
}

void DecoderState::forget() {
  for (size_t g = 0; g < tables.size(); ++g)
    if (const int64_t window = pool->groups[g].window) tables[g]->forget(std::max<int64_t>(0, length - window + 1));
}

int64_t DecoderState::shorten(int64_t most) {
  int64_t to = std::min(most, length);
  if (stretches) to = 0;
  for (int64_t before = -1; before != to;) {  // each block may lower it further
    before = to;
    for (const auto& block : blocks)
      if (block) to = block->reachable(length, to);
  }
  for (const auto& block : blocks)
    if (block && to < length) block->shorten(to);
  for (const auto& table : tables) table->truncate(to);
  return length = to;
}

DecoderState::Saved DecoderState::save() const {
  Saved all;
  for (const auto& block : blocks) all.push_back(block ? block->save(length) : std::vector<Tensor>());
  return all;
}

bool DecoderState::load(int64_t length_, int64_t context_, std::span<const std::vector<Tensor>> saved) {
  if (length_ > context) fail<UsageError>("context: {} tokens do not fit, expected at most {}", length_, context);
  if (saved.size() != blocks.size()) fail<WeightError>("state: has {} blocks, expected {}", saved.size(), blocks.size());
  if (stretches || std::ranges::any_of(limits, [&](int64_t limit) { return (context_ > limit) != (context > limit); })) return false;
  for (size_t g = 0; g < tables.size(); ++g) {
    const int64_t window = pool->groups[g].window, oldest = window ? std::max<int64_t>(0, length_ - window + 1) : 0;
    for (int64_t page = 0; page < oldest / DecoderPool::page; ++page) tables[g]->append(nn::PageTable::none);
  }
  length = length_;
  if (!reserve(length)) throw std::logic_error("state: too few pages for a text that is loaded");
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i]) blocks[i]->load(length, saved[i]);
    else if (!saved[i].empty()) fail<WeightError>("state: block {} has {} tensors, expected none", i, saved[i].size());
  }
  return true;
}

DecoderState::Saved DecoderState::snapshot() const {
  Saved all;
  for (const auto& block : blocks) all.push_back(block ? block->snapshot(length) : std::vector<Tensor>());
  return all;
}

void DecoderState::restore(int64_t to, const Saved& saved) {
  for (size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i]) blocks[i]->restore(to, saved.empty() ? std::span<const Tensor>() : saved[i]);
  for (const auto& table : tables) table->truncate(to);
  length = to;
}

std::shared_ptr<DecoderPage> DecoderState::share(int64_t i) const {
  std::vector<int32_t> pages;
  for (const auto& table : tables) pages.push_back(table->pages()[size_t(i)]);
  return std::make_shared<DecoderPage>(pool, std::move(pages));
}

void DecoderState::begin_with(std::span<const std::shared_ptr<DecoderPage>> pages, const Saved& saved) {
  const int64_t to = std::ssize(pages) * DecoderPool::page;
  for (size_t g = 0; g < tables.size(); ++g) {
    const int64_t window = pool->groups[g].window, oldest = window ? std::max<int64_t>(0, to - window + 1) : 0;
    for (int64_t i = 0; i < std::ssize(pages); ++i)
      tables[g]->append(i < oldest / DecoderPool::page ? nn::PageTable::none : pages[size_t(i)]->pages()[g]);
  }
  restore(to, saved);
}

void DecoderState::begin_like(const DecoderState& other) {
  for (size_t g = 0; g < tables.size(); ++g)
    for (const int32_t page : other.tables[g]->pages()) tables[g]->append(page);
  restore(other.length, other.snapshot());
}

int64_t DecoderState::piece(int64_t count) const {
  int64_t most = std::min(count, Block::chunk);
  for (const auto& block : blocks)
    if (const int64_t interval = block ? block->interval() : 0) most = std::min(most, interval - length % interval);
  return most;
}

}  // namespace hearth::parts
