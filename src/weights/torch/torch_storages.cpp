#include "weights/torch/torch_storages.h"

#include <array>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "weights/zip/zip_archive.h"

namespace hearth {
namespace {

using Kind = PickleValue::Kind;

struct StorageClass {
  std::string_view name;
  std::optional<DType> dtype;
  uint64_t size;
};
constexpr std::array<StorageClass, 20> storage_classes{{{"FloatStorage", DType::f32, 4},
                                                        {"HalfStorage", DType::f16, 2},
                                                        {"BFloat16Storage", DType::bf16, 2},
                                                        {"DoubleStorage", DType::f64, 8},
                                                        {"CharStorage", DType::i8, 1},
                                                        {"ByteStorage", DType::u8, 1},
                                                        {"ShortStorage", DType::i16, 2},
                                                        {"IntStorage", DType::i32, 4},
                                                        {"LongStorage", DType::i64, 8},
                                                        {"BoolStorage", DType::boolean, 1},
                                                        {"UntypedStorage", DType::u8, 1},
                                                        {"_UntypedStorage", DType::u8, 1},
                                                        {"ComplexFloatStorage", std::nullopt, 8},
                                                        {"ComplexDoubleStorage", std::nullopt, 16},
                                                        {"QInt8Storage", std::nullopt, 1},
                                                        {"QUInt8Storage", std::nullopt, 1},
                                                        {"QUInt4x2Storage", std::nullopt, 1},
                                                        {"QUInt2x4Storage", std::nullopt, 1},
                                                        {"QInt32Storage", std::nullopt, 4},
                                                        {"ComplexHalfStorage", std::nullopt, 4}}};

constexpr std::array<std::pair<std::string_view, DType>, 15> dtypes{{{"float32", DType::f32},
                                                                     {"float16", DType::f16},
                                                                     {"bfloat16", DType::bf16},
                                                                     {"float64", DType::f64},
                                                                     {"int8", DType::i8},
                                                                     {"uint8", DType::u8},
                                                                     {"int16", DType::i16},
                                                                     {"uint16", DType::u16},
                                                                     {"int32", DType::i32},
                                                                     {"uint32", DType::u32},
                                                                     {"int64", DType::i64},
                                                                     {"uint64", DType::u64},
                                                                     {"bool", DType::boolean},
                                                                     {"float8_e4m3fn", DType::f8_e4m3},
                                                                     {"float8_e5m2", DType::f8_e5m2}}};

// Modules that no checkpoint needs: they start programs, run code or access the network. The reader never makes calls, but a file that
// requests these is refused as malicious.
bool is_hostile(const PickleValue& global) {
  if (global.items[0]->kind != Kind::text) return false;
  const std::string_view module = global.items[0]->text.substr(0, global.items[0]->text.find('.'));
  for (const std::string_view one : {"os",        "posix",   "nt",     "subprocess", "pty",      "sys",  "socket", "shutil", "runpy",
                                     "importlib", "imp",     "ctypes", "webbrowser", "codeop",   "pdb",  "bdb",    "timeit", "marshal",
                                     "pickle",    "_pickle", "urllib", "urllib2",    "requests", "http", "ftplib"})
    if (module == one) return true;
  if (module != "builtins" && module != "__builtin__") return false;
  for (const std::string_view name :
       {"eval", "exec", "execfile", "compile", "open", "file", "input", "raw_input", "__import__", "breakpoint"})
    if (global.items[1]->is_text(name)) return true;
  return false;
}

Pickle read_pickle(std::string_view bytes, const std::string& where) {
  Pickle pickle = Pickle::read(bytes, where);
  for (const PickleValue* global : pickle.globals())
    if (is_hostile(*global))
      fail<IoError>("{}: requests a call of {}, which no checkpoint needs: the file is refused, and nothing was executed", where,
                    global->describe());
  return pickle;
}

// ("storage", class, key, location, elements): the pickle's reference to a storage outside it. In old files followed by None, or by
// (key, first element, elements) for a part of the storage.
struct Reference {
  TorchType type;
  std::string key;
  uint64_t elements;
  uint64_t view_first = 0, view_elements = 0;
};

uint64_t count(const PickleValue& value, std::string_view what, const std::string& where) {
  if (value.kind != Kind::integer || value.integer < 0)
    fail<IoError>("{}: has {} as {}, expected an integer of 0 or more", where, value.describe(), what);
  return uint64_t(value.integer);
}

Reference reference(const PickleValue& value, const std::string& where) {
  const PickleValue* id = value.kind == Kind::persistent ? value.items[0] : &value;
  if (value.kind != Kind::persistent || id->kind != Kind::tuple || id->items.size() < 5 || id->items.size() > 6 ||
      !id->items[0]->is_text("storage") || id->items[2]->kind != Kind::text)
    fail<IoError>("{}: has {}, expected a storage", where, id->describe());
  const TorchType type = torch_storage_type(*id->items[1], where);
  Reference r{.type = type, .key = std::string(id->items[2]->text), .elements = count(*id->items[4], "a storage's elements", where)};
  r.view_elements = r.elements;
  if (id->items.size() == 5 || id->items[5]->kind == Kind::none) return r;
  const PickleValue& view = *id->items[5];
  if (view.kind != Kind::tuple || view.items.size() != 3) fail<IoError>("{}: has {}, expected a part of a storage", where, view.describe());
  r.view_first = count(*view.items[1], "a storage's first element", where);
  r.view_elements = count(*view.items[2], "a storage's elements", where);
  if (r.view_first > r.elements || r.view_elements > r.elements - r.view_first)
    fail<IoError>("{}: elements {} to {} + {} of a storage that has {}", where, r.view_first, r.view_first, r.view_elements, r.elements);
  return r;
}

// The bytes of a reference in a storage of `bytes` bytes at `begin`.
TorchStorage placed(const Reference& r, uint64_t begin, uint64_t bytes, const std::string& where) {
  if (r.elements > bytes / r.type.size || r.elements * r.type.size != bytes)
    fail<IoError>("{}: storage '{}' has {} bytes, which does not match {} elements of {}", where, r.key, bytes, r.elements, r.type.name);
  const uint64_t first = begin + r.view_first * r.type.size;
  return {.begin = first, .end = first + r.view_elements * r.type.size, .type = r.type};
}

TorchObject read_zip(std::string_view file, const std::string& where) {
  auto archive = std::make_shared<const ZipArchive>(ZipArchive::parse(file, where));
  std::string folder;
  bool found = false;
  for (const auto& [name, member] : archive->members()) {
    const size_t slash = name.find('/');
    if (name != "data.pkl" && (slash == name.npos || name.substr(slash) != "/data.pkl")) continue;
    if (found) fail<IoError>("{}: has two objects, '{}data.pkl' and '{}'", where, folder, name);
    folder = slash == name.npos ? "" : name.substr(0, slash + 1);
    found = true;
  }
  if (!found) fail<IoError>("{}: is a zip archive without data.pkl, expected a PyTorch checkpoint", where);
  if (archive->has(folder + "constants.pkl"))
    fail<UnsupportedError>("{}: is a TorchScript archive, which holds code; expected a checkpoint of tensors", where);
  const auto bytes = [&](const std::string& name) {
    const ZipMember& member = archive->stored(name);
    return file.substr(size_t(member.begin), size_t(member.end - member.begin));
  };
  if (archive->has(folder + "byteorder") && bytes(folder + "byteorder") != "little")
    fail<UnsupportedError>("{}: its byteorder is '{}', expected little", where, bytes(folder + "byteorder").substr(0, 20));

  TorchObject object{.format = "zip", .pickle = read_pickle(bytes(folder + "data.pkl"), where + ": data.pkl")};
  object.storage = [archive, folder](const PickleValue& value, const std::string& of_tensor) {
    const Reference r = reference(value, of_tensor);
    const ZipMember& member = archive->stored(folder + "data/" + r.key);
    return placed(r, member.begin, member.end - member.begin, of_tensor);
  };
  return object;
}

// The storages after the pickles of a legacy file, in `file` from `position` on.
std::map<std::string, std::pair<uint64_t, uint64_t>> legacy_storages(std::string_view file, size_t position, const Pickle& object,
                                                                     const std::string& where) {
  std::map<std::string, Reference> references;  // they give the size of an element
  for (const PickleValue* value : object.persistents())
    if (const PickleValue& id = *value->items[0]; id.kind == Kind::tuple && !id.items.empty() && id.items[0]->is_text("storage")) {
      Reference r = reference(*value, where);
      const auto [known, is_new] = references.emplace(r.key, r);
      if (!is_new && (known->second.type.size != r.type.size || known->second.elements != r.elements))
        fail<IoError>("{}: storage '{}' has {} elements of {} and {} of {}", where, r.key, known->second.elements, known->second.type.name,
                      r.elements, r.type.name);
    }
  const Pickle keys = read_pickle(file.substr(position), where + ": the list of storages");
  position += keys.bytes();
  if (keys.value().kind != Kind::list) fail<IoError>("{}: has {}, expected the list of storages", where, keys.value().describe());
  std::map<std::string, std::pair<uint64_t, uint64_t>> places;
  for (const PickleValue* key : keys.value().items) {
    const auto found = key->kind == Kind::text ? references.find(std::string(key->text)) : references.end();
    if (found == references.end()) fail<IoError>("{}: holds the storage {}, which no tensor refers to", where, key->describe());
    const auto& [name, r] = *found;
    uint64_t elements = 0;
    if (file.size() - position < sizeof elements) fail<IoError>("{}: is cut off before the storage '{}'", where, name);
    std::memcpy(&elements, file.data() + position, sizeof elements);
    position += sizeof elements;
    if (elements != r.elements) fail<IoError>("{}: storage '{}' has {} elements, its tensors need {}", where, name, elements, r.elements);
    if (elements > (file.size() - position) / r.type.size)
      fail<IoError>("{}: storage '{}' has {} elements of {} bytes, {} bytes are left: the file is cut off", where, name, elements,
                    r.type.size, file.size() - position);
    const size_t begin = position;
    position += size_t(elements * r.type.size);
    if (!places.emplace(name, std::pair(begin, position)).second) fail<IoError>("{}: holds the storage '{}' twice", where, name);
  }
  return places;
}

bool is_magic(const PickleValue& value) {
  return value.kind == Kind::big_integer &&
         (value.text == "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19" || value.text == "119547037146038801333356");
}

// Reads what follows the magic number, which ends at `position`.
TorchObject read_legacy(std::string_view file, size_t position, const std::string& where) {
  const auto next = [&](const char* what) {
    Pickle pickle = read_pickle(file.substr(position), fmt::format("{}: {}", where, what));
    position += pickle.bytes();
    return pickle;
  };
  const Pickle version = next("the version"), machine = next("the writer's machine");
  if (version.value().kind != Kind::integer || version.value().integer != 1001)
    fail<UnsupportedError>("{}: has {} as its version, expected 1001", where, version.value().describe());
  if (const PickleValue& m = machine.value(); m.kind == Kind::dict)
    for (size_t i = 0; i + 1 < m.items.size(); i += 2)
      if (m.items[i]->is_text("little_endian") && m.items[i + 1]->kind == Kind::boolean && m.items[i + 1]->integer == 0)
        fail<UnsupportedError>("{}: was written on a big-endian machine, expected a little-endian one", where);

  TorchObject object{.format = "legacy", .pickle = next("the object")};
  object.storage = [places = legacy_storages(file, position, object.pickle, where)](const PickleValue& value,
                                                                                    const std::string& of_tensor) {
    const Reference r = reference(value, of_tensor);
    const auto place = places.find(r.key);
    if (place == places.end()) fail<IoError>("{}: storage '{}' is not in the file", of_tensor, r.key);
    return placed(r, place->second.first, place->second.second - place->second.first, of_tensor);
  };
  return object;
}

// A storage in the pickle: torch.storage._load_from_bytes(a legacy file whose object is the storage).
TorchStorage embedded(std::string_view file, const PickleValue& value, const std::string& where) {
  if (!value.is_call("torch.storage", "_load_from_bytes") || value.items[1]->items.size() != 1 ||
      value.items[1]->items[0]->kind != Kind::bytes)
    fail<IoError>("{}: has {}, expected a storage", where, value.describe());
  const std::string_view bytes = value.items[1]->items[0]->text;
  const std::string inside = where + ": its storage";
  const Pickle magic = read_pickle(bytes, inside);
  if (!is_magic(magic.value())) fail<IoError>("{} does not start with the magic number of a checkpoint", inside);
  const TorchObject object = read_legacy(bytes, magic.bytes(), inside);
  TorchStorage storage = object.storage(object.pickle.value(), inside);
  const auto offset = uint64_t(bytes.data() - file.data());
  storage.begin += offset;
  storage.end += offset;
  return storage;
}

TorchObject read_raw(std::string_view file, Pickle pickle) {
  // Several tensors may share a storage, which is parsed only once.
  auto known = std::make_shared<std::map<const PickleValue*, TorchStorage>>();
  return {.format = "raw", .pickle = std::move(pickle), .storage = [file, known](const PickleValue& value, const std::string& where) {
            const bool keyed = value.kind == Kind::call && !value.items[1]->items.empty();
            const PickleValue* key = keyed ? value.items[1]->items[0] : &value;
            const auto found = known->find(key);
            return found != known->end() ? found->second : known->emplace(key, embedded(file, value, where)).first->second;
          }};
}

}  // namespace

TorchType torch_storage_type(const PickleValue& storage_class, const std::string& where) {
  if (storage_class.kind == Kind::global)
    for (const std::string_view module : {"torch", "torch.cuda", "torch.storage"})
      for (const auto& [name, dtype, size] : storage_classes)
        if (storage_class.is_global(module, name)) return {storage_class.describe(), dtype, size};
  fail<IoError>("{}: has {} as the class of a storage, which is not supported", where, storage_class.describe());
}

std::optional<DType> torch_dtype(const PickleValue& value) {
  for (const auto& [name, dtype] : dtypes)
    if (value.is_global("torch", name)) return dtype;
  return std::nullopt;
}

TorchObject read_torch_object(std::string_view file, const std::string& where) {
  if (ZipArchive::is_one(file)) return read_zip(file, where);
  if (file.size() > 262 && file.substr(257, 5) == "ustar")
    fail<UnsupportedError>("{}: is a tar archive, as PyTorch wrote them before 0.2; expected a later format", where);
  if (file.empty()) fail<IoError>("{}: is empty", where);
  Pickle first = read_pickle(file, where);
  if (is_magic(first.value())) return read_legacy(file, first.bytes(), where);
  return read_raw(file, std::move(first));
}

}  // namespace hearth
