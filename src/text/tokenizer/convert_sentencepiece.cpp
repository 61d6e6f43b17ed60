#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/error.h"
#include "core/text/utf8.h"
#include "text/tokenizer/readers.h"
#include "text/tokenizer/sentencepiece_model.h"

namespace hearth::text::pipeline {
namespace {

using Json = nlohmann::json;
using Pieces = std::vector<std::pair<std::string, double>>;

constexpr const char* meta = "\xe2\x96\x81";  // ▁

std::string base64(std::string_view bytes) {
  static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | uint8_t(byte);
    for (count += 8; count >= 6;) out += digits[bits >> (count -= 6) & 63];
  }
  if (count > 0) out += digits[bits << (6 - count) & 63];
  return out;
}

bool flag(const Json& config, const char* name, bool otherwise) {
  return config.contains(name) && config[name].is_boolean() ? config[name].get<bool>() : otherwise;
}

size_t characters(const std::string& text) {
  return size_t(std::ranges::count_if(text, [](char byte) { return !is_continuation(byte); }));
}

// Every way to combine two pieces to a third, in the order of the scores (transformers' generate_merges). `parts`: the pieces of the model
// and their ids.
Merges merges_of(const Pieces& pieces, const std::unordered_map<std::string_view, int64_t>& parts) {
  struct Candidate {
    double score;
    size_t left_length, right_length;
    std::string_view left, right;
  };
  std::vector<Candidate> all;
  for (const auto& [piece, score] : pieces) {
    const std::string_view whole = piece;
    const size_t begin = all.size();
    size_t length = 0;
    for (size_t at = 0; at < whole.size();) {
      at += sequence_length(whole[at]);
      ++length;
      if (at >= whole.size()) break;
      if (parts.contains(whole.substr(0, at)) && parts.contains(whole.substr(at)))
        all.push_back({score, length, characters(piece) - length, whole.substr(0, at), whole.substr(at)});
    }
    std::stable_sort(all.begin() + std::ptrdiff_t(begin), all.end(), [&parts](const Candidate& a, const Candidate& b) {
      return std::pair(parts.at(a.left), parts.at(a.right)) < std::pair(parts.at(b.left), parts.at(b.right));
    });
  }
  std::ranges::stable_sort(all, [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.score, a.left_length, a.right_length) > std::tuple(b.score, b.left_length, b.right_length);
  });
  Merges merges;
  for (const Candidate& c : all) merges.emplace_back(c.left, c.right);
  return merges;
}

Json replace(const char* from, const char* to) { return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}}; }

Json sequence(const char* member, Json steps) { return {{"type", "Sequence"}, {member, std::move(steps)}}; }

Json metaspace(const char* scheme, bool split) {
  return {{"type", "Metaspace"}, {"replacement", meta}, {"prepend_scheme", scheme}, {"split", split}};
}

struct Settings {
  bool gemma, legacy, add_prefix_space;
};

// The normalizer, pre-tokenizer and decoder of LlamaConverter and GemmaConverter.
void llama_stages(Json& rest, const Settings& s) {
  const Json spaces = replace(" ", meta);
  Json decoders = {replace(meta, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
  if (s.gemma) {
    rest["normalizer"] = spaces;
    rest["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}, {"invert", false}};
  } else {
    if (s.add_prefix_space) decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    Json normalizers = Json::array();
    if (s.add_prefix_space) normalizers.push_back({{"type", "Prepend"}, {"prepend", meta}});
    normalizers.push_back(spaces);
    if (s.legacy) rest["normalizer"] = sequence("normalizers", normalizers);
    else rest["pre_tokenizer"] = metaspace(s.add_prefix_space ? "first" : "never", false);
  }
  rest["decoder"] = sequence("decoders", decoders);
}

// Those of SpmConverter, as used by T5Converter.
void unigram_stages(Json& rest, const Settings& s, const SentencePieceModel& model) {
  Json normalizers = Json::array();
  if (!model.charsmap.empty()) normalizers.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", base64(model.charsmap)}});
  normalizers.push_back({{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}});
  normalizers.push_back({{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", meta}});
  rest["normalizer"] = sequence("normalizers", normalizers);
  rest["pre_tokenizer"] = metaspace(!s.add_prefix_space ? "never" : s.legacy ? "always" : "first", true);
  rest["decoder"] = rest["pre_tokenizer"];
}

// Added tokens in the place of pieces that were reserved for them.
void rename_pieces(SentencePieceModel& model, const Json& config) {
  if (!config.contains("added_tokens_decoder") || !config["added_tokens_decoder"].is_object()) return;
  for (const auto& [id, token] : config["added_tokens_decoder"].items()) {
    if (id.empty() || id.size() > 9 || id.find_first_not_of("0123456789") != id.npos || !token.contains("content")) continue;
    if (const auto at = size_t(std::stoll(id)); at < model.pieces.size()) model.pieces[at].text = token["content"].get<std::string>();
  }
}

}  // namespace

TokenizerFile convert_sentencepiece(std::string_view bytes, const std::string& where, const FolderConfig& folder) {
  SentencePieceModel model = SentencePieceModel::parse(bytes, where);
  if (folder.own_class) rename_pieces(model, *folder.config);
  const std::string& kind = folder.tokenizer_class;
  const bool t5 = kind == "T5Tokenizer", gemma = kind == "GemmaTokenizer",
             llama_class = kind == "LlamaTokenizer" || kind == "CodeLlamaTokenizer";
  if (!t5 && !gemma && !llama_class && !kind.empty() && kind != "PreTrainedTokenizer")
    fail<UnsupportedError>(
        "{}: the class '{}' is not supported with a SentencePiece model, expected LlamaTokenizer, GemmaTokenizer or T5Tokenizer", where,
        kind);
  const Settings settings{gemma, flag(*folder.config, "legacy", true),
                          folder.own_class ? model.space_in_front : flag(*folder.config, "add_prefix_space", true)};

  Pieces pieces;
  for (const auto& piece : model.pieces) pieces.emplace_back(piece.text, piece.score);
  if (gemma || llama_class)
    for (size_t i = 0; i < std::min<size_t>(3, pieces.size()); ++i) pieces[i].second = 0;

  TokenizerFile file;
  file.rest = std::make_shared<Json>(Json::object());
  Json& rest = *file.rest;
  Json& json = rest["model"];
  std::unordered_map<std::string_view, int64_t> parts;
  for (size_t i = 0; i < model.pieces.size(); ++i) parts[model.pieces[i].text] = int64_t(i);
  if (model.kind == SentencePieceModel::bpe) {
    if (gemma && !parts.contains("\t") && parts.contains("<0x09>")) {
      parts["\t"] = parts["<0x09>"];
      pieces[size_t(parts["<0x09>"])] = {"\t", 0};
    }
    file.merges = merges_of(pieces, parts);
    for (const auto& [piece, score] : pieces) file.vocabulary.emplace_back(piece, int64_t(file.vocabulary.size()));
    json = {{"type", "BPE"}, {"unk_token", model.unk_piece}, {"fuse_unk", true}, {"byte_fallback", !t5}};
  } else if (model.kind == SentencePieceModel::unigram) {
    if (t5)
      for (int64_t i = extra_ids(folder); i-- > 0;) pieces.emplace_back(fmt::format("<extra_id_{}>", i), 0);
    json = {{"type", "Unigram"}, {"unk_id", llama_class ? 0 : gemma ? 3 : model.unk_id}, {"byte_fallback", llama_class || gemma}};
    file.scores = std::move(pieces);
  } else {
    fail<UnsupportedError>("{}: the SentencePiece model is of kind {}, expected 1 (unigram) or 2 (BPE)", where, model.kind);
  }

  if (gemma || llama_class || (kind != "T5Tokenizer" && model.kind == SentencePieceModel::bpe)) llama_stages(rest, settings);
  else unigram_stages(rest, settings, model);
  if (t5 && parts.contains("</s>"))
    rest["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single", {{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}, {{"SpecialToken", {{"id", "</s>"}, {"type_id", 0}}}}}},
        {"special_tokens", {{"</s>", {{"id", "</s>"}, {"ids", {parts["</s>"]}}, {"tokens", {"</s>"}}}}}}};

  rest["added_tokens"] = Json::array();
  for (const auto& piece : model.pieces) {
    const bool special =
        piece.type == SentencePieceModel::control || (gemma && (piece.text == "<start_of_turn>" || piece.text == "<end_of_turn>"));
    if (piece.type == SentencePieceModel::control || piece.type == SentencePieceModel::user_defined)
      rest["added_tokens"].push_back({{"content", piece.text}, {"normalized", false}, {"special", special}});
  }
  return file;
}

}  // namespace hearth::text::pipeline
