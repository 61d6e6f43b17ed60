#include <algorithm>

#include "engine/engine.h"

namespace hearth::engine {
namespace {

int64_t pages_for(int64_t positions, int64_t page) { return (positions + page - 1) / page; }

// Pages of a group that one text of the whole context may hold.
int64_t most_pages(const models::TextPool::Group& group, int64_t page, int64_t context, int64_t pass_tokens) {
  const int64_t all = pages_for(context, page);
  return group.window ? std::min(all, pages_for(group.window + pass_tokens, page) + 2) : all;
}

}  // namespace

// Groups with a window get what all texts need of it, up to half of the memory; the other group gets the rest.
MemoryPlan plan_memory(const models::LanguageModel& model, const EngineOptions& options, int64_t available) {
  const models::LanguageModel::Pooling pooling = model.pooling(options.cache_type);
  const int64_t context = options.context ? options.context : model.sizes().positions;
  MemoryPlan plan{.pages = {}, .parallel = options.parallel};
  int64_t one = pooling.state_bytes;
  for (const auto& group : pooling.groups) {
    plan.most.push_back(most_pages(group, pooling.page, context, options.pass_tokens));
    one += plan.most.back() * group.bytes;
  }
  int64_t bytes = options.cache_bytes;
  if (bytes == 0) bytes = std::max(one, std::min(8 * one, available / 4));
  if (bytes < one)
    fail<UsageError>("the KV cache has {:.3f} GB, but one text of {} tokens needs {:.3f} GB; raise --kv-cache-memory or lower --context",
                     double(bytes) * 1e-9, context, double(one) * 1e-9);
  if (pooling.state_bytes > 0) {
    plan.parallel = std::clamp<int64_t>((bytes - one) / 2 / pooling.state_bytes + 1, 1, options.parallel);
    plan.state_bytes = plan.parallel * pooling.state_bytes;
    const int64_t rest = bytes - one - plan.state_bytes + pooling.state_bytes;
    plan.snapshot_bytes = options.prefix_cache ? (pooling.groups.empty() ? rest : rest / 2) : 0;
  }
  int64_t left = bytes - plan.state_bytes - plan.snapshot_bytes;
  int64_t windows = 0;
  for (const auto& group : pooling.groups) windows += group.window ? 1 : 0;
  for (const auto& group : pooling.groups) {
    if (!group.window) continue;
    const int64_t least = most_pages(group, pooling.page, context, options.pass_tokens);
    const bool alone = windows == std::ssize(pooling.groups);
    const int64_t share = (alone ? bytes - plan.state_bytes - plan.snapshot_bytes : (bytes - one) / 2) / windows / group.bytes;
    const int64_t pages = alone ? std::max(least, share) : std::clamp(share, least, std::max(least, plan.parallel * least));
    plan.page_bytes += pages * group.bytes;
    left -= pages * group.bytes;
    plan.pages.push_back(pages);
  }
  for (size_t g = 0; g < pooling.groups.size(); ++g) {
    const auto& group = pooling.groups[g];
    if (group.window) continue;
    const int64_t pages = std::max(most_pages(group, pooling.page, context, options.pass_tokens), left / group.bytes);
    plan.page_bytes += pages * group.bytes;
    plan.pages.insert(plan.pages.begin() + std::ptrdiff_t(g), pages);
  }
  return plan;
}

void rehearse(models::LanguageModel& dry, const EngineOptions& options, const MemoryPlan& plan) {
  const int64_t context = options.context ? options.context : dry.sizes().positions;
  const int64_t tokens = std::min(options.pass_tokens, dry.pass_tokens());
  const auto pool = dry.make_pool(options.cache_type, plan.pages);
  const std::vector<int32_t> ids(size_t(tokens), 0);
  const auto slice = [&](models::PooledText& text, int64_t count) {
    return models::LanguageModel::Slice{.text = &text,
                                        .ids = std::span(ids).first(size_t(count)),
                                        .length = text.length() + count,
                                        .logits = [](int64_t, std::span<const float>) {}};
  };
  std::vector<std::unique_ptr<models::PooledText>> texts;
  while (std::ssize(texts) < std::min(plan.parallel, tokens)) {
    auto text = dry.start(pool, context);
    if (!text->reserve(1)) break;
    const auto first = slice(*text, 1);
    dry.feed(std::span(&first, 1));
    texts.push_back(std::move(text));
  }
  // Those of the prefix cache, and one on its way from a text to another.
  std::vector<models::TextState::Parts> snapshots;
  if (const int64_t bytes = dry.pooling(options.cache_type).state_bytes; bytes > 0)
    while (std::ssize(snapshots) <= plan.snapshot_bytes / bytes) snapshots.push_back(texts.front()->snapshot());
  std::vector<models::LanguageModel::Slice> pass;
  for (int64_t left = tokens; const auto& text : texts) {
    const int64_t others = std::ssize(texts) - std::ssize(pass) - 1, count = std::min(context - 1, left - others);
    if (count < 1 || !text->reserve(1 + count)) continue;
    left -= count;
    pass.push_back(slice(*text, count));
  }
  dry.feed(pass);
}

}  // namespace hearth::engine
