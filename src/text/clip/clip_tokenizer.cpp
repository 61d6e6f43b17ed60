#include "text/clip/clip_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text/utf8.h"
#include "text/clip/clip_readers.h"
#include "text/tokenizer/decode_steps.h"
#include "text/tokenizer/tokenizer_data.h"
#include "text/unicode.h"

namespace hearth::text {

namespace {

// Words that CLIPTokenizer never splits, regardless of the special tokens of a folder. Cleaning can produce them (&lt;|endoftext|&gt;,
// capitals).
const std::vector<std::string> whole_words = {"<|startoftext|>", "<|endoftext|>"};

std::shared_ptr<const pipeline::Model> make_model(const ClipVocabulary& v, bool in_rounds) {
  const auto unk = std::ranges::find(v.tokens, v.unk, &pipeline::VocabularyEntries::value_type::second);
  return pipeline::make_byte_pairs(
      v.tokens, v.merges,
      {.unk_token = unk->first, .end_of_word_suffix = std::string(word_end), .whole_words = whole_words, .in_rounds = in_rounds});
}

std::string strip(std::string_view text) {
  size_t begin = 0, end = text.size();
  for (size_t at = 0; at < text.size() && is_python_space(next_character(text, at));) begin = at;
  for (size_t at = end; at > begin && is_python_space(previous_character(text, at));) end = at;
  return std::string(text.substr(begin, end - begin));
}

}  // namespace

struct ClipTokenizer::Data {
  // `model`: that of a tokenizer with the same vocabulary and order of merges; if null, one is created.
  Data(std::shared_ptr<const ClipVocabulary> v, Cleaning c, std::shared_ptr<const pipeline::Model> model)
      : vocabulary(std::move(v)), cleaning(c) {
    const bool fast = cleaning == Cleaning::fast;
    stages.normalizer = make_cleaning(cleaning);
    stages.pre_tokenizer = make_word_splitter(fast ? vocabulary->fast_pattern : WordPattern::ignore_case);
    stages.model = model ? std::move(model) : make_model(*vocabulary, !fast);
    stages.decoder = pipeline::make_decoder({{"type", "ByteLevel"}});
    for (const auto& [id, token] : vocabulary->added) stages.added.add(token, *stages.model);
    stages.added.finish(stages.normalizer.get(), fast ? pipeline::CutRule::fast : pipeline::CutRule::slow);
  }

  // The spellings of a piece's tokens; a token that the vocabulary lacks keeps its own.
  void append_spellings(const std::string& piece, std::vector<std::string>& spellings) const {
    std::vector<int32_t> ids;
    stages.model->tokenize(piece, ids);
    size_t at = 0;  // end of the previous tokens
    for (const int32_t id : ids) {
      const size_t begin = at;
      if (id != vocabulary->unk) {
        spellings.push_back(*stages.spelling(id));
        at += spellings.back().size();
      } else if (std::ranges::find(whole_words, piece) != whole_words.end()) {
        spellings.push_back(piece);
      } else {
        next_character(piece, at);
        spellings.push_back(piece.substr(begin, at - begin));
        if (at == piece.size()) spellings.back() += word_end;
      }
    }
  }

  // A run of tokens as text.
  std::string text_of(const std::vector<const std::string*>& spellings) const {
    std::string text;
    const auto sink = stages.decoder->open(pipeline::collect(text));
    for (const std::string* spelling : spellings) {
      sink->text(*spelling);
      sink->end();
    }
    sink->finish();
    return strip(pipeline::replaced(text, std::string(word_end), " "));
  }

  std::shared_ptr<const ClipVocabulary> vocabulary;
  Cleaning cleaning;
  Tokenizer::Data stages;
};

ClipTokenizer ClipTokenizer::load(const std::filesystem::path& folder, Cleaning cleaning) {
  return parse(ClipFiles::read(folder), cleaning);
}

ClipTokenizer ClipTokenizer::parse(const ClipFiles& files, Cleaning cleaning) {
  return ClipTokenizer(
      std::make_shared<const Data>(std::make_shared<const ClipVocabulary>(ClipVocabulary::parse(files)), cleaning, nullptr));
}

ClipTokenizer ClipTokenizer::with_cleaning(Cleaning cleaning) const {
  if (cleaning == data_->cleaning) return *this;
  const bool same_model = (cleaning == Cleaning::fast) == (data_->cleaning == Cleaning::fast);
  return ClipTokenizer(std::make_shared<const Data>(data_->vocabulary, cleaning, same_model ? data_->stages.model : nullptr));
}

std::vector<int32_t> ClipTokenizer::tokenize(std::string_view prompt) const { return data_->stages.encode(prompt, {}); }

std::vector<std::string> ClipTokenizer::pieces(std::string_view prompt) const {
  std::vector<std::string> spellings;
  for (const Tokenizer::Data::Segment& part : data_->stages.cut(prompt, {})) {
    if (part.id >= 0) spellings.push_back(*data_->stages.spelling(part.id));
    else data_->append_spellings(part.piece, spellings);
  }
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
  std::vector<std::string> parts;
  std::vector<const std::string*> run;  // spellings that have not been converted to text yet
  for (const int32_t id : ids) {
    const std::string* token = data_->stages.spelling(id);
    if (!token) fail<UsageError>("decode: id {} is not a token, expected one of {}", id, vocab_size());
    if (!data_->vocabulary->spaced.contains(id)) {
      run.push_back(token);
      continue;
    }
    if (std::string text = data_->text_of(run); !text.empty()) parts.push_back(std::move(text));
    run.clear();
    parts.push_back(*token);
  }
  if (!run.empty()) parts.push_back(data_->text_of(run));
  const std::string text = fmt::format("{}", fmt::join(parts, " "));
  if (!data_->vocabulary->clean_up_spaces) return text;
  std::string cleaned;
  const auto sink = pipeline::clean_up(pipeline::collect(cleaned));
  sink->text(text);
  sink->end();
  sink->finish();
  return cleaned;
}

int64_t ClipTokenizer::vocab_size() const { return int64_t(data_->stages.model->vocabulary.size()); }
int32_t ClipTokenizer::max_id() const { return data_->stages.model->vocabulary.max_id(); }
int64_t ClipTokenizer::model_max_length() const { return data_->vocabulary->model_max_length; }
int32_t ClipTokenizer::bos() const { return data_->vocabulary->bos; }
int32_t ClipTokenizer::eos() const { return data_->vocabulary->eos; }
int32_t ClipTokenizer::pad() const { return data_->vocabulary->pad; }
int32_t ClipTokenizer::unk() const { return data_->vocabulary->unk; }
Cleaning ClipTokenizer::cleaning() const { return data_->cleaning; }
int32_t ClipTokenizer::id_of(std::string_view token) const { return data_->stages.find(token).value_or(-1); }

}  // namespace hearth::text
