#include "text/clip_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/utf8.h"
#include "text/unicode.h"

namespace hearth::text {

struct ClipTokenizer::Data {
  Data(ClipVocabulary v, Cleaning c)
      : vocabulary(std::move(v)),
        cleaning(c),
        pattern(c == Cleaning::fast ? vocabulary.fast_pattern : WordPattern::ignore_case),
        splitter(vocabulary.added, c),
        byte_pairs(vocabulary.merges, vocabulary.ids, c == Cleaning::fast ? BytePairs::Order::single : BytePairs::Order::rounds) {
    for (const AddedToken& token : vocabulary.added)
      if (token.spaced) spaced.insert(token.id);
  }

  ClipVocabulary vocabulary;
  Cleaning cleaning;
  WordPattern pattern;
  AddedTokenSplitter splitter;
  BytePairs byte_pairs;
  std::set<int32_t> spaced;  // added tokens that decode() prints between spaces
};

namespace {

bool is_special_word(std::string_view word) { return word == "<|startoftext|>" || word == "<|endoftext|>"; }

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size());
  for (size_t found; (found = text.find(from)) != std::string_view::npos; text.remove_prefix(found + from.size()))
    out.append(text.substr(0, found)).append(to);
  return out.append(text);
}

std::string strip(std::string_view utf8) {
  const std::u32string text = decode_utf8(utf8);
  std::u32string_view s = text;
  while (!s.empty() && is_python_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_python_space(s.back())) s.remove_suffix(1);
  return encode_utf8(s);
}

// A run of spellings as text.
std::string text_of(const std::string& spellings) {
  std::string bytes;
  for (const char32_t c : decode_utf8(spellings)) {
    const int byte = byte_of_symbol(c);
    if (byte >= 0) bytes += char(byte);
    else append_utf8(bytes, c);  // a special token may hold any character
  }
  return strip(replace_all(valid_utf8(bytes), word_end, " "));
}

}  // namespace

ClipTokenizer ClipTokenizer::load(const std::filesystem::path& folder, Cleaning cleaning) {
  return parse(ClipFiles::read(folder), cleaning);
}

ClipTokenizer ClipTokenizer::parse(const ClipFiles& files, Cleaning cleaning) {
  return ClipTokenizer(std::make_shared<const Data>(ClipVocabulary::parse(files), cleaning));
}

ClipTokenizer ClipTokenizer::with_cleaning(Cleaning cleaning) const {
  return cleaning == data_->cleaning ? *this : ClipTokenizer(std::make_shared<const Data>(data_->vocabulary, cleaning));
}

std::vector<Piece> ClipTokenizer::split(std::string_view prompt) const {
  std::vector<Piece> pieces;
  for (const Section& section : data_->splitter.split(decode_utf8(prompt))) {
    if (section.id >= 0) {
      pieces.push_back({section.id, {}});
      continue;
    }
    for (const std::u32string_view word : split_words(section.text, data_->pattern)) {
      const std::string bytes = encode_utf8(word);
      if (is_special_word(bytes)) {  // came into being by cleaning (&lt;|endoftext|&gt;, capitals)
        const int32_t id = id_of(bytes);
        pieces.push_back({id, id < 0 ? bytes : std::string()});
      } else {
        data_->byte_pairs.encode(bytes, pieces);
      }
    }
  }
  return pieces;
}

std::vector<int32_t> ClipTokenizer::tokenize(std::string_view prompt) const {
  std::vector<int32_t> ids;
  for (const Piece& piece : split(prompt)) ids.push_back(piece.id >= 0 ? piece.id : unk());
  return ids;
}

std::vector<std::string> ClipTokenizer::pieces(std::string_view prompt) const {
  std::vector<std::string> spellings;
  for (const Piece& piece : split(prompt)) spellings.push_back(piece.id >= 0 ? data_->vocabulary.tokens.at(piece.id) : piece.text);
  return spellings;
}

ClipTokenizer::Encoding ClipTokenizer::encode(std::string_view prompt) const {
  const std::vector<int32_t> all = tokenize(prompt);
  Encoding encoding;
  encoding.tokens = std::min(int64_t(all.size()), model_max_length() - 2);
  encoding.dropped = int64_t(all.size()) - encoding.tokens;
  encoding.ids.reserve(size_t(model_max_length()));
  encoding.ids.push_back(bos());
  encoding.ids.insert(encoding.ids.end(), all.begin(), all.begin() + encoding.tokens);
  encoding.ids.push_back(eos());
  encoding.ids.resize(size_t(model_max_length()), pad());
  if (encoding.dropped > 0) encoding.truncated_text = decode({all.begin() + encoding.tokens, all.end()});
  return encoding;
}

std::string ClipTokenizer::decode(const std::vector<int32_t>& ids) const {
  const ClipVocabulary& v = data_->vocabulary;
  std::vector<std::string> parts;
  std::string run;  // spellings that have not become text yet
  for (const int32_t id : ids) {
    const auto token = v.tokens.find(id);
    if (token == v.tokens.end()) fail<UsageError>("decode: id {} is no token, needed one of {}", id, vocab_size());
    if (!data_->spaced.contains(id)) {
      run += token->second;
      continue;
    }
    if (std::string text = text_of(run); !text.empty()) parts.push_back(std::move(text));
    run.clear();
    parts.push_back(token->second);
  }
  if (!run.empty()) parts.push_back(text_of(run));
  std::string text = fmt::format("{}", fmt::join(parts, " "));
  if (v.clean_up_spaces)
    for (const auto& [from, to] : {std::pair{" .", "."},
                                   {" ?", "?"},
                                   {" !", "!"},
                                   {" ,", ","},
                                   {" ' ", "'"},
                                   {" n't", "n't"},
                                   {" 'm", "'m"},
                                   {" 's", "'s"},
                                   {" 've", "'ve"},
                                   {" 're", "'re"}})
      text = replace_all(text, from, to);
  return text;
}

int64_t ClipTokenizer::vocab_size() const { return int64_t(data_->vocabulary.tokens.size()); }
int32_t ClipTokenizer::max_id() const { return data_->vocabulary.max_id; }
int64_t ClipTokenizer::model_max_length() const { return data_->vocabulary.model_max_length; }
int32_t ClipTokenizer::bos() const { return data_->vocabulary.bos; }
int32_t ClipTokenizer::eos() const { return data_->vocabulary.eos; }
int32_t ClipTokenizer::pad() const { return data_->vocabulary.pad; }
int32_t ClipTokenizer::unk() const { return data_->vocabulary.unk; }
Cleaning ClipTokenizer::cleaning() const { return data_->cleaning; }

int32_t ClipTokenizer::id_of(std::string_view token) const {
  const auto it = data_->vocabulary.ids.find(token);
  return it == data_->vocabulary.ids.end() ? -1 : it->second;
}

}  // namespace hearth::text
