// Converts text to token ids and back, for any model with a tokenizer.json, a SentencePiece model, vocab.json and merges.txt, or a GGUF
// vocabulary. Follows tokenizers 0.22.2 as used by AutoTokenizer of transformers 4.57.1; README.md lists what is easy to get wrong.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/gguf_vocabulary.h"

namespace hearth::text {

struct EncodeOptions {
  bool add_special_tokens = true;    // add BOS, EOS, [CLS] … as the model's files configure them
  bool parse_special_tokens = true;  // false: "<|eot_id|>" inside the text is plain text (transformers' split_special_tokens)
};

struct DecodeOptions {
  bool skip_special_tokens = false;
  std::optional<bool> clean_up_tokenization_spaces;  // "a ," → "a,"; default: the setting of tokenizer_config.json, else false
};

// The class of transformers that reads the tokenizer of models of this type (model_type of config.json), if it is not the generic one.
struct FamilyClass {
  std::string_view model_type, tokenizer_class;
  // A class of the authors' own code that the folder may name instead. It does as tokenizer_class does, but the SentencePiece model decides
  // whether there is a space in front of a text, and added tokens have the ids that tokenizer_config.json states.
  std::string_view own_class = {};
};

// The files of a tokenizer, in whatever they are kept.
struct TokenizerFiles {
  struct Text {
    std::string text, where;  // where: for messages
  };
  std::string where;                                                 // of all files, for messages
  std::function<std::optional<Text>(const std::string& name)> read;  // "tokenizer.json"; nullopt if there is no such file
  std::string tokenizer_class = {};  // the class of transformers that reads them, whatever the files say; empty: as they say
};

// Immutable and thread-safe after construction. Copies share the vocabulary. Text is UTF-8; each maximal invalid part counts as U+FFFD. Its
// length is not limited; time is O(n log n).
class Tokenizer {
 public:
  struct Data;  // tokenizer_data.h
  explicit Tokenizer(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  // A published folder with tokenizer.json; else tokenizer.model (SentencePiece); else vocab.json and merges.txt. tokenizer_config.json,
  // special_tokens_map.json and added_tokens.json are read if they exist. A path to a tokenizer.json or a *.model opens that file and the
  // related files of its folder. `classes`: the class of a folder that names none. IoError for a file that is missing or malformed,
  // WeightError for an inconsistent vocabulary, UnsupportedError for an unsupported kind of stage.
  static Tokenizer open(const std::filesystem::path& path, std::span<const FamilyClass> classes = {});
  static Tokenizer open(const TokenizerFiles& files, std::span<const FamilyClass> classes = {});
  // The same errors; UnsupportedError for an unknown `model` or `pre`.
  static Tokenizer from_gguf(const GgufVocabulary& vocabulary);

  struct Encoding {
    std::vector<int32_t> ids;
    std::vector<std::string> pieces;  // their spellings in the vocabulary ("Ġcat", "▁cat", "<0x0A>"), like convert_ids_to_tokens
  };
  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;
  // UnsupportedError if a pattern of the file takes too long on this text.
  Encoding encode_with_pieces(std::string_view text, const EncodeOptions& options = {}) const;

  // Valid UTF-8. An id without a token (a padded row of the embedding) adds nothing.
  std::string decode(std::span<const int32_t> ids, const DecodeOptions& options = {}) const;

  // One more than the highest id; an embedding needs at least that many rows.
  int64_t vocab_size() const;
  std::optional<int32_t> id_of(std::string_view token) const;  // by its spelling, including added tokens
  std::optional<std::string> piece(int32_t id) const;          // the spelling
  bool is_special(int32_t id) const;                           // whether skip_special_tokens omits it
  // What the token adds to a text in which others precede it, in bytes: it may be a part of a character. Empty for an id without a token.
  std::string bytes_of(int32_t id) const;
  std::vector<std::string> bytes_of_all() const;  // [vocab_size()]

  // The special tokens by the names of tokenizer_config.json: spelling ("<|begin_of_text|>"; empty if there is none) and id.
  std::string bos_token() const, eos_token() const, unk_token() const, pad_token() const;
  std::optional<int32_t> bos() const, eos() const, unk() const, pad() const;

 private:
  friend class StreamDecoder;
  std::shared_ptr<const Data> data_;
};

// Streaming decode(), one id at a time. The concatenated results of push() and finish() equal decode() of all ids, byte for byte, and each
// result is valid UTF-8. Text is held back while later ids could still change it: incomplete characters, runs of byte tokens, and text that
// clean_up_tokenization_spaces may change.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, const DecodeOptions& options = {});
  StreamDecoder(StreamDecoder&&) noexcept;
  StreamDecoder& operator=(StreamDecoder&&) noexcept;
  ~StreamDecoder();

  std::string push(int32_t id);  // the text that is now certain, possibly empty
  std::string finish();          // the rest; then the decoder is ready for a new text

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth::text
