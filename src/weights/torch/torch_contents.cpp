#include "weights/torch/torch_contents.h"

#include <algorithm>

#include "weights/torch/torch_storages.h"

namespace hearth {
namespace {

using Kind = PickleValue::Kind;
using Items = std::vector<const PickleValue*>;

bool is_plain_dict(const PickleValue& v) {
  return v.kind == Kind::dict || v.is_call("collections", "OrderedDict") || v.is_call("collections", "defaultdict");
}

// A module of torch that is a dict of parameters, which are in its state.
bool is_parameter_dict(const PickleValue& v) { return v.is_call("torch.nn.modules.container", "ParameterDict"); }

bool is_dict(const PickleValue& v) { return is_plain_dict(v) || is_parameter_dict(v); }

bool is_sequence(const PickleValue& v) { return v.kind == Kind::list || v.kind == Kind::tuple; }

// key, value, key, value … of a dict, however it was created.
Items entries_of(const PickleValue& dict) {
  if (dict.kind == Kind::dict) return dict.items;
  Items entries;
  if (is_parameter_dict(dict)) {
    for (size_t i = 2; i + 1 < dict.items.size(); i += 2)
      if (!dict.items[i] && is_plain_dict(*dict.items[i + 1])) {
        const Items state = entries_of(*dict.items[i + 1]);
        for (size_t k = 0; k + 1 < state.size(); k += 2)
          if (state[k]->is_text("_parameters") && is_plain_dict(*state[k + 1])) entries = entries_of(*state[k + 1]);
      }
    return entries;
  }
  if (const Items& given = dict.items[1]->items; given.size() == 1 && is_sequence(*given[0]))  // from Python 2: a list of pairs
    for (const PickleValue* pair : given[0]->items)
      if (is_sequence(*pair) && pair->items.size() == 2) entries.insert(entries.end(), {pair->items[0], pair->items[1]});
  for (size_t i = 2; i + 1 < dict.items.size(); i += 2)
    if (dict.items[i]) entries.insert(entries.end(), {dict.items[i], dict.items[i + 1]});
  return entries;
}

// A function of torch that creates a tensor.
bool rebuilds(const PickleValue& callable) {
  if (callable.kind != Kind::global) return false;
  for (const std::string_view module : {"torch._utils", "torch._tensor", "torch.tensor"})
    if (callable.items[0]->is_text(module) && callable.items[1]->kind == Kind::text && callable.items[1]->text.starts_with("_rebuild"))
      return true;
  return false;
}

class Reader {
 public:
  Reader(std::string_view file, const TorchObject& object, const std::string& where) : file_(file), object_(object), where_(where) {}

  TorchContents read() {
    const PickleValue& root = object_.pickle.value();
    if (root.kind == Kind::call && !is_dict(root) && !rebuilds(*root.items[0]))
      fail<IoError>("{}: is created by {}, which is not executed; expected a dict of tensors", where_, root.describe());
    if (!is_dict(root)) fail<IoError>("{}: holds {}, expected a dict of tensors", where_, root.describe());
    contents_.format = object_.format;
    const Items entries = counted_entries(root);
    for (const std::string_view part : {"state_dict", "params_ema", "ema", "params", "model"})
      for (size_t i = 0; i + 1 < entries.size() && contents_.part.empty(); i += 2) {
        if (!entries[i]->is_text(part) || !is_dict(*entries[i + 1])) continue;
        walk(*entries[i + 1], "", 0);
        if (!contents_.tensors.empty()) contents_.part = part;
        else contents_.others.clear();
      }
    if (contents_.part.empty()) walk(root, "", 0);
    else
      for (size_t i = 0; i + 1 < entries.size(); i += 2)
        if (!entries[i]->is_text(contents_.part)) contents_.others.emplace(name_of(*entries[i]), entries[i + 1]->describe());
    return std::move(contents_);
  }

 private:
  static constexpr int max_depth = 64;
  static constexpr size_t max_visits = Pickle::max_values, max_name_bytes = size_t(1) << 28;

  static bool is_tensor(const PickleValue& v) { return v.kind == Kind::call && rebuilds(*v.items[0]); }
  static std::string name_of(const PickleValue& key) {
    return key.kind == Kind::text ? std::string(key.text) : key.kind == Kind::integer ? fmt::format("{}", key.integer) : key.describe();
  }

  // Values may contain one another many times, or themselves, so the number of visits is bounded.
  void look_at(size_t values, size_t name_bytes = 0) {
    visits_ += values;
    names_ += name_bytes;
    if (visits_ > max_visits || names_ > max_name_bytes) fail<IoError>("{}: has more entries than a checkpoint can have", where_);
  }
  Items counted_entries(const PickleValue& dict) {
    look_at(dict.items.size());
    if (dict.kind == Kind::call)
      for (const PickleValue* given : dict.items[1]->items) look_at(given->items.size());
    if (is_parameter_dict(dict))
      for (size_t i = 3; i < dict.items.size(); i += 2) look_at(dict.items[i]->items.size());
    const Items entries = entries_of(dict);
    look_at(entries.size());
    return entries;
  }

  void walk(const PickleValue& value, const std::string& name, int depth) {
    look_at(1, name.size());
    if (depth > max_depth) fail<IoError>("{}: has dicts that are nested more than {} levels deep", where_, max_depth);
    if (is_sequence(value)) look_at(value.items.size());
    const auto child = [&](const std::string& key, const PickleValue& item) {
      walk(item, name.empty() ? key : name + "." + key, depth + 1);
    };
    if (is_dict(value)) {
      const Items entries = counted_entries(value);
      for (size_t i = 0; i + 1 < entries.size(); i += 2) child(name_of(*entries[i]), *entries[i + 1]);
    } else if (is_sequence(value) &&
               std::ranges::any_of(value.items, [](const auto* v) { return is_dict(*v) || is_sequence(*v) || is_tensor(*v); })) {
      for (size_t i = 0; i < value.items.size(); ++i) child(fmt::format("{}", i), *value.items[i]);
    } else if (is_tensor(value)) {
      if (!contents_.tensors.emplace(name, tensor(value, fmt::format("{}: tensor '{}'", where_, name))).second)
        fail<IoError>("{}: has the tensor '{}' twice", where_, name);
    } else {
      contents_.others.emplace(name, value.describe());
    }
  }

  // The call that rebuilds the elements: parameters and plain tensors with attributes are themselves rebuilt from tensors.
  TorchEntry tensor(const PickleValue& value, const std::string& where) {
    const PickleValue *callable = value.items[0], *arguments = value.items[1];
    for (int level = 0; level < 4; ++level) {
      const Items& given = arguments->items;
      const auto is = [&](std::string_view name) { return rebuilds(*callable) && callable->items[1]->is_text(name); };
      if (is("_rebuild_tensor") || is("_rebuild_tensor_v2") || is("_rebuild_tensor_v3"))
        return plain_tensor(given, is("_rebuild_tensor_v3"), where);
      if ((is("_rebuild_parameter") || is("_rebuild_parameter_with_state")) && !given.empty() && given[0]->kind == Kind::call) {
        callable = given[0]->items[0];
        arguments = given[0]->items[1];
      } else if ((is("_rebuild_from_type_v2") || is("_rebuild_from_type")) && given.size() >= 3 && given[2]->kind == Kind::tuple) {
        const PickleValue& type = *given[1];
        if (!type.is_global("torch", "Tensor"))
          return unreadable(fmt::format("is a tensor of the class {}, which is not supported", type.describe()));
        callable = given[0];
        arguments = given[2];
      } else {
        break;
      }
    }
    return unreadable(fmt::format("is created by {}, which is not supported", callable->describe()));
  }

  static TorchEntry unreadable(const std::string& why) { return {.info = {.dtype = DType::u8, .shape = {0}, .unreadable = one_line(why)}}; }

  // (storage, offset, sizes, strides, requires_grad, hooks, …) with offset and strides in elements. Version 2 may end with a dict of view
  // flags (conjugate, negative), version 3 with the dtype and such a dict.
  TorchEntry plain_tensor(const Items& given, bool typed, const std::string& where) {
    if (given.size() < (typed ? 7u : 4u)) fail<IoError>("{} has too few arguments ({}) to be rebuilt from", where, given.size());
    const TorchStorage storage = object_.storage(*given[0], where);
    std::optional<DType> dtype = storage.type.dtype;
    std::string type = storage.type.name;
    if (typed) {
      dtype = torch_dtype(*given[6]);
      type = given[6]->describe();
    }
    if (!dtype) return unreadable(fmt::format("has the type {}, which is not supported", type));
    const size_t last = typed ? 7 : 6;
    if (given.size() > last && is_dict(*given[last])) {
      const Items marks = counted_entries(*given[last]);
      for (size_t i = 1; i < marks.size(); i += 2)
        if (marks[i]->kind == Kind::boolean && marks[i]->integer)
          return unreadable(fmt::format("is a view by {}, which is not supported", marks[i - 1]->describe()));
    }

    const std::vector<int64_t> sizes = integers(*given[2], "sizes", where), strides = integers(*given[3], "strides", where);
    if (sizes.size() != strides.size()) fail<IoError>("{} has {} sizes and {} strides", where, sizes.size(), strides.size());
    const int64_t offset = given[1]->kind == Kind::integer ? given[1]->integer : -1;
    if (offset < 0) fail<IoError>("{} starts at {}, expected an offset of 0 or more", where, given[1]->describe());
    return placed(storage, *dtype, offset, sizes, strides, where);
  }

  TorchEntry placed(const TorchStorage& storage, DType dtype, int64_t offset, const std::vector<int64_t>& sizes,
                    const std::vector<int64_t>& strides, const std::string& where) const {
    TorchEntry entry;
    entry.info.dtype = dtype;
    entry.strides = strides;
    const uint64_t size = size_of(dtype);
    const bool empty = std::ranges::count(sizes, 0) > 0;
    // The extent of the tensor in its storage, up to its last element, and its number of elements.
    uint64_t span = uint64_t(offset) + 1, elements = 1;
    for (size_t i = sizes.size(); i > 0; --i) {
      const auto n = uint64_t(std::max<int64_t>(sizes[i - 1], 1)), stride = uint64_t(strides[i - 1]);
      if (n > 1 && stride != elements) entry.contiguous = empty;
      uint64_t reach = 0;
      if (__builtin_mul_overflow(n - 1, stride, &reach) || __builtin_add_overflow(span, reach, &span) ||
          __builtin_mul_overflow(elements, n, &elements) || elements > uint64_t(INT64_MAX) / size)
        fail<IoError>("{} has more elements than any file can hold", where);
    }
    const uint64_t available = (storage.end - storage.begin) / size;
    if (!empty && span > available) fail<IoError>("{} reaches to element {} of a storage that has {}", where, span, available);
    if (!empty && elements * size > file_.size())
      return unreadable(fmt::format("repeats its values to {} elements, more than the file has bytes", elements));
    if (sizes.size() > size_t(Shape::max_rank))
      return unreadable(fmt::format("has {} axes, at most {} are supported", sizes.size(), Shape::max_rank));
    entry.info.shape = Shape(std::span<const int64_t>(sizes));
    entry.begin = empty ? storage.begin : storage.begin + uint64_t(offset) * size;
    entry.end = empty ? storage.begin : storage.begin + span * size;
    return entry;
  }

  // A tuple, a list or a torch.Size of non-negative integers.
  static std::vector<int64_t> integers(const PickleValue& value, std::string_view what, const std::string& where) {
    const PickleValue* list = &value;
    if (value.is_call("torch", "Size") && value.items[1]->items.size() == 1) list = value.items[1]->items[0];
    constexpr size_t most = 64;  // torch's own limit
    if (!is_sequence(*list) || list->items.size() > most)
      fail<IoError>("{} has {} as its {}, expected a tuple of at most {}", where, list->describe(), what, most);
    std::vector<int64_t> all;
    for (const PickleValue* item : list->items) {
      if (item->kind != Kind::integer || item->integer < 0)
        fail<IoError>("{} has {} among its {}, expected integers of 0 or more", where, item->describe(), what);
      all.push_back(item->integer);
    }
    return all;
  }

  std::string_view file_;
  const TorchObject& object_;
  const std::string& where_;
  TorchContents contents_;
  size_t visits_ = 0, names_ = 0;
};

}  // namespace

TorchContents parse_torch_file(std::string_view file, const std::string& where) {
  const TorchObject object = read_torch_object(file, where);
  return Reader(file, object, where).read();
}

}  // namespace hearth
