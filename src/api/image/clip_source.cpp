#include "api/image/clip_source.h"

#include <algorithm>
#include <array>

#include "api/places.h"
#include "models/checkpoints.h"
#include "weights/gguf/gguf.h"

namespace hearth::api {

namespace fs = std::filesystem;

bool is_image_model(const fs::path& path) {
  if (fs::is_directory(path)) return fs::exists(path / "model_index.json");
  constexpr std::array<std::string_view, 6> endings{".safetensors", ".ckpt", ".pt", ".pth", ".bin", ".dduf"};
  return std::ranges::find(endings, path.extension().string()) != endings.end() && !GgufFile::is_one(path);
}

std::vector<std::unique_ptr<models::PromptReader>> prompt_readers(const fs::path& model, const fs::path& config) {
  const Checkpoint checkpoint = models::open_checkpoint(model, places_of(model, {.config = config}));
  return models::find_family(checkpoint).family.prompt_readers(checkpoint);
}

}  // namespace hearth::api
