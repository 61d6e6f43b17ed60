#include "text/tokenizer/tokenizer.h"

#include <algorithm>
#include <unordered_map>

#include "core/text/utf8.h"
#include "text/tokenizer/byte_symbols.h"
#include "text/tokenizer/readers.h"
#include "text/tokenizer/tokenizer_data.h"

namespace hearth::text {
namespace {

using pipeline::Text;

// Appends the ids of pieces, which outlive it. Most words of a text are repeated, so it remembers the positions of their ids.
class PieceCache {
 public:
  explicit PieceCache(size_t pieces) { known_.reserve(std::min<size_t>(pieces, 4096)); }

  void tokenize(const pipeline::Model& model, std::string_view piece, std::vector<int32_t>& ids) {
    constexpr size_t longest = 64;
    if (piece.size() > longest) return model.tokenize(piece, ids);
    const auto [entry, fresh] = known_.try_emplace(piece);
    auto& [begin, end] = entry->second;
    if (fresh) {
      begin = ids.size();
      model.tokenize(piece, ids);
      end = ids.size();
    } else {
      for (size_t i = begin; i < end; ++i) ids.push_back(ids[i]);
    }
  }

 private:
  std::unordered_map<std::string_view, std::pair<size_t, size_t>> known_;  // first and one past the last of ids
};

}  // namespace

std::vector<Tokenizer::Data::Segment> Tokenizer::Data::cut(std::string_view bytes, const EncodeOptions& options) const {
  std::vector<Segment> parts;
  std::string text = valid_utf8(bytes);
  const bool parse_special = options.parse_special_tokens && !split_special_tokens;
  for (const auto& raw : added.cut_raw(text, parse_special)) {
    if (raw.id >= 0) {
      if (raw.begin < raw.end) parts.push_back({raw.id, {}});
      continue;
    }
    Text section{.bytes = text.substr(raw.begin, raw.end - raw.begin), .origin = 0};
    if (raw.begin == 0) section.origin = sequence_length(section.bytes[0]);
    if (normalizer) normalizer->apply(section);
    for (const auto& part : added.cut_normalized(section.bytes, parse_special)) {
      if (part.id >= 0) {
        if (part.begin < part.end) parts.push_back({part.id, {}});
        continue;
      }
      std::vector<Text> pieces;
      pieces.push_back({section.bytes.substr(part.begin, part.end - part.begin), section.origin - std::min(section.origin, part.begin)});
      if (pre_tokenizer) pre_tokenizer->split(pieces);
      for (Text& piece : pieces) parts.push_back({-1, std::move(piece.bytes)});
    }
  }
  return parts;
}

std::vector<int32_t> Tokenizer::Data::encode(std::string_view bytes, const EncodeOptions& options) const {
  std::vector<int32_t> ids;
  const std::vector<Segment> parts = cut(bytes, options);
  PieceCache cache(parts.size());
  for (const Segment& part : parts) {
    if (part.id >= 0) ids.push_back(part.id);
    else cache.tokenize(*model, part.piece, ids);
  }
  return post_processor.apply(std::move(ids), options.add_special_tokens);
}

const std::string* Tokenizer::Data::spelling(int32_t id) const {
  if (const pipeline::AddedToken* token = added.token(id)) return &token->content;
  return model->vocabulary.spelling(id);
}

std::optional<int32_t> Tokenizer::Data::find(std::string_view token) const {
  if (const int32_t id = added.find(token); id >= 0) return id;
  if (const int32_t id = model->vocabulary.find(token); id >= 0) return id;
  return std::nullopt;
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const { return data_->encode(text, options); }

Tokenizer::Encoding Tokenizer::encode_with_pieces(std::string_view text, const EncodeOptions& options) const {
  Encoding encoding{.ids = data_->encode(text, options), .pieces = {}};
  for (const int32_t id : encoding.ids) encoding.pieces.push_back(piece(id).value_or(""));
  return encoding;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, const DecodeOptions& options) const {
  StreamDecoder stream(*this, options);
  std::string text;
  for (const int32_t id : ids) text += stream.push(id);
  return text += stream.finish();
}

int64_t Tokenizer::vocab_size() const { return int64_t(std::max(data_->model->vocabulary.max_id(), data_->added.max_id())) + 1; }

std::optional<int32_t> Tokenizer::id_of(std::string_view token) const { return data_->find(token); }

std::optional<std::string> Tokenizer::piece(int32_t id) const {
  const std::string* spelling = data_->spelling(id);
  return spelling ? std::optional(*spelling) : std::nullopt;
}

bool Tokenizer::is_special(int32_t id) const {
  const std::string* spelling = data_->spelling(id);
  return spelling && data_->added.is_special(*spelling);
}

namespace {

class TokenBytes {
 public:
  explicit TokenBytes(const Tokenizer::Data& data) : data_(data), before_(decoded({"a"})) {
    byte_level_ = decoded({"a", "\u0120"}) == "a ";
    byte_fallback_ = decoded({"<0x41>"}) == "A";
  }

  std::string of(int32_t id) const {
    const std::string* spelling = data_.spelling(id);
    if (!spelling) return {};
    if (data_.added.token(id)) return *spelling;
    std::string bytes;
    if (byte_level_ && pipeline::append_bytes_of_symbols(bytes, *spelling)) return bytes;
    if (byte_fallback_ && spelling->size() == 6 && spelling->starts_with("<0x"))  // a byte that may be no character by itself
      return {char(std::stoi(spelling->substr(3, 2), nullptr, 16))};
    const std::string both = decoded({"a", *spelling});
    return both.starts_with(before_) ? both.substr(before_.size()) : both;
  }

 private:
  // What a stream of these spellings gives.
  std::string decoded(std::initializer_list<std::string_view> spellings) const {
    std::string out;
    const auto sink = data_.decoder->open(pipeline::collect(out));
    for (const std::string_view spelling : spellings) {
      sink->text(spelling);
      sink->end();
    }
    sink->finish();
    return out;
  }

  const Tokenizer::Data& data_;
  const std::string before_;
  bool byte_level_ = false, byte_fallback_ = false;
};

}  // namespace

std::string Tokenizer::bytes_of(int32_t id) const { return TokenBytes(*data_).of(id); }

std::vector<std::string> Tokenizer::bytes_of_all() const {
  const TokenBytes bytes(*data_);
  std::vector<std::string> all;
  for (int32_t id = 0; id < vocab_size(); ++id) all.push_back(bytes.of(id));
  return all;
}

namespace {
std::string named(const std::map<std::string, std::string>& specials, const char* name) {
  const auto found = specials.find(name);
  return found == specials.end() ? std::string() : found->second;
}
}  // namespace

std::string Tokenizer::bos_token() const { return named(data_->specials, "bos_token"); }
std::string Tokenizer::eos_token() const { return named(data_->specials, "eos_token"); }
std::string Tokenizer::unk_token() const { return named(data_->specials, "unk_token"); }
std::string Tokenizer::pad_token() const { return named(data_->specials, "pad_token"); }
std::optional<int32_t> Tokenizer::bos() const { return id_of(bos_token()); }
std::optional<int32_t> Tokenizer::eos() const { return id_of(eos_token()); }
std::optional<int32_t> Tokenizer::unk() const { return id_of(unk_token()); }
std::optional<int32_t> Tokenizer::pad() const { return id_of(pad_token()); }

struct StreamDecoder::State {
  std::shared_ptr<const Tokenizer::Data> data;
  DecodeOptions options;
  std::string out;
  std::unique_ptr<pipeline::TokenSink> sink;

  void begin() {
    sink = pipeline::collect(out);
    if (options.clean_up_tokenization_spaces.value_or(data->clean_up)) sink = pipeline::clean_up(std::move(sink));
    sink = data->decoder->open(std::move(sink));
  }
};

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, const DecodeOptions& options) : state_(std::make_unique<State>()) {
  state_->data = tokenizer.data_;
  state_->options = options;
  state_->begin();
}
StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
StreamDecoder& StreamDecoder::operator=(StreamDecoder&&) noexcept = default;
StreamDecoder::~StreamDecoder() = default;

std::string StreamDecoder::push(int32_t id) {
  const std::string* spelling = state_->data->spelling(id);
  if (!spelling || (state_->options.skip_special_tokens && state_->data->added.is_special(*spelling))) return {};
  state_->sink->text(*spelling);
  state_->sink->end();
  return std::exchange(state_->out, {});
}

std::string StreamDecoder::finish() {
  state_->sink->finish();
  std::string rest = std::exchange(state_->out, {});
  state_->begin();
  return rest;
}

}  // namespace hearth::text
