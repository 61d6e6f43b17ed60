#include "weights/layout/stored_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/backend.h"
#include "core/observe.h"
#include "weights/safetensors/safetensors_types.h"

namespace hearth {
namespace {

constexpr int64_t piece = 1 << 20;  // elements to convert at a time

// An official tensor and its form in the stored one.
struct Share {
  std::string official;
  Form form;
  DType dtype;
  Shape shape;
};

Shape stored_shape(const Share& share) {
  const Shape& official = share.shape;
  if (share.form == form::transposed) return {official[1], official[0]};
  Shape shape = official;
  if (shape.rank() > 0) shape[0] = shape[0] / (share.form.end - share.form.first) * share.form.parts;
  if (share.form.kind == Form::Kind::kernel && official.rank() == 2) shape.push_back(1), shape.push_back(1);
  return shape;
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

// Passes on the tensor's bytes in the new dtype and form.
void write_one(const StoredTensor& t, Backend& backend, const std::function<void(std::span<const std::byte>)>& write) {
  for (const std::string& official : t.official) {
    Tensor x = t.source->read(official, {}, backend);
    if (t.form == form::transposed) x = turned(x, backend);
    if (t.form == form::swapped) x = swapped(x, backend);
    if (x.dtype() == t.dtype) {
      if (x.bytes() > 0) write({x.raw(), x.bytes()});
    } else {
      const Tensor flat = x.view({x.numel()});
      std::vector<std::byte> bytes;
      for (int64_t begin = 0; begin < x.numel(); begin += piece) {
        check_canceled();
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
      check_canceled();
      for (const float v : flat.slice(0, begin, std::min(begin + piece, x.numel())).to_vector())
        if (std::isfinite(v) && std::isinf(f16_to_f32(f32_to_f16(v)))) return true;
    }
    t.source->release(official);
  }
  return false;
}

}  // namespace

std::vector<StoredTensor> stored_tensors(const std::shared_ptr<TensorSource>& source, const std::string& prefix, const NameMap& map) {
  std::map<std::string, std::vector<Share>> stored;
  for (const auto& [official, info] : source->list()) {
    require_readable(*source, official, info);
    const auto original = to_original(official, map);
    if (!original) fail<UnsupportedError>("{}: this layout has no name for the tensor '{}'", source->describe(), official);
    const Share share{official, original->form, info.dtype, info.shape};
    if (share.form == form::transposed && info.shape.rank() != 2)
      fail<UnsupportedError>("{}: '{}' has shape {}, this layout requires a matrix", source->describe(), official, info.shape);
    std::vector<Share>& shares = stored[original->name];
    if (share.form.parts == 1 && !shares.empty())
      fail<UnsupportedError>("{}: '{}' and '{}' are one tensor in this layout", source->describe(), shares[0].official, official);
    if (!shares.empty() && (share.dtype != shares[0].dtype || stored_shape(share) != stored_shape(shares[0])))
      fail<UnsupportedError>("{}: '{}' differs in dtype or shape from the other parts of '{}'", source->describe(), official,
                             original->name);
    shares.push_back(share);
  }
  std::vector<StoredTensor> all;
  for (auto& [name, shares] : stored) {
    std::ranges::sort(shares, {}, [](const Share& share) { return share.form.first; });
    StoredTensor t{.name = prefix + name,
                   .dtype = shares[0].dtype,
                   .shape = stored_shape(shares[0]),
                   .form = shares[0].form,
                   .official = {},
                   .source = source};
    uint8_t filled = 0;
    for (const Share& share : shares) {
      filled = share.form.first == filled ? share.form.end : 0;
      t.official.push_back(share.official);
    }
    if (filled != t.form.parts) fail<UnsupportedError>("{}: lacks a part of '{}'", source->describe(), t.name);
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

std::vector<std::string> set_dtype(std::span<StoredTensor> tensors, DType dtype, Backend& backend) {
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
    check_canceled();
    write_one(t, backend, [&](std::span<const std::byte> bytes) { write({reinterpret_cast<const char*>(bytes.data()), bytes.size()}); });
  }
}

}  // namespace hearth
