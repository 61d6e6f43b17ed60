#include "weights/gguf/gguf_keys.h"

#include <algorithm>

#include "core/error.h"

namespace hearth {

int64_t GgufKeys::integer(std::string_view key, std::optional<int64_t> otherwise) const {
  const GgufValue* value = metadata_.find(name(key));
  if (!value || value->type != GgufType::array) return metadata_.integer(name(key), otherwise);
  const std::vector<int64_t> all = metadata_.integers(name(key));
  if (all.empty() || std::ranges::any_of(all, [&](int64_t x) { return x != all[0]; }))
    fail<UnsupportedError>("{}: '{}' differs between layers, which is not supported", where(), name(key));
  return all[0];
}

std::vector<int64_t> GgufKeys::integers(std::string_view key, int64_t count) const {
  const GgufValue* value = metadata_.find(name(key));
  if (!value || value->type != GgufType::array) return std::vector<int64_t>(size_t(count), metadata_.integer(name(key)));
  std::vector<int64_t> all = metadata_.integers(name(key));
  if (std::ssize(all) != count)
    fail<WeightError>("{}: '{}' has {} entries, expected one for each of {} layers", where(), name(key), all.size(), count);
  return all;
}

void GgufKeyWriter::cannot_express(std::string_view what) const {
  fail<UnsupportedError>("{}: GGUF files of the architecture {} cannot express {}", where_, architecture_, what);
}

}  // namespace hearth
