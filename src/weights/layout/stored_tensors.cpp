#include "weights/layout/stored_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/backend.h"
#include "core/observe.h"
#include "weights/safetensors_types.h"

namespace hearth {
namespace {

constexpr int64_t piece = 1 << 20;  // elements that are converted at a time

Shape stored_shape(const Shape& official, Form form) {
  switch (form) {
    case Form::same: return official;
    case Form::transposed: return {official[1], official[0]};
    case Form::kernel: return official.rank() == 2 ? Shape{official[0], official[1], 1, 1} : official;
    default: break;
  }
  Shape fused = official;
  if (fused.rank() > 0) fused[0] *= 3;
  return fused;
}

void require_readable(const TensorSource& source, const std::string& name, const TensorInfo& info) {
  if (!info.unreadable.empty()) fail<UnsupportedError>("{}: '{}' {}", source.describe(), name, info.unreadable);
}

template <class T> void store(const std::vector<float>& values, std::byte* to) {
  for (size_t i = 0; i < values.size(); ++i) {
    const T value = narrow<T>(values[i]);
    std::memcpy(to + i * sizeof value, &value, sizeof value);
  }
}

void convert(const std::vector<float>& values, DType dtype, std::byte* to) {
  if (dtype == DType::f16) return store<F16>(values, to);
  if (dtype == DType::bf16) return store<BF16>(values, to);
  store<float>(values, to);
}

// The tensor's bytes in its new type and form.
void write_one(const StoredTensor& t, Backend& backend, const std::function<void(std::span<const std::byte>)>& write) {
  for (const std::string& official : t.official) {
    Tensor x = t.source->read(official, {}, backend);
    if (t.form == Form::transposed) x = turned(x, backend);
    if (x.dtype() == t.dtype) {
      if (x.bytes() > 0) write({x.raw(), x.bytes()});
    } else {
      const Tensor flat = x.view({x.numel()});
      std::vector<std::byte> bytes;
      for (int64_t begin = 0; begin < x.numel(); begin += piece) {
        check_cancelled();
        const int64_t n = std::min(piece, x.numel() - begin);
        bytes.resize(size_t(n) * size_of(t.dtype));
        convert(flat.slice(0, begin, begin + n).to_vector(), t.dtype, bytes.data());
        write(bytes);
      }
    }
    t.source->release(official);
  }
}

bool overflows_f16(const StoredTensor& t, Backend& backend) {
  for (const std::string& official : t.official) {
    const Tensor x = t.source->read(official, {}, backend), flat = x.view({x.numel()});
    for (int64_t begin = 0; begin < x.numel(); begin += piece) {
      check_cancelled();
      for (const float v : flat.slice(0, begin, std::min(begin + piece, x.numel())).to_vector())
        if (std::isfinite(v) && std::isinf(f16_to_f32(f32_to_f16(v)))) return true;
    }
    t.source->release(official);
  }
  return false;
}

}  // namespace

std::vector<StoredTensor> stored_tensors(const std::shared_ptr<TensorSource>& source, const std::string& prefix, const NameMap& map) {
  std::map<std::string, StoredTensor> stored;
  for (const auto& [official, info] : source->list()) {
    require_readable(*source, official, info);
    const auto original = to_original(official, map);
    if (!original) fail<UnsupportedError>("{}: this layout has no name for the tensor '{}'", source->describe(), official);
    const auto& [name, form] = *original;
    StoredTensor& t = stored[name];
    if (form == Form::transposed && info.shape.rank() != 2)
      fail<UnsupportedError>("{}: '{}' has shape {}, this layout needs a matrix", source->describe(), official, info.shape);
    const bool third = form == Form::first_third || form == Form::second_third || form == Form::last_third;
    if (!third && !t.official.empty())
      fail<UnsupportedError>("{}: '{}' and '{}' are one tensor in this layout", source->describe(), t.official[0], official);
    if (!t.official.empty() && (t.dtype != info.dtype || t.shape != stored_shape(info.shape, form)))
      fail<UnsupportedError>("{}: '{}' has another type or shape than the other thirds of '{}'", source->describe(), official, name);
    t.name = prefix + name, t.dtype = info.dtype, t.shape = stored_shape(info.shape, form), t.source = source;
    t.form = third ? Form::first_third : form;
    t.official.resize(third ? 3 : 1);
    t.official[third ? size_t(form) - size_t(Form::first_third) : 0] = official;
  }
  std::vector<StoredTensor> all;
  for (auto& [name, t] : stored) {
    if (std::ranges::count(t.official, "") > 0) fail<UnsupportedError>("{}: lacks a third of '{}'", source->describe(), t.name);
    all.push_back(std::move(t));
  }
  return all;
}

std::vector<StoredTensor> stored_tensors(const std::shared_ptr<TensorSource>& source) {
  std::vector<StoredTensor> all;
  for (const auto& [name, info] : source->list()) {
    require_readable(*source, name, info);
    all.push_back({.name = name, .dtype = info.dtype, .shape = info.shape, .official = {name}, .source = source});
  }
  return all;
}

std::vector<std::string> ask_for_type(std::span<StoredTensor> tensors, DType dtype, Backend& backend) {
  std::vector<std::string> kept;
  for (StoredTensor& t : tensors) {
    if (!is_float(t.dtype) || t.dtype == dtype) continue;
    if (dtype == DType::f16 && overflows_f16(t, backend)) kept.push_back(t.name);
    else t.dtype = dtype;
  }
  return kept;
}

std::vector<std::vector<StoredTensor>> in_shards(std::vector<StoredTensor> tensors, uint64_t most) {
  std::vector<std::vector<StoredTensor>> shards;
  std::vector<StoredTensor> current;
  uint64_t filled = 0;
  for (StoredTensor& t : tensors) {
    const uint64_t bytes = bytes_of(t.dtype, t.shape.numel());
    if (bytes > most) {
      shards.push_back({std::move(t)});
      continue;
    }
    if (filled + bytes > most) {
      shards.push_back(std::move(current));
      current.clear();
      filled = 0;
    }
    filled += bytes;
    current.push_back(std::move(t));
  }
  if (!current.empty() || shards.empty()) shards.push_back(std::move(current));
  return shards;
}

StoredFile stored_file(std::vector<StoredTensor> tensors, const Metadata& metadata) {
  std::ranges::sort(tensors, [](const StoredTensor& a, const StoredTensor& b) {
    const size_t x = size_of(a.dtype), y = size_of(b.dtype);
    return x != y ? x > y : a.name < b.name;
  });
  std::vector<SafetensorsTensor> listed;
  uint64_t bytes = 0;
  for (const StoredTensor& t : tensors) {
    listed.push_back({t.name, t.dtype, t.shape});
    bytes += bytes_of(t.dtype, t.shape.numel());
  }
  std::string head = safetensors_head(listed, metadata);
  bytes += head.size();
  return {.head = std::move(head), .tensors = std::move(tensors), .bytes = bytes};
}

void write_stored(const StoredFile& file, Backend& backend, const std::function<void(std::string_view)>& write) {
  write(file.head);
  for (const StoredTensor& t : file.tensors) {
    check_cancelled();
    write_one(t, backend, [&](std::span<const std::byte> bytes) { write({reinterpret_cast<const char*>(bytes.data()), bytes.size()}); });
  }
}

}  // namespace hearth
