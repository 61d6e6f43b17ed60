#include "weights/layout/name_map.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/on_host.h"
#include "weights/aliases.h"
#include "weights/dequantized.h"

namespace hearth {
namespace {

// The part of the name after the block's name and a dot; the whole name for a block without a name.
std::optional<std::string_view> inside(std::string_view name, std::string_view block) {
  if (block.empty()) return name;
  if (!name.starts_with(block) || name.size() <= block.size() || name[block.size()] != '.') return std::nullopt;
  return name.substr(block.size() + 1);
}

std::string joined(const std::string& block, const std::string& rest) { return block.empty() ? rest : block + "." + rest; }

std::string_view in_words(uint8_t number) {
  constexpr std::array<std::string_view, 8> words{"no", "one", "two", "three", "four", "five", "six", "seven"};
  return number < words.size() ? words[number] : "many";
}

// Whether the form cannot be made of a compact type: it would cut blocks, or separate rows from their scales.
bool needs_values(const TensorInfo& stored, Form form) {
  if (!is_compact(stored.dtype)) return false;
  const bool keeps_rows = form == form::same || form == form::kernel;
  return form == form::transposed || (!keeps_rows && !has_whole_rows(stored.dtype, stored.shape));
}

// The description of the official tensor, given that of the stored one.
TensorInfo info_of(const std::string& stored, const TensorInfo& info, Form form) {
  TensorInfo official = info;
  if (!info.unreadable.empty()) return official;
  if (needs_values(info, form)) official.dtype = DType::f32, official.scaled = false;
  const Shape& s = info.shape;
  const auto refuse = [&](std::string_view needed) {
    official.unreadable = fmt::format("is stored in '{}' of shape {}, expected {}", stored, s, needed);
  };
  switch (form.kind) {
    case Form::Kind::same: break;
    case Form::Kind::rows:
      if (s.rank() == 0 || s[0] % form.parts != 0) refuse(fmt::format("{} times as many rows", in_words(form.parts)));
      else official.shape[0] = s[0] / form.parts * (form.end - form.first);
      break;
    case Form::Kind::swapped:
      if (s.rank() == 0 || s[0] % 2 != 0) refuse("two halves of rows");
      break;
    case Form::Kind::transposed:
      if (s.rank() != 2) refuse("a matrix");
      else official.shape = {s[1], s[0]};
      break;
    case Form::Kind::kernel:  // some files store the matrix directly
      if (s.rank() != 2 && (s.rank() != 4 || s[2] != 1 || s[3] != 1)) refuse("a 1×1 kernel or a matrix");
      else if (s[0] % form.parts != 0) refuse(fmt::format("{} times as many rows", in_words(form.parts)));
      else official.shape = {s[0] / form.parts * (form.end - form.first), s[1]};
      break;
  }
  return official;
}

Tensor as_floats(const Tensor& x, Backend& backend) {
  if (x.dtype() == DType::f32) return x;
  return written_on_host(backend, x.shape(), DType::f32, [&](Tensor& y) { std::ranges::copy(x.to_vector(), y.data<float>()); });
}

Tensor part_of(const Tensor& x, Form form) {
  const int64_t part = x.size(0) / form.parts;
  return x.slice(0, form.first * part, form.end * part);
}

class PieceSource : public TensorSource {
 public:
  PieceSource(std::shared_ptr<TensorSource> source, Pieces pieces)
      : source_(std::move(source)), pieces_(std::move(pieces)), stored_(source_->list()) {}

  std::string describe() const override { return source_->describe(); }
  std::map<std::string, TensorInfo> list() const override {
    std::map<std::string, TensorInfo> all;
    for (const auto& [name, piece] : pieces_) all.emplace_hint(all.end(), name, piece.info);
    return all;
  }
  bool has(const std::string& name) const override { return pieces_.contains(name); }
  Tensor read(const std::string& name, const Shape&, Backend& backend) override {
    const auto found = pieces_.find(name);
    if (found == pieces_.end()) fail<WeightError>("{}: has no tensor '{}'", describe(), name);
    const Piece& piece = found->second;
    if (!piece.info.unreadable.empty()) fail<UnsupportedError>("{}: '{}' {}", describe(), name, piece.info.unreadable);
    const TensorInfo& stored = stored_.at(piece.stored);
    Tensor x = source_->read(piece.stored, stored.shape, backend);
    if (needs_values(stored, piece.form)) x = as_floats(dequantized(x, source_->scale(piece.stored, backend), backend), backend);
    switch (piece.form.kind) {
      case Form::Kind::same: break;
      case Form::Kind::swapped: return swapped(x, backend);
      case Form::Kind::transposed: return turned(x, backend);
      case Form::Kind::kernel:
        if (piece.form.parts == 1) return x.view(piece.info.shape);
        return part_of(x, piece.form).view(piece.info.shape);
      case Form::Kind::rows: return part_of(x, piece.form);
    }
    return x;
  }
  Tensor scale(const std::string& name, Backend& backend) override {
    const auto found = pieces_.find(name);
    if (found == pieces_.end() || !found->second.info.scaled) return {};
    const Form form = found->second.form;
    const Tensor all = source_->scale(found->second.stored, backend);
    if (!all || all.numel() == 1) return all;
    if (form == form::swapped) return swapped(all, backend);
    if (form.parts == 1) return all;
    return part_of(all, form);
  }
  std::span<const std::byte> stored_bytes(const std::string& name) const override {
    const auto found = pieces_.find(name);
    return found == pieces_.end() || found->second.form != form::same ? std::span<const std::byte>()
                                                                      : source_->stored_bytes(found->second.stored);
  }
  bool mapped(const std::string& name) const override {
    const auto found = pieces_.find(name);
    if (found == pieces_.end()) return false;
    const auto& [stored, form, info] = found->second;
    const bool copied = form == form::transposed || form == form::swapped || needs_values(stored_.at(stored), form);
    return !copied && source_->mapped(found->second.stored);
  }
  void release(const std::string& name) override {
    if (const auto found = pieces_.find(name); found != pieces_.end()) source_->release(found->second.stored);
  }
  void release_all() override { source_->release_all(); }
  void require_unchanged() const override { source_->require_unchanged(); }

 private:
  std::shared_ptr<TensorSource> source_;
  Pieces pieces_;
  std::map<std::string, TensorInfo> stored_;
};

}  // namespace

Shape shape_of(const TensorList& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  return found == tensors.end() ? Shape() : found->second.shape;
}

TensorList inside_of(const TensorList& all, std::string_view prefix) {
  TensorList inside;
  for (auto it = all.lower_bound(std::string(prefix)); it != all.end() && it->first.starts_with(prefix); ++it)
    inside.emplace_hint(inside.end(), it->first.substr(prefix.size()), it->second);
  return inside;
}

Tensor turned(const Tensor& x, Backend& backend) {
  return written_on_host(backend, {x.size(1), x.size(0)}, x.dtype(), [&](Tensor& y) {
    const size_t size = size_of(x.dtype());
    const int64_t rows = x.size(0), columns = x.size(1);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        std::memcpy(y.raw() + size_t(c * rows + r) * size, x.raw() + size_t(r * columns + c) * size, size);
  });
}

Tensor swapped(const Tensor& x, Backend& backend) {
  return written_on_host(backend, x.shape(), x.dtype(), [&](Tensor& y) {
    const size_t half = x.bytes() / 2;
    std::memcpy(y.raw(), x.raw() + half, half);
    std::memcpy(y.raw() + half, x.raw(), half);
  });
}

std::vector<Renamed> to_official(std::string_view original, const NameMap& map) {
  std::vector<Renamed> found;
  for (const NamedBlock& block : map)
    if (const auto rest = inside(original, block.original))
      for (const NameRule& rule : block.rules)
        if (const auto renamed = rewrite(*rest, rule.original, rule.official))
          found.push_back({joined(block.official, *renamed), rule.form});
  return found;
}

std::optional<Renamed> to_original(std::string_view official, const NameMap& map) {
  for (const NamedBlock& block : map)
    if (const auto rest = inside(official, block.official))
      for (const NameRule& rule : block.rules)
        if (const auto renamed = rewrite(*rest, rule.official, rule.original)) return Renamed{joined(block.original, *renamed), rule.form};
  return std::nullopt;
}

Pieces official_pieces(const TensorList& stored, std::string_view prefix, const NameMap& map) {
  Pieces pieces;
  for (auto it = stored.lower_bound(std::string(prefix)); it != stored.end() && it->first.starts_with(prefix); ++it) {
    const auto& [name, info] = *it;
    std::vector<Renamed> official = to_official(std::string_view(name).substr(prefix.size()), map);
    if (official.empty()) official.push_back({name, form::same});
    for (auto& [target, form] : official) {
      const auto [other, is_new] = pieces.emplace(target, Piece{name, form, info_of(name, info, form)});
      if (!is_new) fail<WeightError>("names: '{}' and '{}' both map to '{}'", other->second.stored, name, target);
    }
  }
  return pieces;
}

std::shared_ptr<TensorSource> source_of(std::shared_ptr<TensorSource> source, Pieces pieces) {
  return std::make_shared<PieceSource>(std::move(source), std::move(pieces));
}

}  // namespace hearth
