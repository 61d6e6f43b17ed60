// SentencePiece's model file, a protocol buffer; only the fields that encoding needs are read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::text::pipeline {

struct SentencePieceModel {
  enum Kind { unigram = 1, bpe = 2, word = 3, character = 4 };
  enum PieceType { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  struct Piece {
    std::string text;  // valid UTF-8
    float score = 0;
    int32_t type = normal;
  };
  std::vector<Piece> pieces;  // piece i has id i
  int32_t kind = unigram;
  int32_t unk_id = 0;
  std::string unk_piece = "<unk>";
  bool byte_fallback = false;
  bool space_in_front = true;  // add_dummy_prefix
  std::string charsmap;        // Charsmap::from_bytes

  // IoError, with a message that starts with `where`, for malformed bytes or a file without pieces.
  static SentencePieceModel parse(std::string_view bytes, const std::string& where);
};

}  // namespace hearth::text::pipeline
