#include "models/clip/prompt_states.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/on_host.h"
#include "ops/pointwise.h"
#include "ops/shape_ops.h"

namespace hearth::models::clip {
namespace {

// f(value, weight, i) for each of n·T·C values, in a plain loop because the states are small; the factors are f32, as in the programs.
template <class F> Tensor with_weights(const Tensor& z, std::span<const float> weights, F f) {
  const auto [n, T, C] = z.dims<3>();
  if (int64_t(weights.size()) != n * T) fail<ShapeError>("prompt: {} weights do not match states of shape {}", weights.size(), z.shape());
  const auto each = [&, count = size_t(z.numel()), width = size_t(C)](float* y, const float* x) {
    for (size_t i = 0; i < count; ++i) y[i] = f(x[i], weights[i / width], i);
  };
  return on_host(z.shape(), each, z);
}

double sum(const Tensor& z) {
  return unless_dry(z.backend(), 0.0, [&] {
    double total = 0;
    for (const float v : z.to_vector()) total += double(v);
    return total;
  });
}

std::vector<float> weights_of(const text::Chunk& chunk) {
  std::vector<float> weights;
  for (const text::Slot& slot : chunk) weights.push_back(slot.weight);
  return weights;
}

// Input of the encoder for a chunk.
using Key = std::vector<std::array<int32_t, 3>>;
Key key_of(const text::Chunk& chunk) {
  Key key;
  for (const text::Slot& slot : chunk) key.push_back({slot.id, slot.embedding, slot.vector});
  return key;
}

struct Encoded {
  Tensor states, pooled;
};

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
  const Tensor& of(const text::Chunk& chunk) const { return states_.at(key_of(chunk)).states; }      // [1, T, C]
  const Tensor& pooled(const text::Chunk& chunk) const { return states_.at(key_of(chunk)).pooled; }  // [1, P], or undefined

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
    const parts::ClipTextOutput out = model_(ids, vectors, how_.padding);
    const Tensor all = states_of(out);
    for (size_t r = 0; r < chunks.size(); ++r) {
      const int64_t i = int64_t(r);
      const Tensor vectors_of_all = out.text_embeds ? out.text_embeds : how_.pooled_unprojected ? out.pooled : Tensor();
      states_[key_of(chunks[r])] = {.states = all.slice(0, i, i + 1),
                                    .pooled = vectors_of_all ? vectors_of_all.slice(0, i, i + 1) : Tensor()};
    }
  }
  Tensor states_of(const parts::ClipTextOutput& out) const {
    if (how_.final_norm && how_.clip_skip == 1) return out.last_hidden_state;
    const Tensor& layer = out.hidden_states[out.hidden_states.size() - size_t(how_.clip_skip)];
    return how_.final_norm ? model_.final_layer_norm(layer) : layer;
  }

  const parts::ClipTextModel& model_;
  std::span<const Tensor> embeddings_;
  PromptEncoding how_;
  std::vector<text::Chunk> wanted_;
  std::map<Key, Encoded> states_;
};

// One chunk of each of a condition's entries, weighted. Entries with the same text share their states.
std::vector<Tensor> column(const ChunkStates& chunks, const text::Condition& condition, size_t i, const Tensor& empty,
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
    z.push_back(chunks.of(*chunk));
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

// [1, T, C] → [1, length, C], repeating the last state.
Tensor lengthened(const Tensor& z, int64_t length) {
  const int64_t T = z.size(1);
  std::vector<Tensor> parts = {z};
  for (int64_t t = T; t < length; ++t) parts.push_back(z.slice(1, T - 1, T));
  return joined(parts, 1);
}

EncodedPrompt encoded(const ChunkStates& chunks, const text::Prompt& prompt, const Tensor& empty, const PromptEncoding& how) {
  EncodedPrompt out;
  int64_t length = 0;
  for (const text::Condition& condition : prompt.conditions) {
    EncodedCondition& c = out.conditions.emplace_back(EncodedCondition{.weight = condition.weight});
    std::vector<std::vector<Tensor>> entries(condition.entries.size());
    for (size_t i = 0; i < condition.entries[0].chunks.size(); ++i) {
      const std::vector<Tensor> chunk = column(chunks, condition, i, empty, how);
      for (size_t e = 0; e < entries.size(); ++e) entries[e].push_back(chunk[e]);
    }
    for (size_t e = 0; e < entries.size(); ++e) {
      const text::PromptEntry& entry = condition.entries[e];
      EncodedEntry& out_entry = c.entries.emplace_back(EncodedEntry{.end = entry.end});
      auto& tensors = out_entry.given.tensors;
      tensors[std::string(states)] = joined(entries[e], 1);
      if (const Tensor& vector = chunks.pooled(entry.chunks[0])) tensors[std::string(pooled)] = vector;
      length = std::max(length, tensors.find(states)->second.size(1));
    }
  }
  for (EncodedCondition& c : out.conditions)
    for (EncodedEntry& e : c.entries) {
      Tensor& z = e.given.tensors.find(states)->second;
      z = lengthened(z, length);
    }
  return out;
}

}  // namespace

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
  const std::vector<float> origin = unless_dry(z.backend(), std::vector<float>(), [&] { return empty.to_vector(); });
  return with_weights(z, weights, [&origin](float value, float weight, size_t i) {
    const float e = origin[i % origin.size()];
    return weight == 1 ? value : (value - e) * weight + e;
  });
}

std::vector<EncodedPrompt> encode_prompts(const parts::ClipTextModel& model, std::span<const text::Prompt> prompts,
                                          std::span<const Tensor> embeddings, const text::Chunk& empty, const PromptEncoding& how) {
  ChunkStates chunks(model, embeddings, how);
  bool from_empty = false;
  for (const text::Prompt& prompt : prompts)
    for (const text::Condition& condition : prompt.conditions) {
      from_empty = from_empty || (condition.weighted && how.syntax == text::PromptSyntax::comfyui);
      for (const text::PromptEntry& entry : condition.entries)
        for (const text::Chunk& chunk : entry.chunks) chunks.want(chunk);
    }
  if (from_empty) chunks.want(empty);
  chunks.encode();
  std::vector<EncodedPrompt> out;
  for (const text::Prompt& prompt : prompts) out.push_back(encoded(chunks, prompt, from_empty ? chunks.of(empty) : Tensor(), how));
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
      std::vector<Tensor> side, vectors;
      for (const EncodedPrompt& prompt : of_encoders) {
        const diffusion::Conditioning& given = given_at(prompt.conditions[c], end);
        side.push_back(given[states]);
        if (const Tensor& vector = given[pooled]) vectors.push_back(vector);
      }
      EncodedEntry& entry = condition.entries.emplace_back(EncodedEntry{.end = end});
      entry.given.tensors[std::string(states)] = joined(side, -1);
      if (!vectors.empty()) entry.given.tensors[std::string(pooled)] = joined(vectors, -1);
    }
  }
  return out;
}

}  // namespace hearth::models::clip
