#include "models/t5/prompt_rows.h"

#include <algorithm>
#include <map>

#include "models/clip/prompt_states.h"
#include "text/prompt/weighted_text.h"

namespace hearth::models::t5 {
namespace {

using Ids = std::vector<int32_t>;

std::string_view in_words(text::PromptRole role) { return role == text::PromptRole::positive ? "prompt" : "negative prompt"; }

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
void truncate(Row& row, std::optional<int64_t> most, text::PromptRole role, const text::Tokenizer& tokenizer) {
  const size_t kept = most ? size_t(*most) : row.ids.size();
  if (row.ids.size() <= kept) return;
  const std::span<const int32_t> dropped = std::span(row.ids).subspan(kept);
  row.warning = fmt::format("the {} has {} tokens too many for the {} of T5; dropped: {}", in_words(role), dropped.size(), kept,
                            tokenizer.decode(dropped));
  row.ids.resize(kept), row.weights.resize(kept);
}

void refuse_embeddings(std::string_view text) {
  for (const std::string_view mark : {" embedding:", "\nembedding:"})
    if (text.find(mark) != text.npos || text.starts_with(mark.substr(1)))
      fail<UnsupportedError>("prompt: an embedding is not supported in a prompt for T5");
}

Row empty_row(int64_t length, const text::Tokenizer& tokenizer) {
  Row row;
  add(row, {*tokenizer.eos()}, 1);
  pad(row, length, tokenizer);
  return row;
}

// The encoder's states of distinct rows.
class RowStates {
 public:
  void want(const Ids& ids) { states_.try_emplace(ids); }
  void encode(const parts::T5EncoderModel& model) {
    std::map<size_t, std::vector<Ids>> by_length;
    for (const auto& entry : states_) by_length[entry.first.size()].push_back(entry.first);
    constexpr size_t together = 8;
    for (const auto& [length, rows] : by_length)
      for (size_t begin = 0; begin < rows.size(); begin += together) {
        const size_t end = std::min(begin + together, rows.size());
        const Tensor all = model({rows.begin() + ptrdiff_t(begin), rows.begin() + ptrdiff_t(end)});
        for (size_t r = begin; r < end; ++r) states_[rows[r]] = all.slice(0, int64_t(r - begin), int64_t(r - begin) + 1);
      }
  }
  const Tensor& of(const Ids& ids) const { return states_.at(ids); }

 private:
  std::map<Ids, Tensor> states_;
};

}  // namespace

bool Row::weighted() const {
  return std::ranges::any_of(weights, [](float w) { return w != 1; });
}

Row read_row(std::string_view text, text::PromptRole role, const RowReading& reading, const text::Tokenizer& tokenizer) {
  if (reading.length && *reading.length < 1) fail<UsageError>("prompt: {} tokens for T5, expected at least 1", *reading.length);
  Row row;
  if (reading.syntax == text::PromptSyntax::comfyui) {
    for (const text::WeightedText& part : text::comfyui_weights(text)) {
      refuse_embeddings(part.text);
      add(row, tokens_of(part.text, tokenizer), float(part.weight));
    }
    add(row, {*tokenizer.eos()}, 1);
  } else if (reading.syntax == text::PromptSyntax::a1111) {
    const bool brackets = reading.emphasis != text::Emphasis::none;
    bool weighted = false;
    for (const text::WeightedText& part :
         brackets ? text::a1111_weights(text) : std::vector<text::WeightedText>{{.text = std::string(text)}}) {
      if (part.chunk_break) continue;
      weighted = weighted || part.weight != 1;
      add(row, tokens_of(part.text, tokenizer), 1);
    }
    add(row, {*tokenizer.eos()}, 1);
    truncate(row, reading.length, role, tokenizer);
    if (weighted && row.warning.empty() && reading.emphasis != text::Emphasis::ignore)
      row.warning = fmt::format("weights of the {} have no effect on T5 in the syntax a1111", in_words(role));
  } else {
    add(row, tokens_of(text, tokenizer), 1);
    truncate(row, reading.length ? std::optional(*reading.length - 1) : std::nullopt, role, tokenizer);
    add(row, {*tokenizer.eos()}, 1);
  }
  pad(row, reading.length, tokenizer);
  return row;
}

std::vector<Tensor> encode_rows(const parts::T5EncoderModel& model, std::span<const Row> rows, const text::Tokenizer& tokenizer) {
  RowStates states;
  const auto empty = [&](const Row& row) { return empty_row(int64_t(row.ids.size()), tokenizer).ids; };
  for (const Row& row : rows) {
    states.want(row.ids);
    if (row.weighted()) states.want(empty(row));
  }
  states.encode(model);
  std::vector<Tensor> out;
  for (const Row& row : rows) {
    const Tensor& z = states.of(row.ids);
    out.push_back(row.weighted() ? clip::states_from_empty(z, states.of(empty(row)), row.weights) : z);
  }
  return out;
}

}  // namespace hearth::models::t5
