#include "engine/drafter.h"

#include <algorithm>
#include <bit>

namespace hearth::engine {
namespace {

class NgramDrafts final : public Drafts {
 public:
  std::vector<int32_t> after(std::span<const int32_t> tokens, int64_t most) override {
    for (const size_t length : {size_t(3), size_t(2)}) {
      if (tokens.size() <= length) continue;
      const auto pattern = tokens.last(length);
      for (size_t at = tokens.size() - length; at-- > 0;) {
        if (!std::ranges::equal(tokens.subspan(at, length), pattern)) continue;
        const auto rest = tokens.subspan(at + length);
        const auto some = rest.first(std::min(rest.size(), size_t(most)));
        return {some.begin(), some.end()};
      }
    }
    return {};
  }
};

class NgramDrafter final : public Drafter {
  std::unique_ptr<Drafts> start() const override { return std::make_unique<NgramDrafts>(); }
};

class ModelDrafts final : public Drafts {
 public:
  ModelDrafts(models::LanguageModel& model, int64_t context, DType cache) : model_(model), context_(context), cache_(cache) {}

  std::vector<int32_t> after(std::span<const int32_t> tokens, int64_t most) override {
    most = std::min(most, context_ - std::ssize(tokens));
    if (most < 1) return {};
    if (!text_) text_ = model_.start(context_, cache_);
    const auto [mine, theirs] = std::ranges::mismatch(fed_, tokens);
    // At least one token is fed, for the logits that follow it.
    int64_t common = std::min<int64_t>(mine - fed_.begin(), std::ssize(tokens) - 1);
    common = text_->shorten(common);
    fed_.assign(tokens.begin(), tokens.begin() + common);
    std::vector<int32_t> made;
    auto next = tokens.subspan(size_t(common));
    while (std::ssize(made) < most) {
      int32_t best = 0;
      model_.feed(*text_, next, std::ssize(next) - 1,
                  [&](int64_t, std::span<const float> logits) { best = int32_t(std::ranges::max_element(logits) - logits.begin()); });
      fed_.insert(fed_.end(), next.begin(), next.end());
      made.push_back(best);
      next = std::span<const int32_t>(&made.back(), 1);
    }
    return made;
  }

 private:
  models::LanguageModel& model_;
  int64_t context_;
  DType cache_;
  std::unique_ptr<models::TextState> text_;
  std::vector<int32_t> fed_;
};

class ModelDrafter final : public Drafter {
 public:
  ModelDrafter(models::LanguageModel& model, int64_t context, DType cache) : model_(model), context_(context), cache_(cache) {}
  std::unique_ptr<Drafts> start() const override { return std::make_unique<ModelDrafts>(model_, context_, cache_); }

 private:
  models::LanguageModel& model_;
  int64_t context_;
  DType cache_;
};

// Passes of one kind before they are compared, and passes after which the slower kind is tried again.
constexpr int64_t trial = 8, interval = 256;

}  // namespace

std::shared_ptr<const Drafter> ngram_drafter() { return std::make_shared<NgramDrafter>(); }

std::shared_ptr<const Drafter> model_drafter(models::LanguageModel& model, int64_t context, DType cache) {
  return std::make_shared<ModelDrafter>(model, context, cache);
}

DraftControl::Bucket& DraftControl::bucket(int64_t texts) {
  const auto index = size_t(std::bit_width(uint64_t(texts)));
  if (buckets_.size() <= index) buckets_.resize(index + 1);
  return buckets_[index];
}

bool DraftControl::use(int64_t texts) {
  Bucket& b = bucket(texts);
  if (b.with.passes < trial) return true;
  if (b.without.passes < trial) return false;
  const bool better = b.with.value() >= b.without.value();
  if (b.passes >= interval) {  // try the other kind
    b.passes = 0;
    (better ? b.without : b.with).passes = 0;
    return !better;
  }
  return better;
}

void DraftControl::measured(int64_t texts, bool used, int64_t tokens, double seconds) {
  Bucket& b = bucket(texts);
  Rate& rate = used ? b.with : b.without;
  constexpr double memory = 1 - 1.0 / 32;
  rate.tokens = rate.tokens * memory + double(tokens);
  rate.seconds = rate.seconds * memory + seconds;
  ++rate.passes, ++b.passes;
}

}  // namespace hearth::engine
