// The engine's thread: where texts get their memory, and what is kept of them.
#include <algorithm>

#include "engine/loop.h"

namespace hearth::engine {
namespace {

// Tokens between two snapshots of a prompt.
constexpr int64_t snapshot_spacing = 256;

}  // namespace

// Frees pages until the text can grow to `length`, and `spare` more are free. False if that many cannot be freed.
bool Engine::Loop::ensure(const models::PooledText& text, int64_t length, int64_t spare) {
  for (;;) {
    const auto groups = pool_->groups();
    const std::vector<int64_t> missing = text.missing(length);
    bool enough = true;
    for (size_t g = 0; g < groups.size(); ++g) {
      // A window's pages are given back as the text goes on.
      const int64_t most = groups[g].window ? std::min(missing[g], plan.most[g]) : missing[g] + spare;
      enough = enough && groups[g].free >= std::min(most, groups[g].pages);
    }
    if (enough) return true;
    if (!cache_.drop_one()) return false;
  }
}

bool Engine::Loop::admit(Job& job) {
  Choice& choice = static_cast<Choice&>(job);
  Answer& answer = choice.answer();
  const int64_t size = std::ssize(choice.tokens());
  choice.text = model_.start(pool_, options.context);
  int64_t promised = scheduler_.running();  // each running text will need another page
  for (const auto& other : choices_)
    if (other->runs && !other->generates && other->text && other.get() != &choice) {
      const auto missing = other->text->missing(std::ssize(other->tokens()));
      promised += missing.empty() ? 0 : missing[0];
    }
  const auto refused = [&] {
    let_go(choice);
    return false;
  };
  if (choice.swapped_length > 0) {
    if (!ensure(*choice.text, choice.swapped_length, promised)) return refused();
    choice.text->load(choice.swapped_length, options.context, choice.swapped);
    swapped_ -= std::exchange(choice.swapped_bytes, 0);
    choice.swapped.clear(), choice.swapped_length = 0;
    choice.keeps = false;
  } else if (uses_cache() && !answer.request.prompt_logprobs && !answer.request.embedding) {
    const PrefixCache::Hit hit = cache_.find(choice.tokens());
    cache_.pin(choice.kept = hit.last);
    if (hit.last) choice.text->begin_with(hit.pages, hit.snapshot ? *hit.snapshot : models::TextState::Parts());
    choice.kept_pages = std::ssize(hit.pages);
  }
  if (!ensure(*choice.text, size, promised)) return refused();
  if (answer.admitted == 0) {
    answer.admitted = now();
    answer.usage.cached = choice.text->length();
    counted_.prefix_tokens += choice.text->length();
    const std::lock_guard lock(inbox_->mutex);
    --inbox_->waiting;
  }
  choice.todo = size - choice.text->length();
  choice.generates = false;
  return true;
}

// A prompt's pieces end where a snapshot is to be made.
int64_t Engine::Loop::piece(const Job& job, int64_t count) {
  const Choice& choice = static_cast<const Choice&>(job);
  if (!uses_cache() || pooling_.state_bytes == 0 || choice.generates) return count;
  const int64_t length = choice.text->length(), end = length + count;
  const int64_t last = (std::ssize(choice.tokens()) - 1) / pooling_.page * pooling_.page;
  const int64_t next = std::min(length / snapshot_spacing * snapshot_spacing + snapshot_spacing, last > length ? last : end);
  return std::min(end, next) - length;
}

bool Engine::Loop::reserve(Job& job, int64_t count) {
  Choice& choice = static_cast<Choice&>(job);
  const int64_t length = choice.text->length() + count;
  choice.text->forget();
  return ensure(*choice.text, length, 0) && choice.text->reserve(length);
}

void Engine::Loop::stop(Job& job) {
  Choice& choice = static_cast<Choice&>(job);
  if (const int64_t length = choice.text ? choice.text->length() : 0; length > 0) {
    ++counted_.preemptions;
    const int64_t bytes = choice.text->bytes();
    if (!pooling_.reusable || swapped_ + bytes <= options.swap_bytes) {  // keys that depend on the text's length are not computed again
      choice.swapped = choice.text->save();
      choice.swapped_length = length;
      swapped_ += choice.swapped_bytes = bytes;
    }
  }
  let_go(choice);
  choice.generates = false;
  choice.draft = 0;
  choice.todo = std::ssize(choice.tokens());
}

bool Engine::Loop::uses_cache() const { return options.prefix_cache && pooling_.reusable; }

// Full pages of the text are kept for others; and snapshots: of a prompt, and the newest of what is generated.
void Engine::Loop::keep_pages(Choice& choice) {
  if (!uses_cache() || !choice.keeps) return;
  const int64_t page = pooling_.page, length = std::min(choice.text->length(), std::ssize(choice.tokens()));  // without drafts
  const auto tokens = std::span<const int32_t>(choice.tokens());
  for (; (choice.kept_pages + 1) * page <= length; ++choice.kept_pages) {
    PrefixCache::Node* const node =
        cache_.add(choice.kept, tokens.subspan(size_t(choice.kept_pages * page), size_t(page)), choice.text->share(choice.kept_pages));
    cache_.pin(node);
    cache_.unpin(std::exchange(choice.kept, node));
  }
  if (pooling_.state_bytes == 0 || length == 0 || length % page != 0 || choice.text->length() != length) return;
  const int64_t last_of_prompt = (std::ssize(tokens) - 1) / page * page;
  if (!choice.generates && length % snapshot_spacing != 0 && length != last_of_prompt) return;
  cache_.add_snapshot(choice.kept, choice.text->snapshot(), choice.generates ? choice.snapshot : nullptr);
  choice.snapshot = choice.generates ? choice.kept : nullptr;
}

void Engine::Loop::let_go(Choice& choice) {
  choice.text.reset();
  cache_.unpin(std::exchange(choice.kept, nullptr));
  choice.snapshot = nullptr;
  choice.kept_pages = 0;
  choice.before_drafts.reset();
}

}  // namespace hearth::engine
