#include "text/prompt/chunks.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/text/utf8.h"
#include "text/prompt/words.h"
#include "text/unicode.h"

namespace hearth::text {
namespace {

// start, the tokens, end, padding.
Chunk framed(const std::vector<Slot>& tokens, const ClipTokenizer& tokenizer) {
  const auto length = size_t(tokenizer.model_max_length());
  Chunk chunk = {{tokenizer.bos()}};
  chunk.insert(chunk.end(), tokens.begin(), tokens.end());
  chunk.push_back({tokenizer.eos()});
  chunk.resize(length, {tokenizer.pad()});
  return chunk;
}

// A1111 treats an end token in the prompt as the end: only padding follows it, if the padding token differs.
Chunk padded_behind_end(Chunk chunk, const ClipTokenizer& tokenizer) {
  if (tokenizer.pad() == tokenizer.eos()) return chunk;
  auto slot = std::ranges::find_if(chunk, [&](const Slot& s) { return s.embedding < 0 && s.id == tokenizer.eos(); });
  while (++slot != chunk.end()) *slot = {.id = tokenizer.pad(), .weight = slot->weight};
  return chunk;
}

void add_embedding(std::vector<Slot>& slots, size_t embedding, int64_t vectors, double weight) {
  for (int64_t v = 0; v < vectors; ++v) slots.push_back({.weight = float(weight), .embedding = int32_t(embedding), .vector = int32_t(v)});
}

// Finds names in the tokens of a text, the longest first.
class NamesInTokens {
 public:
  NamesInTokens(const ClipTokenizer& tokenizer, std::span<const EmbeddingName> embeddings) {
    for (size_t e = 0; e < embeddings.size(); ++e) {
      std::vector<int32_t> ids = tokenizer.tokenize(embeddings[e].name);
      if (ids.empty()) continue;
      const int32_t first = ids.front();
      by_first_[first].push_back({e, std::move(ids)});
    }
    for (auto& [first, names] : by_first_)
      std::ranges::stable_sort(names, [](const Name& a, const Name& b) { return a.ids.size() > b.ids.size(); });
  }

  struct Name {
    size_t embedding = 0;
    std::vector<int32_t> ids;
  };
  const Name* at(std::span<const int32_t> ids) const {
    const auto found = by_first_.find(ids.front());
    if (found == by_first_.end()) return nullptr;
    for (const Name& name : found->second)
      if (name.ids.size() <= ids.size() && std::equal(name.ids.begin(), name.ids.end(), ids.begin())) return &name;
    return nullptr;
  }

 private:
  std::map<int32_t, std::vector<Name>> by_first_;
};

// The current chunk and those before it.
struct A1111Filler {
  static constexpr int64_t backtrack = 20;

  const ClipTokenizer& tokenizer;
  size_t room;
  std::vector<Chunk> chunks = {};
  std::vector<Slot> slots = {};
  std::optional<size_t> comma = {};

  void close() {
    chunks.push_back(padded_behind_end(framed(slots, tokenizer), tokenizer));
    slots.clear();
    comma.reset();
  }

  void close_after_comma() {
    const std::vector<Slot> moved(slots.begin() + ptrdiff_t(*comma) + 1, slots.end());
    slots.resize(*comma + 1);
    close();
    slots = moved;
  }

  // Called before each token or embedding.
  void make_room(bool is_comma) {
    if (is_comma) comma = slots.size();
    else if (slots.size() == room && comma && int64_t(slots.size() - *comma) <= backtrack) close_after_comma();
    if (slots.size() == room) close();
  }
};

std::u32string_view until_space(std::u32string_view text) {
  return text.substr(0, size_t(std::ranges::find_if(text, is_python_space) - text.begin()));
}

constexpr std::u32string_view embedding_mark = U"embedding:";

// Splits a span of ComfyUI's syntax before each "embedding:" that follows white space.
std::vector<std::u32string_view> cut_at_embeddings(std::u32string_view text) {
  std::vector<std::u32string_view> parts;
  size_t begin = 0;
  for (size_t at = 0; (at = text.find(embedding_mark, at)) != text.npos; ++at)
    if (at > 0 && is_python_space(text[at - 1])) {
      parts.push_back(text.substr(begin, at - begin));
      begin = at;
    }
  parts.push_back(text.substr(begin));
  std::erase_if(parts, [](std::u32string_view p) { return p.empty(); });
  return parts;
}

struct Named {
  size_t embedding = 0;
  std::string leftover;
};

std::optional<size_t> embedding_of(const std::string& name, std::span<const EmbeddingName> embeddings) {
  for (size_t e = 0; e < embeddings.size(); ++e)
    if (embeddings[e].name == name || (!name.empty() && embeddings[e].file_name == name)) return e;
  return std::nullopt;
}

// "name, more text" → the embedding and ", more text".
Named named(std::u32string_view text, std::span<const EmbeddingName> embeddings) {
  std::u32string_view rest = strip_python(text);
  const std::u32string_view word = until_space(rest);
  rest = strip_python(rest.substr(word.size()));
  const size_t cut = std::min(word.find_first_of(U"<["), word.size());
  const std::u32string_view name = word.substr(0, cut);
  std::u32string leftover(word.substr(cut));
  if (!leftover.empty() && !rest.empty()) leftover += U' ';
  leftover += rest;
  if (const auto e = embedding_of(encode_utf8(name), embeddings)) return {*e, encode_utf8(leftover)};
  const size_t begin = std::min(name.find_first_not_of(U','), name.size()), end = name.find_last_not_of(U',') + 1;
  const std::u32string_view bare = begin < end ? name.substr(begin, end - begin) : std::u32string_view();
  if (const auto e = embedding_of(encode_utf8(bare), embeddings))
    return {*e, encode_utf8(name.substr(bare.size())) + " " + encode_utf8(leftover)};
  fail<UsageError>("prompt: the embedding '{}' is not loaded", encode_utf8(bare));
}

}  // namespace

Chunk empty_chunk(const ClipTokenizer& tokenizer) { return framed({}, tokenizer); }

std::vector<Chunk> a1111_chunks(const std::vector<WeightedText>& text, const ClipTokenizer& tokenizer,
                                std::span<const EmbeddingName> embeddings) {
  const NamesInTokens names(tokenizer, embeddings);
  const int32_t comma = tokenizer.id_of(",</w>");
  A1111Filler filler{tokenizer, size_t(tokenizer.model_max_length()) - 2};
  for (const WeightedText& part : text) {
    if (part.chunk_break) {
      filler.close();
      continue;
    }
    const std::vector<int32_t> ids = tokenizer.tokenize(part.text);
    for (size_t i = 0; i < ids.size();) {
      filler.make_room(ids[i] == comma);
      const NamesInTokens::Name* name = names.at(std::span(ids).subspan(i));
      if (!name) {
        filler.slots.push_back({.id = ids[i++], .weight = float(part.weight)});
        continue;
      }
      const EmbeddingName& e = embeddings[name->embedding];
      if (size_t(e.vectors) > filler.room)
        fail<UsageError>("prompt: the embedding '{}' has {} vectors, a chunk has room for {}", e.name, e.vectors, filler.room);
      if (filler.slots.size() + size_t(e.vectors) > filler.room) filler.close();
      add_embedding(filler.slots, name->embedding, e.vectors, part.weight);
      i += name->ids.size();
    }
  }
  if (!filler.slots.empty() || filler.chunks.empty()) filler.close();
  return std::move(filler.chunks);
}

std::vector<Chunk> comfyui_chunks(const std::vector<WeightedText>& text, const ClipTokenizer& tokenizer,
                                  std::span<const EmbeddingName> embeddings) {
  constexpr size_t long_stretch = 8;
  const size_t room = size_t(tokenizer.model_max_length()) - 2;
  std::vector<Chunk> chunks;
  std::vector<Slot> slots;
  const auto close = [&] {
    chunks.push_back(framed(slots, tokenizer));
    slots.clear();
  };
  const auto add = [&](std::span<const Slot> stretch) {
    const bool cut = stretch.size() >= long_stretch;
    while (slots.size() + stretch.size() > room) {
      const size_t fitting = cut ? room - slots.size() : 0;
      slots.insert(slots.end(), stretch.begin(), stretch.begin() + ptrdiff_t(fitting));
      stretch = stretch.subspan(fitting);
      close();
    }
    slots.insert(slots.end(), stretch.begin(), stretch.end());
  };
  const auto add_text = [&](const std::string& words, double weight) {
    std::vector<Slot> stretch;
    for (const int32_t id : tokenizer.tokenize(words)) stretch.push_back({.id = id, .weight = float(weight)});
    add(stretch);
  };
  for (const WeightedText& part : text) {
    const std::u32string characters = decode_utf8(part.text);
    for (const std::u32string_view stretch : cut_at_embeddings(characters)) {
      if (!stretch.starts_with(embedding_mark)) {
        add_text(encode_utf8(stretch), part.weight);
        continue;
      }
      const Named found = named(stretch.substr(embedding_mark.size()), embeddings);
      std::vector<Slot> vectors;
      add_embedding(vectors, found.embedding, embeddings[found.embedding].vectors, part.weight);
      add(vectors);
      if (!found.leftover.empty()) add_text(found.leftover, part.weight);
    }
  }
  close();
  return chunks;
}

Truncated truncated_chunk(std::string_view prompt, const ClipTokenizer& tokenizer, std::span<const EmbeddingName> embeddings) {
  std::vector<Slot> slots;
  const auto add_text = [&](std::string_view text) {
    for (const int32_t id : tokenizer.tokenize(text)) slots.push_back({.id = id});
  };
  size_t begin = 0;
  for (size_t at = 0; at < prompt.size();) {
    std::optional<size_t> longest;
    for (size_t e = 0; e < embeddings.size(); ++e)
      if (!embeddings[e].name.empty() && prompt.substr(at).starts_with(embeddings[e].name) &&
          (!longest || embeddings[e].name.size() > embeddings[*longest].name.size()))
        longest = e;
    if (!longest) {
      ++at;
      continue;
    }
    add_text(prompt.substr(begin, at - begin));
    add_embedding(slots, *longest, embeddings[*longest].vectors, 1);
    begin = at += embeddings[*longest].name.size();
  }
  add_text(prompt.substr(begin));

  Truncated out;
  const size_t room = size_t(tokenizer.model_max_length()) - 2;
  out.tokens = int64_t(std::min(slots.size(), room));
  out.dropped = int64_t(slots.size()) - out.tokens;
  std::vector<int32_t> ids;
  for (size_t i = size_t(out.tokens); i < slots.size(); ++i)
    if (slots[i].embedding < 0) ids.push_back(slots[i].id);
  if (!ids.empty()) out.dropped_text = tokenizer.decode(ids);
  slots.resize(size_t(out.tokens));
  out.chunk = framed(slots, tokenizer);
  return out;
}

}  // namespace hearth::text
