#include "weights/seeded_file.h"

#include <cstring>
#include <fstream>
#include <vector>

#include "core/backend.h"
#include "core/observe.h"
#include "weights/safetensors/safetensors_types.h"
#include "weights/seeded.h"

namespace hearth {
namespace {

void store(const float* from, int64_t n, DType dtype, char* to) {
  if (dtype == DType::f32) std::memcpy(to, from, size_t(n) * sizeof(float));
  auto* half = reinterpret_cast<uint16_t*>(to);
  if (dtype == DType::f16)
    for (int64_t i = 0; i < n; ++i) half[i] = f32_to_f16(from[i]);
  if (dtype == DType::bf16)
    for (int64_t i = 0; i < n; ++i) half[i] = f32_to_bf16(from[i]);
}

}  // namespace

Tensor RequestedTensors::read(const std::string& name, const Shape& wanted, Backend& backend) {
  tensors.emplace(name, wanted);
  return Tensor::zeros(backend, wanted);
}

void write_seeded_file(const std::filesystem::path& file, const std::map<std::string, Shape>& tensors, DType dtype, ThreadPool& threads) {
  if (dtype != DType::f32 && !is_16bit_float(dtype))
    fail<UnsupportedError>("seeded file: the dtype is {}, expected f32, f16 or bf16", name_of(dtype));
  std::vector<SafetensorsTensor> listed;
  for (const auto& [name, shape] : tensors) listed.push_back({name, dtype, shape});
  const std::string head = safetensors_head(listed);

  const std::filesystem::path partial = file.string() + ".partial";
  std::ofstream out(partial, std::ios::binary);
  out.write(head.data(), std::streamsize(head.size()));

  constexpr int64_t chunk = 1 << 22, grain = 1 << 16;  // elements at a time; elements per task
  std::vector<char> buffer(size_t(chunk) * size_of(dtype));
  for (const auto& tensor : tensors) {
    const auto& name = tensor.first;  // not a structured binding: Clang 14 cannot capture those
    const auto& shape = tensor.second;
    for (int64_t first = 0; first < shape.numel() && out; first += chunk) {
      check_canceled();
      const int64_t n = std::min(chunk, shape.numel() - first);
      threads.for_ranges(n, grain, [&](int64_t begin, int64_t end) {
        std::vector<float> values(size_t(end - begin));
        fill_seeded(name, shape, first + begin, first + end, values.data());
        store(values.data(), end - begin, dtype, buffer.data() + begin * int64_t(size_of(dtype)));
      });
      out.write(buffer.data(), n * std::streamsize(size_of(dtype)));
    }
  }
  out.close();
  std::error_code failed;
  if (out) std::filesystem::rename(partial, file, failed);
  if (!out || failed) {
    std::filesystem::remove(partial, failed);
    fail<IoError>("{}: cannot be written", file.string());
  }
}

}  // namespace hearth
