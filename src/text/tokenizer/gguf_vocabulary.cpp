#include "text/tokenizer/gguf_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text/utf8.h"
#include "text/tokenizer/charsmap.h"
#include "text/tokenizer/gguf_patterns.h"
#include "text/tokenizer/readers.h"
#include "text/tokenizer/tokenizer_data.h"
#include "text/tokenizer/world_vocabulary.h"

namespace hearth::text {
namespace {

using Json = nlohmann::json;
namespace p = pipeline;

constexpr const char* meta = "\xe2\x96\x81";  // ▁
enum TokenType { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

int32_t type_of(const GgufVocabulary& v, size_t id) { return v.token_types.empty() ? normal : v.token_types[id]; }

void check(const GgufVocabulary& v) {
  const size_t count = v.tokens.size();
  if (count == 0) fail<WeightError>("tokenizer.ggml.tokens is empty");
  const bool scored = v.model == "llama" || v.model == "t5";
  if (scored && v.scores.size() != count)
    fail<WeightError>("tokenizer.ggml.scores has {} values, tokenizer.ggml.tokens {}", v.scores.size(), count);
  if (!v.token_types.empty() && v.token_types.size() != count)
    fail<WeightError>("tokenizer.ggml.token_type has {} values, tokenizer.ggml.tokens {}", v.token_types.size(), count);
  const std::pair<const char*, std::optional<int32_t>> ids[] = {{"bos", v.bos}, {"eos", v.eos}, {"unknown", v.unk}, {"padding", v.pad}};
  for (const auto& [name, id] : ids)
    if (id && (*id < 0 || size_t(*id) >= count))
      fail<WeightError>("tokenizer.ggml.{}_token_id is {}, there are {} tokens", name, *id, count);
}

p::VocabularyEntries entries_of(const std::vector<std::string>& tokens) {
  p::VocabularyEntries entries;
  for (const std::string& token : tokens) entries.emplace_back(token, int64_t(entries.size()));
  return entries;
}

// The tokens that text may be split into: neither control tokens nor bytes.
std::vector<bool> ordinary(const GgufVocabulary& v) {
  std::vector<bool> is(v.tokens.size());
  for (size_t i = 0; i < is.size(); ++i) is[i] = type_of(v, i) == normal || type_of(v, i) == user_defined;
  return is;
}

Json split(const std::string& pattern) {
  return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
}

// SentencePiece's BPE by score. Like llama.cpp: a space before the text and after every special token inside it.
void build_llama(const GgufVocabulary& v, Tokenizer::Data& data) {
  data.model = p::make_scored_pairs(entries_of(v.tokens), v.scores, ordinary(v), v.unk.value_or(0));
  const bool prefix = v.add_space_prefix.value_or(true);
  Json normalizers = Json::array();
  if (prefix) normalizers.push_back({{"type", "Prepend"}, {"prepend", meta}});
  normalizers.push_back({{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", meta}});
  data.normalizer = p::make_normalizer({{"type", "Sequence"}, {"normalizers", normalizers}});
  Json decoders = {
      {{"type", "Replace"}, {"pattern", {{"String", meta}}}, {"content", " "}}, {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
  if (prefix) decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  data.decoder = p::make_decoder({{"type", "Sequence"}, {"decoders", decoders}});
}

void build_gpt2(const GgufVocabulary& v, Tokenizer::Data& data) {
  const p::SplitRules& rules = p::split_rules(v.pre);
  Json steps = Json::array();
  for (const std::string& pattern : rules.patterns) steps.push_back(split(pattern));
  steps.push_back({{"type", "ByteLevel"}, {"add_prefix_space", v.add_space_prefix.value_or(false)}, {"use_regex", false}});
  data.pre_tokenizer = p::make_pre_tokenizer({{"type", "Sequence"}, {"pretokenizers", steps}});
  if (rules.nfc) data.normalizer = p::make_normalizer({{"type", "NFC"}});
  data.decoder = p::make_decoder({{"type", "ByteLevel"}});
  p::Merges merges;
  for (const std::string& merge : v.merges) {
    const size_t space = merge.find(' ', 1);
    if (space == merge.npos) fail<WeightError>("tokenizer.ggml.merges: '{}' is malformed, expected two tokens with a space between", merge);
    merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
  }
  data.model = p::make_byte_pairs(entries_of(v.tokens), merges, {.ignore_merges = rules.ignore_merges});
}

// SentencePiece's normalization and the most probable segmentation: characters replaced by the map, runs of spaces collapsed, ends
// stripped.
class SentencePieceNormalizer : public p::Normalizer {
 public:
  SentencePieceNormalizer(p::Charsmap map, bool prefix, bool squeeze) : map_(std::move(map)), prefix_(prefix), squeeze_(squeeze) {}
  void apply(p::Text& text) const override {
    const std::string mapped = map_.normalize_longest(text.bytes);
    std::string spaced;
    for (const char c : mapped)
      if (!squeeze_ || c != ' ' || (!spaced.empty() && spaced.back() != ' ')) spaced += c;
    while (squeeze_ && spaced.ends_with(' ')) spaced.pop_back();
    std::string out;
    if (prefix_ && !spaced.empty()) out = meta;
    for (const char c : spaced) {
      if (c == ' ') out += meta;
      else out += c;
    }
    text = {.bytes = std::move(out), .origin = 0};
  }

 private:
  p::Charsmap map_;
  bool prefix_, squeeze_;
};

void build_t5(const GgufVocabulary& v, Tokenizer::Data& data) {
  std::vector<std::pair<std::string, double>> scores;
  for (size_t i = 0; i < v.tokens.size(); ++i) scores.emplace_back(v.tokens[i], v.scores[i]);
  data.model = p::make_unigram(scores, {.unk = v.unk.value_or(2), .single_precision = true, .found = ordinary(v)});
  data.normalizer = std::make_unique<SentencePieceNormalizer>(p::Charsmap::from_bytes(v.precompiled_charsmap),
                                                              v.add_space_prefix.value_or(true), v.remove_extra_whitespaces.value_or(true));
  data.decoder = p::make_decoder({{"type", "Metaspace"}, {"replacement", meta}, {"prepend_scheme", "always"}});
}

// The file marks the start of a word with ▁, whereas the published vocabulary marks its continuation with ##.
void build_bert(const GgufVocabulary& v, Tokenizer::Data& data) {
  std::vector<std::string> tokens = v.tokens;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (type_of(v, i) != normal || (tokens[i].starts_with('[') && tokens[i].ends_with(']'))) continue;
    if (tokens[i].starts_with(meta)) tokens[i].erase(0, std::string_view(meta).size());
    else tokens[i] = fmt::format("##{}", tokens[i]);
  }
  const std::string unk = tokens[size_t(v.unk.value_or(0))];
  data.model = p::make_word_piece(entries_of(tokens), unk, "##", 100);
  data.normalizer =
      p::make_normalizer({{"type", "BertNormalizer"}, {"clean_text", true}, {"handle_chinese_chars", true}, {"lowercase", true}});
  data.pre_tokenizer = p::make_pre_tokenizer({{"type", "BertPreTokenizer"}});
  data.decoder = p::make_decoder({{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}});
}

// Control and unused tokens are not found in a text.
std::shared_ptr<Tokenizer::Data> build_world(const GgufVocabulary& v) {
  std::vector<std::string> tokens;
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    const bool found = type_of(v, i) == normal || type_of(v, i) == user_defined;
    tokens.push_back(found ? p::bytes_of_world_token(v.tokens[i]) : "");
  }
  return p::make_world_tokenizer(tokens, v.tokens[0]);
}

}  // namespace

Tokenizer Tokenizer::from_gguf(const GgufVocabulary& vocabulary) {
  GgufVocabulary v = vocabulary;
  for (std::string& token : v.tokens) token = valid_utf8(token);
  check(v);
  auto data = std::make_shared<Data>();
  bool add_bos = false, add_eos = false;
  if (v.model == "llama") {
    build_llama(v, *data);
    add_bos = true;
  } else if (v.model == "gpt2") {
    build_gpt2(v, *data);
    add_bos = p::split_rules(v.pre).adds_bos;
  } else if (v.model == "t5") {
    build_t5(v, *data);
    add_eos = true;
  } else if (v.model == "bert") {
    build_bert(v, *data);
    add_bos = add_eos = true;
  } else if (v.model == gguf_world) {
    data = build_world(v);
  } else {
    fail<UnsupportedError>(
        "tokenizer: the vocabulary model '{}' (tokenizer.ggml.model) is not supported, expected llama, gpt2, t5, bert or rwkv", v.model);
  }

  for (size_t i = 0; i < v.tokens.size(); ++i) {
    const int32_t type = type_of(v, i);
    const std::string& spelling = *data->model->vocabulary.spelling(int32_t(i));
    if (type == control || type == unknown || type == user_defined)
      data->added.add({.content = spelling, .normalized = false, .special = type != user_defined}, *data->model);
  }
  data->added.finish(data->normalizer.get());

  const bool bert = v.model == "bert";
  const std::optional<int32_t> first = bert && v.cls ? v.cls : v.bos, last = bert && v.sep ? v.sep : v.eos;
  data->post_processor.pieces.clear();
  if (v.add_bos.value_or(add_bos) && first) data->post_processor.pieces.push_back({.text = false, .ids = {*first}});
  data->post_processor.pieces.push_back({.text = true, .ids = {}});
  if (v.add_eos.value_or(add_eos) && last) data->post_processor.pieces.push_back({.text = false, .ids = {*last}});
  const std::pair<const char*, std::optional<int32_t>> named[] = {
      {"bos_token", v.bos}, {"eos_token", v.eos}, {"unk_token", v.unk}, {"pad_token", v.pad}};
  for (const auto& [name, id] : named)
    if (id) data->specials[name] = *data->spelling(*id);
  return Tokenizer(data);
}

}  // namespace hearth::text
