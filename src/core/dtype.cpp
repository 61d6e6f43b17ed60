#include "core/dtype.h"

#include <array>

namespace hearth {
namespace {

struct Entry {
  std::string_view name;
  size_t size;
};
// clang-format off
constexpr std::array<Entry, 15> table{{{"f32", 4}, {"f16", 2}, {"bf16", 2}, {"f64", 8}, {"i8", 1}, {"u8", 1}, {"i16", 2}, {"u16", 2},
                                       {"i32", 4}, {"u32", 4}, {"i64", 8}, {"u64", 8}, {"bool", 1}, {"f8_e4m3", 1}, {"f8_e5m2", 1}}};
// clang-format on

}  // namespace

size_t size_of(DType dtype) { return table[size_t(dtype)].size; }
std::string_view name_of(DType dtype) { return table[size_t(dtype)].name; }

std::optional<DType> dtype_named(std::string_view name) {
  for (size_t i = 0; i < table.size(); ++i)
    if (table[i].name == name) return DType(i);
  return std::nullopt;
}

}  // namespace hearth
