#include "text/tokenizer/sentencepiece_model.h"

#include <cstring>

#include "core/error.h"
#include "core/text/utf8.h"

namespace hearth::text::pipeline {
namespace {

// Reads one message of a protocol buffer, field by field.
class Message {
 public:
  Message(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  struct Field {
    uint64_t number = 0;
    enum Wire { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 } wire = varint;
    uint64_t value = 0;     // of a numeric field
    std::string_view data;  // of a bytes field
  };
  // False at the end.
  bool next(Field& field) {
    if (at_ == bytes_.size()) return false;
    const uint64_t tag = varint();
    field = {.number = tag >> 3, .wire = Field::Wire(tag & 7), .value = 0, .data = {}};
    switch (field.wire) {
      case Field::varint: field.value = varint(); break;
      case Field::fixed64: field.value = fixed(8); break;
      case Field::fixed32: field.value = fixed(4); break;
      case Field::bytes: {
        const uint64_t size = varint();
        if (size > bytes_.size() - at_) damaged();
        field.data = bytes_.substr(at_, size);
        at_ += size;
        break;
      }
      default: damaged();
    }
    return true;
  }
  [[noreturn]] void damaged() const { fail<IoError>("{}: is not a SentencePiece model, or is damaged", where_); }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) damaged();
      const auto byte = uint8_t(bytes_[at_++]);
      value |= uint64_t(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    damaged();
  }
  uint64_t fixed(size_t size) {
    if (bytes_.size() - at_ < size) damaged();
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) value |= uint64_t(uint8_t(bytes_[at_++])) << (8 * i);
    return value;
  }

  std::string_view bytes_;
  const std::string& where_;
  size_t at_ = 0;
};

float float_of(uint64_t bits) {
  const auto low = uint32_t(bits);
  float value = 0;
  std::memcpy(&value, &low, sizeof value);
  return value;
}

SentencePieceModel::Piece piece_of(std::string_view bytes, const std::string& where) {
  SentencePieceModel::Piece piece;
  Message message(bytes, where);
  for (Message::Field f; message.next(f);) {
    if (f.number == 1 && f.wire == f.bytes) piece.text = f.data;
    if (f.number == 2 && f.wire == f.fixed32) piece.score = float_of(f.value);
    if (f.number == 3 && f.wire == f.varint) piece.type = int32_t(f.value);
  }
  if (valid_utf8(piece.text) != piece.text) message.damaged();
  return piece;
}

}  // namespace

SentencePieceModel SentencePieceModel::parse(std::string_view bytes, const std::string& where) {
  // Field numbers of sentencepiece_model.proto.
  enum { pieces_field = 1, trainer_field = 2, normalizer_field = 3 };
  enum { model_type = 3, byte_fallback_field = 35, unk_id_field = 40, unk_piece_field = 45 };
  constexpr uint64_t charsmap_field = 2, dummy_prefix_field = 3;
  SentencePieceModel model;
  Message message(bytes, where);
  for (Message::Field f; message.next(f);) {
    if (f.wire != f.bytes) continue;
    if (f.number == pieces_field) model.pieces.push_back(piece_of(f.data, where));
    Message inner(f.number == trainer_field || f.number == normalizer_field ? f.data : std::string_view(), where);
    for (Message::Field g; inner.next(g);) {
      if (f.number == normalizer_field) {
        if (g.number == charsmap_field && g.wire == g.bytes) model.charsmap = g.data;
        if (g.number == dummy_prefix_field && g.wire == g.varint) model.space_in_front = g.value != 0;
        continue;
      }
      if (g.number == model_type && g.wire == g.varint) model.kind = int32_t(g.value);
      if (g.number == byte_fallback_field && g.wire == g.varint) model.byte_fallback = g.value != 0;
      if (g.number == unk_id_field && g.wire == g.varint) model.unk_id = int32_t(g.value);
      if (g.number == unk_piece_field && g.wire == g.bytes) model.unk_piece = valid_utf8(g.data);
    }
  }
  if (model.pieces.empty()) message.damaged();
  return model;
}

}  // namespace hearth::text::pipeline
