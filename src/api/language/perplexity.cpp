#include <algorithm>
#include <chrono>
#include <cmath>

#include "api/language/language_state.h"
#include "core/error.h"
#include "sampling/tokens/log_probabilities.h"

namespace hearth::api {

Perplexity perplexity(LanguageState& state, const PerplexityRequest& request) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<int32_t> ids = state.tokenizer().encode(request.text);
  const auto count = int64_t(ids.size());
  const int64_t context = request.context.value_or(std::min<int64_t>(2048, state.model->sizes().positions));
  const int64_t stride = request.stride.value_or(context);
  if (context < 2) fail<UsageError>("context {}: expected at least 2", context);
  if (stride < 1 || stride > context) fail<UsageError>("stride {}: expected 1 to the context of {}", stride, context);
  require_card_room(state, std::min(context, count));
  if (count < 2) fail<UsageError>("the text has {} tokens, expected at least 2", count);

  state.text.reset();
  state.fed.clear();
  double sum = 0, squares = 0;
  int64_t scored = 0;
  for (int64_t first = 0, done = 0; done < count; first += stride) {
    const int64_t end = std::min(first + context, count);
    const auto window = std::span<const int32_t>(ids).subspan(size_t(first), size_t(end - first));
    const std::unique_ptr<models::TextState> text = state.model->start(end - first, state.cache_type);
    // Row t predicts token t + 1; tokens from `done` on have not been scored yet.
    state.model->feed(*text, window, std::max<int64_t>(0, done - first - 1), [&](int64_t t, std::span<const float> logits) {
      if (t + 1 >= int64_t(window.size())) return;
      const double loss = -double(sampling::LogProbabilities(logits).of(window[size_t(t + 1)]));
      sum += loss;
      squares += loss * loss;
      ++scored;
    });
    done = end;
    if (request.progress) request.progress({.phase = "score", .done = done, .total = count});
  }
  const double n = double(scored), mean = sum / n, variance = scored > 1 ? std::max(0.0, squares / n - mean * mean) / (n - 1) : 0;
  return {.value = std::exp(mean),
          .standard_error = std::exp(mean) * std::sqrt(variance),
          .mean = mean,
          .tokens = count,
          .scored = scored,
          .context = context,
          .stride = stride,
          .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
}

}  // namespace hearth::api
