// The cases of golden/make_lora.py: adapters whose values are functions of their names, as files.
#pragma once

#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "e2e/checkpoint_copy.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "weights/safetensors/safetensors.h"
#include "weights/seeded.h"

namespace hearth::test {

struct LoraCases {
  TemporaryFolder folder;
  std::unique_ptr<Backend> host = make_test_backend("reference");
  nlohmann::json all = load_json(golden_folder() / "lora.json").at("cases");

  static std::vector<std::string> names() {
    std::vector<std::string> all_names;
    const nlohmann::json file = load_json(golden_folder() / "lora.json");
    for (const auto& [name, recorded] : file.at("cases").items()) all_names.push_back(name);
    return all_names;
  }

  // The case that has a case's adapter.
  std::string file_of(const std::string& name) const { return all.at(name).value("file", name); }
  // The tensors of a case's adapter.
  NamedTensors read_case(const std::string& name) {
    const nlohmann::json& c = all.at(file_of(name));
    NamedTensors tensors;
    const auto source = seeded_source();
    for (const auto& [tensor, sizes] : c.at("tensors").items()) {
      Shape shape;
      for (const int64_t size : sizes) shape.push_back(size);
      tensors[tensor] = source->read(tensor, shape, *host);
    }
    for (const auto& [tensor, value] : c.at("values").items())
      tensors[tensor] = Tensor::from(*host, {}, std::vector<float>{value.get<float>()});
    return tensors;
  }

  // The adapter with the case's strengths; its file is written once.
  Lora lora(const std::string& name) {
    const nlohmann::json& c = all.at(name);
    const std::filesystem::path file = folder / (file_of(name) + ".safetensors");
    if (!std::filesystem::exists(file)) write_safetensors(file, read_case(name), all.at(file_of(name)).at("metadata").get<Metadata>());
    Lora lora{.file = file, .scale = c.at("strength")};
    if (c.contains("text_strength")) lora.text_scale = c.at("text_strength").get<double>();
    return lora;
  }

  std::vector<float> latents(const std::string& name) {
    const auto file = SafetensorsFile::open(golden_folder() / "lora.safetensors");
    return file->read(name, file->list().at(name).shape, *host).to_vector();
  }
};

}  // namespace hearth::test
