#include "models/t5/prompt_rows.h"

#include <algorithm>
#include <map>

#include "models/clip/prompt_states.h"
#include "ops/shape_ops.h"
#include "text/prompt/weighted_text.h"
#include "text/prompt/words.h"

namespace hearth::models::t5 {
namespace {

using Ids = std::vector<int32_t>;

Ids tokens_of(std::string_view text, const text::Tokenizer& tokenizer) { return tokenizer.encode(text, {.add_special_tokens = false}); }

void add(Row& row, const Ids& ids, float weight) {
  row.ids.insert(row.ids.end(), ids.begin(), ids.end());
  row.weights.resize(row.ids.size(), weight);
}

void pad(Row& row, std::optional<int64_t> length, const text::Tokenizer& tokenizer) {
  row.length = int64_t(row.ids.size());
  const size_t size = std::max(row.ids.size(), size_t(length.value_or(0)));
  row.ids.resize(size, *tokenizer.pad());
  row.weights.resize(size, 1);
}

// Removes the tokens behind the first `most`, and describes them.
void truncate(Row& row, std::optional<int64_t> most, text::PromptRole role, const text::Tokenizer& tokenizer, const Ends& ends) {
  const size_t kept = most ? size_t(*most) : row.ids.size();
  if (row.ids.size() <= kept) return;
  const std::span<const int32_t> dropped = std::span(row.ids).subspan(kept);
  row.warning = fmt::format("the {} has {} tokens too many for the {} of {}; dropped: {}", in_words(role), dropped.size(), kept,
                            ends.encoder, tokenizer.decode(dropped));
  row.ids.resize(kept), row.weights.resize(kept);
}

void refuse_embeddings(std::string_view text) {
  for (const std::string_view mark : {" embedding:", "\nembedding:"})
    if (text.find(mark) != text.npos || text.starts_with(mark.substr(1)))
      fail<UnsupportedError>("prompt: an embedding is not supported in a prompt for T5");
}

int32_t end_of(const Ends& ends, const text::Tokenizer& tokenizer) { return ends.end ? *ends.end : *tokenizer.eos(); }

Row empty_row(int64_t length, const text::Tokenizer& tokenizer, const Ends& ends, const Padding& padding) {
  Row row;
  if (ends.start) add(row, {*ends.start}, 1);
  if (!padding.makes_empty_text) add(row, {end_of(ends, tokenizer)}, 1);
  pad(row, length, tokenizer);
  if (padding.makes_empty_text) row.length = length;  // this padding is its text
  return row;
}

// The encoder's states of distinct rows.
class RowStates {
 public:
  explicit RowStates(const Padding& padding) : padding_(padding) {}
  void want(const Row& row) { states_.try_emplace({row.ids, padding_.masked || padding_.zeroed ? row.length : 0}); }
  void encode(const RowEncoder& model) {
    std::map<size_t, std::vector<const Key*>> by_size;
    for (const auto& entry : states_) by_size[entry.first.first.size()].push_back(&entry.first);
    constexpr size_t together = 8;
    for (const auto& [size, keys] : by_size)
      for (size_t begin = 0; begin < keys.size(); begin += together) {
        const size_t end = std::min(begin + together, keys.size());
        std::vector<Ids> rows;
        std::vector<int64_t> lengths;
        for (size_t r = begin; r < end; ++r) {
          rows.push_back(keys[r]->first);
          if (padding_.masked) lengths.push_back(keys[r]->second);
        }
        const Tensor all = model(rows, lengths);
        for (size_t r = begin; r < end; ++r) {
          const Tensor one = all.slice(0, int64_t(r - begin), int64_t(r - begin) + 1);
          states_[*keys[r]] = padding_.zeroed ? without_padding(one, keys[r]->second) : one;
        }
      }
  }
  const Tensor& of(const Row& row) const { return states_.at({row.ids, padding_.masked || padding_.zeroed ? row.length : 0}); }

 private:
  using Key = std::pair<Ids, int64_t>;  // ids, and how many of them are not padding

  static Tensor without_padding(const Tensor& z, int64_t length) {
    const int64_t T = z.size(1);
    if (length == T) return z;
    return ops::concat({z.slice(1, 0, length), Tensor::zeros(z.backend(), {1, T - length, z.size(2)})}, 1);
  }

  Padding padding_;
  std::map<Key, Tensor> states_;
};

}  // namespace

bool Row::weighted() const {
  return std::ranges::any_of(weights, [](float w) { return w != 1; });
}

Row read_row(std::string_view text, text::PromptRole role, const RowReading& reading, const text::Tokenizer& tokenizer) {
  if (reading.lower && reading.syntax != text::PromptSyntax::comfyui) {
    RowReading as_it_is = reading;
    as_it_is.lower = false;
    return read_row(text::lowered_and_stripped(text), role, as_it_is, tokenizer);
  }
  const int64_t least = reading.ends.start ? 2 : 1;
  if (reading.length && *reading.length < least)
    fail<UsageError>("prompt: {} tokens for {}, expected at least {}", *reading.length, reading.ends.encoder, least);
  Row row;
  const Ends& ends = reading.ends;
  const int32_t end = end_of(ends, tokenizer);
  if (ends.start) add(row, {*ends.start}, 1);
  if (reading.syntax == text::PromptSyntax::comfyui) {
    for (const text::WeightedText& part : text::comfyui_weights(text)) {
      refuse_embeddings(part.text);
      add(row, tokens_of(part.text, tokenizer), float(part.weight));
    }
    add(row, {end}, 1);
  } else if (reading.syntax == text::PromptSyntax::a1111) {
    const bool brackets = reading.emphasis != text::Emphasis::none;
    bool weighted = false;
    for (const text::WeightedText& part :
         brackets ? text::a1111_weights(text) : std::vector<text::WeightedText>{{.text = std::string(text)}}) {
      if (part.chunk_break) continue;
      weighted = weighted || part.weight != 1;
      add(row, tokens_of(part.text, tokenizer), 1);
    }
    add(row, {end}, 1);
    truncate(row, reading.length, role, tokenizer, ends);
    if (weighted && row.warning.empty() && reading.emphasis != text::Emphasis::ignore)
      row.warning = fmt::format("weights of the {} have no effect on {} in the syntax a1111", in_words(role), ends.encoder);
  } else {
    add(row, tokens_of(text, tokenizer), 1);
    truncate(row, reading.length ? std::optional(*reading.length - 1) : std::nullopt, role, tokenizer, ends);
    add(row, {end}, 1);
  }
  pad(row, reading.length, tokenizer);
  return row;
}

std::vector<Tensor> encode_rows(const RowEncoder& encoder, std::span<const Row> rows, const text::Tokenizer& tokenizer, const Ends& ends,
                                const Padding& padding) {
  RowStates states(padding);
  const auto empty = [&](const Row& row) { return empty_row(int64_t(row.ids.size()), tokenizer, ends, padding); };
  for (const Row& row : rows) {
    states.want(row);
    if (row.weighted()) states.want(empty(row));
  }
  states.encode(encoder);
  std::vector<Tensor> out;
  for (const Row& row : rows) {
    const Tensor& z = states.of(row);
    out.push_back(row.weighted() ? clip::states_from_empty(z, states.of(empty(row)), row.weights) : z);
  }
  return out;
}

std::vector<Tensor> encode_rows(const parts::T5EncoderModel& model, std::span<const Row> rows, const text::Tokenizer& tokenizer,
                                const Padding& padding) {
  const auto encoder = [&model](const auto& ids, const auto& lengths) { return model(ids, lengths); };
  return encode_rows(encoder, rows, tokenizer, {}, padding);
}

}  // namespace hearth::models::t5
