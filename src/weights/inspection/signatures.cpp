#include "weights/inspection/signatures.h"

#include <algorithm>
#include <array>

#include "weights/inspection/signatures_known.h"

namespace hearth {
namespace {

bool fits(const Signature::Needed& needed, const Shape& shape) {
  const auto is = [](int64_t wanted, int64_t size) { return wanted == Signature::any || wanted == size; };
  return needed.shape.empty() || std::ranges::equal(needed.shape, shape, is);
}

void add_found(const std::map<std::string, TensorInfo>& tensors, const Signature& s, std::vector<Recognized>& found) {
  for (const std::string_view prefix : s.prefixes) {
    const auto at = [&](const std::string& name) { return tensors.find(std::string(prefix) + name); };
    const bool complete = std::ranges::all_of(
        s.present, [&](const Signature::Needed& n) { return at(n.name) != tensors.end() && fits(n, at(n.name)->second.shape); });
    const bool contradicted = std::ranges::any_of(s.absent, [&](const std::string& name) { return at(name) != tensors.end(); });
    if (complete && !contradicted) found.push_back({std::string(s.part), s.what, std::string(s.layout), std::string(prefix)});
  }
}

size_t rank_of(const Recognized& r) {
  constexpr std::array<std::string_view, 3> order{"denoiser", "autoencoder", "text encoder"};
  return size_t(std::ranges::find(order, r.part) - order.begin());
}

}  // namespace

std::vector<Recognized> recognize(const std::map<std::string, TensorInfo>& tensors, std::span<const Signature> signatures) {
  std::vector<Recognized> found;
  for (const Signature& s : signatures) add_found(tensors, s, found);
  std::vector<Recognized> known, known_by_name = recognize_known(tensors);
  for (const Signature& s : known_signatures()) add_found(tensors, s, known);
  const auto is_supported = [&](const Recognized& other) {
    return std::ranges::any_of(found, [&](const Recognized& r) { return r.part == other.part && r.prefix == other.prefix; });
  };
  std::erase_if(known, is_supported), std::erase_if(known_by_name, is_supported);
  found.insert(found.end(), known.begin(), known.end());
  std::ranges::stable_sort(found, {}, rank_of);
  found.insert(found.end(), known_by_name.begin(), known_by_name.end());
  return found;
}

}  // namespace hearth
