// Text to token ids and back, for any model that comes with a tokenizer.json, a SentencePiece model, vocab.json and merges.txt, or a
// GGUF vocabulary. Follows tokenizers 0.22.2 as transformers 4.57.1 drives it (AutoTokenizer); README.md says what surprises.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/gguf_vocabulary.h"

namespace hearth::text {

struct EncodeOptions {
  bool add_special_tokens = true;    // what the model wants around a text: BOS, EOS, [CLS] …, exactly as its files configure it
  bool parse_special_tokens = true;  // false: "<|eot_id|>" inside the text is plain text (transformers' split_special_tokens)
};

struct DecodeOptions {
  bool skip_special_tokens = false;
  std::optional<bool> clean_up_tokenization_spaces;  // "a ," → "a,"; default: as tokenizer_config.json says, else no
};

// The class of transformers that reads the tokenizer of the models of this type (config.json's model_type), where it does more than the
// plain one.
struct FamilyClass {
  std::string_view model_type, tokenizer_class;
};

// Constant after construction: any number of threads may use one. Copies share the vocabulary.
// Text is taken byte for byte as UTF-8; each maximal invalid part counts as U+FFFD. No limit on its length; time is O(n log n).
class Tokenizer {
 public:
  struct Data;  // tokenizer_data.h
  explicit Tokenizer(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  // A published folder: tokenizer.json; else tokenizer.model (SentencePiece); else vocab.json and merges.txt. Beside them
  // tokenizer_config.json, special_tokens_map.json and added_tokens.json, each where it is. A path to a tokenizer.json or a *.model
  // opens that file with its neighbours. IoError for a file that is missing or malformed, WeightError for a vocabulary that
  // contradicts itself, UnsupportedError for a kind of stage that is not built.
  // `classes`: whose class a folder means that names none.
  static Tokenizer open(const std::filesystem::path& path, std::span<const FamilyClass> classes = {});
  // The same errors; UnsupportedError for a `model` or `pre` that is not known.
  static Tokenizer from_gguf(const GgufVocabulary& vocabulary);

  struct Encoding {
    std::vector<int32_t> ids;
    std::vector<std::string> pieces;  // their spellings in the vocabulary ("Ġcat", "▁cat", "<0x0A>"), as convert_ids_to_tokens has them
  };
  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;
  // UnsupportedError where a pattern of the file takes too long on this text.
  Encoding encode_with_pieces(std::string_view text, const EncodeOptions& options = {}) const;

  // Valid UTF-8. An id that is no token (a padded row of the embedding) adds nothing.
  std::string decode(std::span<const int32_t> ids, const DecodeOptions& options = {}) const;

  // One more than the highest id: an embedding needs at least that many rows.
  int64_t vocab_size() const;
  std::optional<int32_t> id_of(std::string_view token) const;  // by its spelling, added tokens too
  std::optional<std::string> piece(int32_t id) const;          // the spelling
  bool is_special(int32_t id) const;                           // skip_special_tokens leaves it out

  // The special tokens by the names of tokenizer_config.json: spelling ("<|begin_of_text|>"; empty: there is none) and id.
  std::string bos_token() const, eos_token() const, unk_token() const, pad_token() const;
  std::optional<int32_t> bos() const, eos() const, unk() const, pad() const;

 private:
  friend class StreamDecoder;
  std::shared_ptr<const Data> data_;
};

// decode(), fed one id at a time. What push() and finish() return, put together, is decode() of all the ids, byte for byte, and each
// return is valid UTF-8. Text is held back while later ids could still change it: unfinished characters, runs of byte tokens, what
// clean_up_tokenization_spaces looks at.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, const DecodeOptions& options = {});
  StreamDecoder(StreamDecoder&&) noexcept;
  StreamDecoder& operator=(StreamDecoder&&) noexcept;
  ~StreamDecoder();

  std::string push(int32_t id);  // the text that is now certain, maybe empty
  std::string finish();          // the rest; afterwards it begins anew

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth::text
