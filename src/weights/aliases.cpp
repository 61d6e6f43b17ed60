#include "weights/aliases.h"

#include <algorithm>

namespace hearth {
namespace {

// Splits off the first component: "a.b.c" → "a", rest "b.c". The last component leaves an empty rest.
std::string_view take_piece(std::string_view& rest) {
  const size_t dot = rest.find('.');
  const std::string_view piece = rest.substr(0, dot);
  rest = dot == rest.npos ? std::string_view() : rest.substr(dot + 1);
  return piece;
}

bool is_number(std::string_view piece) {
  const bool digits = !piece.empty() && std::ranges::all_of(piece, [](char c) { return c >= '0' && c <= '9'; });
  return digits && (piece.size() == 1 || piece[0] != '0');
}

// The text that each wildcard of the pattern matches in the name.
std::optional<std::vector<std::string_view>> match(std::string_view name, std::string_view pattern) {
  std::vector<std::string_view> found;
  while (!pattern.empty()) {
    if (name.empty()) return std::nullopt;
    if (pattern == "**") {
      found.push_back(name);
      return found;
    }
    const std::string_view mark = take_piece(pattern), piece = take_piece(name);
    if (mark == "#" ? !is_number(piece) : mark == "*" ? piece.empty() : mark != piece) return std::nullopt;
    if (mark == "#" || mark == "*") found.push_back(piece);
  }
  return name.empty() ? std::optional(found) : std::nullopt;
}

class AliasedSource : public TensorSource {
 public:
  AliasedSource(std::shared_ptr<TensorSource> source, std::span<const Alias> rules) : source_(std::move(source)) {
    for (const auto& [stored, official] : official_names(source_->list(), rules)) stored_.emplace(official, stored);
  }

  std::string describe() const override { return source_->describe(); }
  std::map<std::string, TensorInfo> list() const override {
    std::map<std::string, TensorInfo> all;
    const auto stored = source_->list();
    for (const auto& [official, name] : stored_) all.emplace_hint(all.end(), official, stored.at(name));
    return all;
  }
  bool has(const std::string& name) const override { return stored_.contains(name); }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    const auto found = stored_.find(name);
    if (found == stored_.end()) fail<WeightError>("{}: has no tensor '{}'", describe(), name);
    return source_->read(found->second, wanted, backend);
  }
  Tensor scale(const std::string& name, Backend& backend) override {
    const auto found = stored_.find(name);
    return found == stored_.end() ? Tensor() : source_->scale(found->second, backend);
  }
  void release(const std::string& name) override {
    if (const auto found = stored_.find(name); found != stored_.end()) source_->release(found->second);
  }
  std::span<const std::byte> stored_bytes(const std::string& name) const override {
    const auto found = stored_.find(name);
    return found == stored_.end() ? std::span<const std::byte>() : source_->stored_bytes(found->second);
  }
  bool mapped(const std::string& name) const override {
    const auto found = stored_.find(name);
    return found != stored_.end() && source_->mapped(found->second);
  }
  void release_all() override { source_->release_all(); }
  void require_unchanged() const override { source_->require_unchanged(); }

 private:
  std::shared_ptr<TensorSource> source_;
  std::map<std::string, std::string> stored_;  // by official name
};

}  // namespace

std::optional<std::string> rewrite(std::string_view name, std::string_view from, std::string_view to) {
  const auto found = match(name, from);
  if (!found) return std::nullopt;
  std::string result;
  size_t used = 0;
  while (!to.empty()) {
    const std::string_view mark = take_piece(to);
    result.append(result.empty() ? "" : ".").append(mark == "#" || mark == "*" || mark == "**" ? found->at(used++) : mark);
  }
  return result;
}

std::map<std::string, std::string> official_names(const std::map<std::string, TensorInfo>& stored, std::span<const Alias> rules) {
  std::map<std::string, std::string> official, taken;
  for (const auto& [name, info] : stored) {
    std::optional<std::string> renamed;
    for (const Alias& rule : rules) {
      const auto result = rewrite(name, rule.stored, rule.official);
      if (result && rule.unless_there && stored.contains(*result)) continue;
      if (result && renamed && *result != *renamed) fail<WeightError>("aliases: '{}' could be '{}' or '{}'", name, *renamed, *result);
      if (result) renamed = result;
    }
    const std::string& target = renamed ? *renamed : name;
    const auto [other, is_new] = taken.emplace(target, name);
    if (!is_new) fail<WeightError>("aliases: '{}' and '{}' are both names of '{}'", other->second, name, target);
    official.emplace(name, target);
  }
  return official;
}

std::shared_ptr<TensorSource> aliased(std::shared_ptr<TensorSource> source, std::span<const Alias> rules) {
  return std::make_shared<AliasedSource>(std::move(source), rules);
}

}  // namespace hearth
