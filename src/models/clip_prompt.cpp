#include "models/clip_prompt.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/pointwise.h"
#include "ops/shape_ops.h"
#include "text/prompt/prompt_schedule.h"

namespace hearth::models {
namespace {

// f(value, weight, i) for each of n·T·C values. The states are small; the factors are f32, as in the programs.
template <class F> Tensor with_weights(const Tensor& z, std::span<const float> weights, F f) {
  const auto [n, T, C] = z.dims<3>();
  if (int64_t(weights.size()) != n * T) fail<ShapeError>("prompt: {} weights for states {}", weights.size(), z.shape());
  if (!z.backend().computes()) return Tensor::like(z);
  std::vector<float> values = z.to_vector();
  for (size_t i = 0; i < values.size(); ++i) values[i] = f(values[i], weights[i / size_t(C)], i);
  return Tensor::from(z.backend(), z.shape(), values);
}

double sum(const Tensor& z) {
  double total = 0;
  if (z.backend().computes())
    for (const float v : z.to_vector()) total += double(v);
  return total;
}

std::vector<float> weights_of(const text::Chunk& chunk) {
  std::vector<float> weights;
  for (const text::Slot& slot : chunk) weights.push_back(slot.weight);
  return weights;
}

// What the encoder sees of a chunk.
using Key = std::vector<std::array<int32_t, 3>>;
Key key_of(const text::Chunk& chunk) {
  Key key;
  for (const text::Slot& slot : chunk) key.push_back({slot.id, slot.embedding, slot.vector});
  return key;
}

class ChunkStates {
 public:
  ChunkStates(const parts::ClipTextModel& model, std::span<const Tensor> embeddings, const PromptEncoding& how)
      : model_(model), embeddings_(embeddings), how_(how) {}

  void want(const text::Chunk& chunk) {
    if (states_.try_emplace(key_of(chunk)).second) wanted_.push_back(chunk);
  }
  void encode() {
    constexpr size_t together = 8;
    for (size_t begin = 0; begin < wanted_.size(); begin += together)
      encode(std::span(wanted_).subspan(begin, std::min(together, wanted_.size() - begin)));
  }
  const Tensor& of(const text::Chunk& chunk) const { return states_.at(key_of(chunk)).states; }     // [1, T, C]
  const Tensor& pooled(const text::Chunk& chunk) const { return states_.at(key_of(chunk)).added; }  // [1, P]

 private:
  void encode(std::span<const text::Chunk> chunks) {
    std::vector<std::vector<int32_t>> ids(chunks.size());
    std::vector<parts::ClipVector> vectors;
    for (size_t r = 0; r < chunks.size(); ++r)
      for (const text::Slot& slot : chunks[r]) {
        if (slot.embedding >= 0) {
          const Tensor& all = embeddings_[size_t(slot.embedding)];
          vectors.push_back({int64_t(r), int64_t(ids[r].size()), all.slice(0, slot.vector, slot.vector + 1).view({all.size(1)})});
        }
        ids[r].push_back(slot.id);
      }
    const parts::ClipTextOutput out = model_(ids, vectors);
    const Tensor states = states_of(out);
    for (size_t r = 0; r < chunks.size(); ++r) {
      const int64_t i = int64_t(r);
      states_[key_of(chunks[r])] = {.states = states.slice(0, i, i + 1),
                                    .added = out.text_embeds ? out.text_embeds.slice(0, i, i + 1) : Tensor()};
    }
  }
  Tensor states_of(const parts::ClipTextOutput& out) const {
    if (how_.final_norm && how_.clip_skip == 1) return out.last_hidden_state;
    const Tensor& states = out.hidden_states[out.hidden_states.size() - size_t(how_.clip_skip)];
    return how_.final_norm ? model_.final_layer_norm(states) : states;
  }

  const parts::ClipTextModel& model_;
  std::span<const Tensor> embeddings_;
  PromptEncoding how_;
  std::vector<text::Chunk> wanted_;
  std::map<Key, Conditioning> states_;
};

// One chunk of all of a condition's entries, weighted. Entries of one text share their states.
std::vector<Tensor> column(const ChunkStates& states, const text::Condition& condition, size_t i, const Tensor& empty,
                           const PromptEncoding& how) {
  std::vector<const text::Chunk*> texts;  // distinct
  std::vector<size_t> text_of;            // of each entry
  std::vector<int64_t> times;
  for (const text::PromptEntry& entry : condition.entries) {
    const text::Chunk& chunk = entry.chunks[i];
    size_t t = 0;
    while (t < texts.size() && *texts[t] != chunk) ++t;
    if (t == texts.size()) texts.push_back(&chunk), times.push_back(0);
    ++times[t];
    text_of.push_back(t);
  }
  std::vector<Tensor> z;
  std::vector<std::vector<float>> weights;
  for (const text::Chunk* chunk : texts) {
    z.push_back(states.of(*chunk));
    weights.push_back(weights_of(*chunk));
  }
  if (condition.weighted && how.syntax == text::PromptSyntax::a1111 && how.emphasis == text::Emphasis::original) {
    z = multiply_keeping_mean(z, weights, times);
  } else if (condition.weighted) {
    for (size_t t = 0; t < z.size(); ++t)
      z[t] = how.syntax == text::PromptSyntax::a1111 ? multiply_states(z[t], weights[t]) : states_from_empty(z[t], empty, weights[t]);
  }
  std::vector<Tensor> entries;
  for (const size_t t : text_of) entries.push_back(z[t]);
  return entries;
}

Tensor joined(const std::vector<Tensor>& parts, int axis) { return parts.size() == 1 ? parts[0] : ops::concat(parts, axis); }

// [1, T, C] → [1, length, C], the last state again and again.
Tensor lengthened(const Tensor& states, int64_t length) {
  const int64_t T = states.size(1);
  std::vector<Tensor> parts = {states};
  for (int64_t t = T; t < length; ++t) parts.push_back(states.slice(1, T - 1, T));
  return joined(parts, 1);
}

EncodedPrompt encoded(const ChunkStates& states, const text::Prompt& prompt, const Tensor& empty, const PromptEncoding& how) {
  EncodedPrompt out;
  int64_t length = 0;
  for (const text::Condition& condition : prompt.conditions) {
    EncodedCondition& c = out.conditions.emplace_back(EncodedCondition{.weight = condition.weight});
    std::vector<std::vector<Tensor>> entries(condition.entries.size());
    for (size_t i = 0; i < condition.entries[0].chunks.size(); ++i) {
      const std::vector<Tensor> chunk = column(states, condition, i, empty, how);
      for (size_t e = 0; e < entries.size(); ++e) entries[e].push_back(chunk[e]);
    }
    for (size_t e = 0; e < entries.size(); ++e) {
      const text::PromptEntry& entry = condition.entries[e];
      c.entries.push_back({entry.end, {.states = joined(entries[e], 1), .added = states.pooled(entry.chunks[0])}});
    }
    length = std::max(length, c.entries[0].given.states.size(1));
  }
  for (EncodedCondition& c : out.conditions)
    for (EncodedEntry& e : c.entries) e.given.states = lengthened(e.given.states, length);
  return out;
}

Tensor times(const Tensor& t, int64_t n) { return n == 1 || !t ? t : ops::repeat_batch(t, n); }

const Conditioning& given_at(const EncodedCondition& condition, int64_t step) {
  return condition.entries[text::schedule_entry(condition.entries, step)].given;
}

}  // namespace

Conditioning repeated(const Conditioning& one, int64_t n) { return {.states = times(one.states, n), .added = times(one.added, n)}; }

Conditioning concat(const Conditioning& a, const Conditioning& b) {
  return {.states = ops::concat({a.states, b.states}, 0), .added = a.added ? ops::concat({a.added, b.added}, 0) : Tensor()};
}

Tensor multiply_states(const Tensor& z, std::span<const float> weights) {
  return with_weights(z, weights, [](float value, float weight, size_t) { return value * weight; });
}

std::vector<Tensor> multiply_keeping_mean(std::span<const Tensor> z, std::span<const std::vector<float>> weights,
                                          std::span<const int64_t> times) {
  double before = 0, after = 0;
  std::vector<Tensor> out;
  for (size_t t = 0; t < z.size(); ++t) {
    out.push_back(multiply_states(z[t], weights[t]));
    before += double(times[t]) * sum(z[t]);
    after += double(times[t]) * sum(out.back());
  }
  const auto factor = float(before / after);
  for (Tensor& w : out) w = ops::linear_combination({w}, {factor});
  return out;
}

Tensor states_from_empty(const Tensor& z, const Tensor& empty, std::span<const float> weights) {
  const std::vector<float> origin = z.backend().computes() ? empty.to_vector() : std::vector<float>();
  return with_weights(z, weights, [&origin](float value, float weight, size_t i) {
    const float e = origin[i % origin.size()];
    return weight == 1 ? value : (value - e) * weight + e;
  });
}

std::vector<EncodedPrompt> encode_prompts(const parts::ClipTextModel& model, std::span<const text::Prompt> prompts,
                                          std::span<const Tensor> embeddings, const text::Chunk& empty, const PromptEncoding& how) {
  ChunkStates states(model, embeddings, how);
  bool from_empty = false;
  for (const text::Prompt& prompt : prompts)
    for (const text::Condition& condition : prompt.conditions) {
      from_empty = from_empty || (condition.weighted && how.syntax == text::PromptSyntax::comfyui);
      for (const text::PromptEntry& entry : condition.entries)
        for (const text::Chunk& chunk : entry.chunks) states.want(chunk);
    }
  if (from_empty) states.want(empty);
  states.encode();
  std::vector<EncodedPrompt> out;
  for (const text::Prompt& prompt : prompts) out.push_back(encoded(states, prompt, from_empty ? states.of(empty) : Tensor(), how));
  return out;
}

EncodedPrompt side_by_side(std::span<const EncodedPrompt> of_encoders) {
  if (of_encoders.size() == 1) return of_encoders[0];
  EncodedPrompt out;
  for (size_t c = 0; c < of_encoders[0].conditions.size(); ++c) {
    EncodedCondition& condition = out.conditions.emplace_back(EncodedCondition{.weight = of_encoders[0].conditions[c].weight});
    std::set<int64_t> ends;
    for (const EncodedPrompt& prompt : of_encoders)
      for (const EncodedEntry& entry : prompt.conditions[c].entries) ends.insert(entry.end);
    for (const int64_t end : ends) {
      std::vector<Tensor> states;
      for (const EncodedPrompt& prompt : of_encoders) states.push_back(given_at(prompt.conditions[c], end).states);
      condition.entries.push_back({end, {.states = joined(states, -1), .added = given_at(of_encoders.back().conditions[c], end).added}});
    }
  }
  return out;
}

Tensor ask_under_prompts(const AskUnder& ask, const Tensor& x, int64_t step, const sampling::Branches& branches,
                         const EncodedPrompt* negative, const EncodedPrompt& prompt) {
  const int64_t B = x.size(0) / branches.count(), disturbed = branches.disturbed ? B : 0;
  const Tensor one = x.slice(0, 0, B);
  // Under one conditioning, without and, where it is asked for, with the disturbance.
  const auto under = [&](const Conditioning& given) {
    return ask(times(one, branches.disturbed ? 2 : 1), repeated(given, B + disturbed), disturbed);
  };
  const Conditioning& first = given_at(prompt.conditions[0], step);
  if (!prompt.composed() && !branches.negative) return under(first);
  const Conditioning& without = given_at(negative->conditions[0], step);
  if (!prompt.composed()) {
    if (without.states.size(1) == first.states.size(1))
      return ask(x, concat(repeated(without, B), repeated(first, B + disturbed)), disturbed);
    return ops::concat({ask(one, repeated(without, B), 0), under(first)}, 0);
  }
  const Tensor base = ops::cast(ask(one, repeated(without, B), 0), DType::f32);
  std::vector<Tensor> answers = {times(base, branches.disturbed ? 2 : 1)};
  std::vector<float> factors = {1};
  for (const EncodedCondition& c : prompt.conditions) {
    answers.push_back(ops::cast(under(given_at(c, step)), DType::f32));
    factors.push_back(float(c.weight));
    factors[0] -= float(c.weight);
  }
  const Tensor composed = ops::linear_combination(answers, factors);
  return branches.negative ? ops::concat({base, composed}, 0) : composed;
}

}  // namespace hearth::models
