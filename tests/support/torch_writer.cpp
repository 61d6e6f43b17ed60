#include "support/torch_writer.h"

#include "core/files/file.h"

namespace hearth::test {
namespace {

template <class T> std::string number(T value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

template <class... Pieces> std::string joined(const Pieces&... pieces) {
  std::string all;
  ((all += pieces), ...);
  return all;
}

std::string text(const std::string& s) { return joined("X", number(uint32_t(s.size())), s); }
std::string integer(int64_t value) { return joined("\x8a\x08", number(value)); }

std::string tuple(const std::vector<int64_t>& values) {
  std::string bytes = "(";
  for (const int64_t value : values) bytes += integer(value);
  return bytes + "t";
}

// Fields of a zip member that its local header and the central directory share: no flags, method, time or checksum.
std::string common(const std::string& name, const std::string& content, size_t padding) {
  const auto size = uint32_t(content.size());
  return joined(number(uint16_t(20)), std::string(12, '\0'), number(size), number(size), number(uint16_t(name.size())),
                number(uint16_t(padding)));
}

}  // namespace

std::string pickled(const std::vector<PickledTensor>& tensors) {
  std::string bytes = "\x80\x02}";
  for (const PickledTensor& t : tensors)
    bytes += joined(text(t.name), "ctorch._utils\n_rebuild_tensor_v2\n((", text("storage"), "ctorch\n", t.type, "\n", text(t.key),
                    text("cpu"), integer(t.elements), "tQ", integer(t.offset), tuple(t.sizes), tuple(t.strides), "\x89}tRs");
  return bytes + ".";
}

std::string zipped(const NamedBytes& members) {
  std::string bytes, directory;
  for (const auto& [name, content] : members) {
    const size_t begin = bytes.size(), padding = (64 - (begin + 30 + name.size()) % 64) % 64;
    bytes += joined("PK\3\4", common(name, content, padding), name, std::string(padding, '\0'), content);
    directory += joined("PK\1\2", number(uint16_t(20)), common(name, content, 0), std::string(10, '\0'), number(uint32_t(begin)), name);
  }
  const auto count = number(uint16_t(members.size()));
  return joined(bytes, directory, "PK\5\6", number(uint32_t(0)), count, count, number(uint32_t(directory.size())),
                number(uint32_t(bytes.size())), number(uint16_t(0)));
}

std::string torch_zip(const std::string& pickle, const NamedBytes& storages) {
  NamedBytes members{{"archive/data.pkl", pickle}, {"archive/byteorder", "little"}};
  for (const auto& [key, bytes] : storages) members.emplace_back("archive/data/" + key, bytes);
  return zipped(members);
}

std::string torch_legacy(const std::string& pickle, const NamedBytes& storages, size_t element_size) {
  std::string object = pickle;
  // The legacy id of a storage has one more field.
  for (size_t at = 0; (at = object.find("tQ", at)) != object.npos; at += 3) object.insert(at, 1, 'N');
  std::string bytes = joined("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", "\x80\x02M\xe9\x03.", "\x80\x02}",
                             text("little_endian"), "\x88s.", object, "\x80\x02](");
  for (const auto& [key, content] : storages) bytes += text(key);
  bytes += "e.";
  for (const auto& [key, content] : storages) bytes += joined(number(uint64_t(content.size() / element_size)), content);
  return bytes;
}

void write_torch(const std::filesystem::path& file, const std::map<std::string, Tensor>& tensors) {
  std::vector<PickledTensor> described;
  NamedBytes storages;
  for (const auto& [name, x] : tensors) {
    const char* type = x.dtype() == DType::f32 ? "FloatStorage" : x.dtype() == DType::f16 ? "HalfStorage" : "BFloat16Storage";
    PickledTensor t{.name = name, .type = type, .key = std::to_string(storages.size()), .elements = x.numel()};
    for (int i = 0; i < x.rank(); ++i) {
      t.sizes.push_back(x.size(i));
      t.strides.push_back(x.stride(i));
    }
    storages.emplace_back(t.key, std::string(reinterpret_cast<const char*>(x.raw()), x.bytes()));
    described.push_back(std::move(t));
  }
  write_file(file, torch_zip(pickled(described), storages));
}

}  // namespace hearth::test
