#include "text/tokenizer/world_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text/utf8.h"
#include "text/tokenizer/byte_symbols.h"

namespace hearth::text::pipeline {
namespace {

// Reads what follows a backslash at `at`: the character, as UTF-8 or as one byte. Advances `at`; false for another escape.
bool append_escape(std::string_view text, size_t& at, bool bytes, std::string& out) {
  const char kind = at < text.size() ? text[at++] : '\0';
  switch (kind) {
    case 'n': return out += '\n', true;
    case 't': return out += '\t', true;
    case 'r': return out += '\r', true;
    case '\\':
    case '\'':
    case '"': return out += kind, true;
    default: break;
  }
  const size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
  uint32_t value = 0;
  const char* const first = text.data() + at;
  if (digits == 0 || at + digits > text.size() || (bytes && digits != 2)) return false;
  if (std::from_chars(first, first + digits, value, 16).ptr != first + digits) return false;
  at += digits;
  if (bytes) out += char(value);
  else append_utf8(out, char32_t(value));
  return true;
}

// Appends the bytes of a Python literal to `out`; false if `literal` is not one.
bool append_literal(std::string_view literal, std::string& out) {
  const bool bytes = literal.starts_with('b');
  if (bytes) literal.remove_prefix(1);
  if (literal.size() < 2 || (literal[0] != '\'' && literal[0] != '"') || literal.back() != literal[0]) return false;
  literal = literal.substr(1, literal.size() - 2);
  for (size_t at = 0; at < literal.size();) {
    const char c = literal[at++];
    if (c != '\\') out += c;
    else if (!append_escape(literal, at, bytes, out)) return false;
  }
  return true;
}

// Tokens are spelled in byte symbols, as in byte-level BPE.
class LongestMatch final : public Model {
 public:
  LongestMatch(VocabularyEntries entries, const std::vector<std::string>& tokens) : Model(std::move(entries)) {
    for (size_t id = 0; id < tokens.size(); ++id)
      if (!tokens[id].empty()) trie_.add(*vocabulary.spelling(int32_t(id)), int32_t(id));
  }
  // Every byte is a token, so each step finds one.
  void tokenize(std::string_view piece, std::vector<int32_t>& ids) const override {
    for (size_t at = 0; at < piece.size();) {
      int32_t best = -1;
      size_t end = at;
      Trie::Node node = Trie::root;
      for (size_t i = at; i < piece.size(); ++i) {
        node = trie_.step(node, piece[i]);
        if (node == Trie::nowhere) break;
        if (trie_.value(node) >= 0) best = trie_.value(node), end = i + 1;
      }
      if (best < 0) fail<WeightError>("tokenizer: the vocabulary has no token for '{}'", piece.substr(at, 8));
      ids.push_back(best);
      at = end;
    }
  }

 private:
  Trie trie_;
};

}  // namespace

std::vector<std::string> read_world_vocabulary(std::string_view text, const std::string& where) {
  std::vector<std::string> tokens;
  int64_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const size_t first = line.find(' '), last = line.rfind(' ');
    int64_t id = -1, count = -1;
    std::string bytes;
    const auto whole = [](std::string_view digits, int64_t& value) {
      const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      return read.ec == std::errc() && read.ptr == digits.data() + digits.size();
    };
    constexpr int64_t most = 1 << 24;
    if (first == line.npos || first == last || !whole(line.substr(0, first), id) || !whole(line.substr(last + 1), count) || id < 0 ||
        id >= most || !append_literal(line.substr(first + 1, last - first - 1), bytes) || int64_t(bytes.size()) != count)
      fail<WeightError>("{}: line {} is malformed, expected an id, a literal and its number of bytes", where, number);
    if (size_t(id) >= tokens.size()) tokens.resize(size_t(id) + 1);
    if (!tokens[size_t(id)].empty()) fail<WeightError>("{}: line {} has the id {} again", where, number, id);
    tokens[size_t(id)] = std::move(bytes);
  }
  return tokens;
}

std::string bytes_of_world_token(std::string_view escaped) {
  std::string bytes;
  for (size_t at = 0; at < escaped.size();) {
    const char c = escaped[at++];
    const size_t before = at;
    if (c == '\\' && append_escape(escaped, at, true, bytes)) continue;
    at = before;
    bytes += c;
  }
  return bytes;
}

std::string escaped_world_token(std::string_view bytes) {
  const bool both = bytes.find('\'') != bytes.npos && bytes.find('"') != bytes.npos;
  std::string out;
  for (const char c : bytes) {
    if (c == '\\') out += "\\\\";
    else if (c == '\'' && both) out += "\\'";
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (c == '\r') out += "\\r";
    else if (c < ' ' || c > '~') out += fmt::format("\\x{:02x}", uint8_t(c));
    else out += c;
  }
  return out;
}

std::shared_ptr<Tokenizer::Data> make_world_tokenizer(const std::vector<std::string>& tokens, const std::string& end) {
  std::vector<bool> has(256);
  VocabularyEntries entries;
  for (size_t id = 0; id < tokens.size(); ++id) {
    const std::string& bytes = tokens[id];
    if (bytes.size() == 1) has[uint8_t(bytes[0])] = true;
    std::string spelling;
    if (!bytes.empty()) append_byte_symbols(spelling, bytes);
    else spelling = id == 0 ? end : fmt::format("[PAD{}]", id);
    entries.emplace_back(std::move(spelling), int64_t(id));
  }
  for (size_t byte = 0; byte < has.size(); ++byte)
    if (!has[byte]) fail<WeightError>("tokenizer: the vocabulary has no token for the byte {}", byte);
  auto data = std::make_shared<Tokenizer::Data>();
  data->model = std::make_shared<LongestMatch>(std::move(entries), tokens);
  data->pre_tokenizer = make_pre_tokenizer({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}});
  data->decoder = make_decoder({{"type", "ByteLevel"}});
  return data;
}

}  // namespace hearth::text::pipeline
