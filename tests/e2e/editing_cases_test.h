// The cases of golden/make_editing*.py: runs that start from an image.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "e2e/checkpoint_copy.h"
#include "weights/safetensors/safetensors.h"

namespace hearth::test {

struct EditingCases {
  explicit EditingCases(const std::string& stem);  // "editing": editing.json and editing.safetensors

  nlohmann::json cases;
  std::shared_ptr<SafetensorsFile> file;
  std::unique_ptr<Backend> device;

  Tensor golden(const std::string& name) const;
  Image image(const std::string& kind, int64_t width, int64_t height) const;  // "image", "mask" or "depth"
  Request request_of(const nlohmann::json& c) const;                          // without VAE decode
  // The model of a case, opened once: the golden checkpoint, or a copy with the pipeline's class, a UNet with more input channels (9 for
  // inpainting, 8 for instruction editing, 5 for depth maps), and the case's changes to files.
  Model& model_of(const nlohmann::json& c);
  Model& model(const std::string& checkpoint);
  std::filesystem::path folder_of(const nlohmann::json& c);

  // Compares the latents of every case with the golden ones, relative L2.
  void expect_golden_latents(double limit);
  // The same for some cases, on every backend and every path of the CPU that this one has.
  void expect_golden_latents_on_every_backend(const std::vector<std::string>& names, double limit);
  // The latents have the same bits with other numbers of threads, after a stop, and for each image of a batch.
  void expect_same_in_any_batch_and_after_a_stop(const std::vector<std::string>& names);
  // The peak that is planned is the one that is measured, with and without a memory limit.
  void expect_planned_memory(const std::vector<std::string>& names);

 private:
  std::map<std::string, Model> models_;
  std::vector<std::unique_ptr<CheckpointCopy>> copies_;
};

}  // namespace hearth::test
