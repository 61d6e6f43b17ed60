// Converts a SentencePiece model to the keys of GGUF files, as ggml's converter does.
#include <algorithm>

#include "api/files/gguf_export.h"
#include "api/language/tokenizer_source.h"
#include "core/files/file.h"
#include "text/tokenizer/gguf_vocabulary.h"
#include "text/tokenizer/sentencepiece_model.h"

namespace hearth::api {

void export_sentencepiece(const std::filesystem::path& folder, int64_t rows, GgufExport& to) {
  using Model = text::pipeline::SentencePieceModel;
  const std::string file = (folder / "tokenizer.model").string();
  const Model model = Model::parse(read_file(file), file);
  if (model.kind != Model::bpe)
    fail<UnsupportedError>("{}: a SentencePiece model of kind {} cannot be written as GGUF, expected 2 (BPE)", file, model.kind);
  const text::Tokenizer tokenizer = open_folder_tokenizer(folder);
  const int64_t count = tokenizer.vocab_size();
  if (count > rows) fail<WeightError>("{}: has {} tokens, but the embedding has {} rows", file, count, rows);

  constexpr float unused_score = -10000, added_score = -1000;
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<int32_t> types;
  for (int64_t i = 0; i < rows; ++i) {
    const auto id = int32_t(i);
    const std::optional<std::string> spelling = i < count ? tokenizer.piece(id) : std::nullopt;
    const Model::Piece* const piece = size_t(i) < model.pieces.size() ? &model.pieces[size_t(i)] : nullptr;
    // Gemma's class spells a byte as its character.
    const bool original = piece && (spelling == piece->text || piece->type == Model::byte);
    tokens.push_back(original ? piece->text : spelling.value_or(fmt::format("[PAD{}]", i)));
    scores.push_back(original ? piece->score : spelling ? added_score : unused_score);
    types.push_back(original                   ? piece->type
                    : !spelling                ? int32_t(Model::unused)
                    : tokenizer.is_special(id) ? int32_t(Model::control)
                                               : int32_t(Model::user_defined));
  }
  to.values.text("tokenizer.ggml.model", text::gguf_scored_pairs);
  to.values.text("tokenizer.ggml.pre", "default");
  to.values.texts("tokenizer.ggml.tokens", tokens);
  to.values.f32s("tokenizer.ggml.scores", scores);
  to.values.i32s("tokenizer.ggml.token_type", types);
  for (const auto& [key, id] :
       {std::pair("bos", tokenizer.bos()), {"eos", tokenizer.eos()}, {"unknown", tokenizer.unk()}, {"padding", tokenizer.pad()}})
    if (id) to.values.integer(fmt::format("tokenizer.ggml.{}_token_id", key), *id);
  write_added_tokens(tokenizer, tokenizer.bos(), tokenizer.eos(), to);
  const auto pieces = tokenizer.encode_with_pieces("a", {.add_special_tokens = false}).pieces;
  to.values.boolean("tokenizer.ggml.add_space_prefix", !pieces.empty() && pieces.front().starts_with("\xe2\x96\x81"));
}

void write_added_tokens(const text::Tokenizer& tokenizer, std::optional<int32_t> bos, std::optional<int32_t> eos, GgufExport& to) {
  const std::vector<int32_t> plain = tokenizer.encode("a", {.add_special_tokens = false}), whole = tokenizer.encode("a");
  const auto inside = std::ranges::search(whole, plain.empty() ? whole : plain);
  const std::vector<int32_t> front(whole.begin(), inside.begin()), back(inside.end(), whole.end());
  const auto write = [&](const char* name, const std::vector<int32_t>& added, std::optional<int32_t> id) {
    const bool one = added.size() == 1 && id && added[0] == *id;
    to.values.boolean(fmt::format("tokenizer.ggml.add_{}_token", name), one);
    if (one || added.empty()) return;
    to.notes.push_back(fmt::format("the folder's tokenizer adds '{}' to a prompt; files with this tokenizer do not",
                                   tokenizer.decode(added, {.skip_special_tokens = false})));
  };
  write("bos", front, bos);
  write("eos", back, eos);
}

}  // namespace hearth::api
