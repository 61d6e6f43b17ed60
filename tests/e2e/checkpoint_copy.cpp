#include "e2e/checkpoint_copy.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/backends.h"
#include "backends/plan/plan_backend.h"
#include "core/files/json.h"
#include "core/memory.h"
#include "core/threads.h"
#include "parts/clip/clip_text.h"
#include "parts/unet/unet.h"
#include "weights/safetensors/safetensors.h"
#include "weights/safetensors/safetensors_types.h"
#include "weights/seeded_file.h"

namespace hearth::test {

namespace fs = std::filesystem;

Tensor copy_of(const Tensor& x, DType dtype) { return Tensor::from(x.backend(), x.shape(), x.to_vector(), dtype); }

CheckpointCopy::CheckpointCopy(const std::string& checkpoint) : device_(make_backend({.name = "reference", .threads = 1})) {
  fs::copy(checkpoint_folder(checkpoint), path(), fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(path())) fs::permissions(entry, fs::perms::owner_write, fs::perm_options::add);
}

fs::path CheckpointCopy::weights(const std::string& component) const {
  return path() / component / (component.starts_with("text_encoder") ? "model.safetensors" : "diffusion_pytorch_model.safetensors");
}

void CheckpointCopy::edit_json(const fs::path& file, const std::function<void(nlohmann::json&)>& change) {
  nlohmann::json json = load_json(path() / file);
  change(json);
  std::ofstream(path() / file) << json.dump(1);
}

void CheckpointCopy::edit_tensors(const std::string& component, const std::function<void(NamedTensors&)>& change, const std::string& file) {
  NamedTensors tensors;
  {
    const auto source = SafetensorsFile::open(weights(component));
    for (const auto& [name, info] : source->list()) tensors[name] = copy_of(source->read(name, info.shape, *device_), info.dtype);
  }
  change(tensors);
  write_safetensors(file.empty() ? weights(component) : path() / component / file, tensors);
}

void CheckpointCopy::convert(const std::string& component, DType dtype, const std::string& file) {
  edit_tensors(
      component,
      [dtype](NamedTensors& tensors) {
        for (auto& [name, x] : tensors) x = copy_of(x, dtype);
      },
      file);
}

std::map<std::string, Shape> CheckpointCopy::tensors_of(const std::string& component) const {
  MemoryLedger ledger;
  const auto plan = make_plan_backend(ledger);
  const auto requested = std::make_shared<RequestedTensors>();
  Weights all(requested, *plan);
  const Config config = Config::load(path() / component / "config.json");
  if (component == "text_encoder") const parts::ClipTextModel text(Scope(all), parts::ClipTextConfig::from(config));
  if (component == "unet") const parts::Unet unet(Scope(all), parts::UnetConfig::from(config));
  return requested->tensors;
}

void CheckpointCopy::seed(const std::string& component) {
  write_seeded_file(weights(component), tensors_of(component), DType::f16, device_->threads());
}

void CheckpointCopy::hollow(const std::string& component) {
  std::vector<SafetensorsTensor> tensors;
  uintmax_t bytes = 0;
  for (const auto& [name, shape] : tensors_of(component)) {
    tensors.push_back({name, DType::f16, shape});
    bytes += uintmax_t(shape.numel()) * size_of(DType::f16);
  }
  const std::string head = safetensors_head(tensors);
  std::ofstream(weights(component), std::ios::binary) << head;
  fs::resize_file(weights(component), head.size() + bytes);
}

void CheckpointCopy::shard(const std::string& component, int count) {
  const std::string stem = weights(component).stem().string();
  nlohmann::json index = {{"metadata", {{"total_size", 0}}}, {"weight_map", nlohmann::json::object()}};
  edit_tensors(
      component,
      [&](NamedTensors& tensors) {
        std::vector<NamedTensors> shards(static_cast<size_t>(count));
        size_t next = 0;
        for (const auto& [name, x] : tensors) shards[next++ % shards.size()][name] = x;
        for (size_t i = 0; i < shards.size(); ++i) {
          const std::string file = fmt::format("{}-{:05}-of-{:05}.safetensors", stem, i + 1, count);
          write_safetensors(path() / component / file, shards[i]);
          for (const auto& [name, x] : shards[i]) index["weight_map"][name] = file;
        }
      },
      "unused.safetensors");
  fs::remove(path() / component / "unused.safetensors");
  fs::remove(weights(component));
  std::ofstream(path() / component / (stem + ".safetensors.index.json")) << index.dump(1);
}

}  // namespace hearth::test
