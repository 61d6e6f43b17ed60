#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "adapters/adapter_file.h"
#include "api/files/adapter_fit.h"
#include "api/places.h"
#include "core/error.h"
#include "hearth/hearth.h"
#include "hub/local_model.h"
#include "media/formats/image_file.h"
#include "media/metadata/parameters.h"
#include "models/checkpoints.h"
#include "models/registry.h"
#include "weights/gguf/gguf_folder.h"
#include "weights/inspection/inspection.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

// Whether the file is an image, by its first bytes. A safetensors file may look like one, but has a brace after its length.
bool is_image(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  std::string head(64, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(head.data(), std::streamsize(head.size()));
  head.resize(size_t(in.gcount()));
  return !(head.size() > 8 && head[8] == '{') && image_format(head, path.string()).has_value();
}

// Another program may have used the same keyword for something else, which is reported as text.
Json parsed(const std::string& text) { return Json::accept(text) ? Json::parse(text) : Json(text); }

Inspection inspect_image(const std::filesystem::path& path) {
  const LoadedImage image = read_image(path);
  const auto text_of = [&](std::string_view keyword) {
    const std::string* text = image.find(keyword);
    return text == nullptr ? std::string() : *text;
  };
  const std::string parameters = text_of(parameters_keyword), recipe = text_of(recipe_keyword);
  const std::string prompt = text_of("prompt"), workflow = text_of("workflow");
  Inspection result;
  result.text = fmt::format("{}: {} image, {}×{}, {}{}\n", path.string(), name_of(image.format), image.image.width, image.image.height,
                            image.kind, image.alpha.values.empty() ? "" : ", with transparency");
  if (image.orientation >= 2 && image.orientation <= 8) result.text += fmt::format("EXIF orientation {}: applied\n", image.orientation);
  for (const std::string& note : image.notes) result.text += one_line(note) + "\n";
  if (!parameters.empty()) result.text += parameters + "\n";
  if (!prompt.empty() || !workflow.empty())
    result.text += fmt::format("ComfyUI's graph: {} bytes of prompt, {} bytes of workflow\n", prompt.size(), workflow.size());
  if (parameters.empty() && recipe.empty() && prompt.empty() && workflow.empty()) result.text += "No generation metadata.\n";

  Json json = {{"kind", "image"},
               {"format", name_of(image.format)},
               {"detail", image.kind},
               {"width", image.image.width},
               {"height", image.image.height},
               {"transparency", !image.alpha.values.empty()},
               {"orientation", image.orientation},
               {"parameters", parameters},
               {"hearth", parsed(recipe)},
               {"comfyui", {{"prompt", parsed(prompt)}, {"workflow", parsed(workflow)}}},
               {"texts", Json::array()},
               {"notes", image.notes}};
  for (const PngText& text : image.texts) json["texts"].push_back(text.keyword);
  result.json = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return result;
}

struct Verdict {
  std::string family, headline;
  std::vector<models::ComponentCheck> checks;
  bool all_checked = false;  // all components that the family needs were checked
};

// "NAME inpainting, no VAE: give one with --vae"
std::string headline_of(const Checkpoint& checkpoint) {
  std::string text = checkpoint.published_name().empty() ? checkpoint.pipeline_class() : checkpoint.published_name();
  for (const std::string& name : checkpoint.lacking())
    text += fmt::format(", no {}: give one with {}", checkpoint.label_of(name), flag_of(name));
  return text;
}

// Checks a diffusers folder, a DDUF file or a single file as its family would when opening it.
Verdict examine(const std::filesystem::path& path, const std::string& variant) {
  Verdict verdict;
  try {
    const Checkpoint checkpoint = models::open_checkpoint(path, api::places_of(path));
    if (checkpoint.is_single_file()) verdict.headline = headline_of(checkpoint);
    const auto [name, family] = models::find_family(checkpoint);
    verdict.family = name;
    verdict.checks = family.check(checkpoint, variant);
    verdict.all_checked = true;
  } catch (const Error& e) { verdict.checks.push_back({"checkpoint", e.what()}); }
  return verdict;
}

// Components that the family does not need may be broken or missing: many users delete the safety checker.
void set_aside_unused(InspectedCheckpoint& found, const Verdict& verdict) {
  if (!verdict.all_checked) return;
  for (InspectedComponent& c : found.components)
    if (std::ranges::find(verdict.checks, c.name, &models::ComponentCheck::component) == verdict.checks.end())
      c.unused = std::exchange(c.problem, {});
}

bool is_file_of_tensors(const InspectedCheckpoint& found) {
  return found.kind == "safetensors file" || found.kind == "PyTorch checkpoint" || found.kind == "GGUF file";
}

// Whether the file contains a denoiser, so that it may be a whole checkpoint.
bool is_single_file(const std::filesystem::path& path, const InspectedCheckpoint& found, std::span<const KnownFamily> families) {
  if (!is_file_of_tensors(found)) return false;
  return denoiser_of(find_sections(open_tensor_file(gguf_file_of(path))->list(), families, path.string())) != nullptr;
}

bool is_adapter(const std::filesystem::path& path, const InspectedCheckpoint& found) {
  if (!is_file_of_tensors(found)) return false;
  return std::ranges::any_of(found.components,
                             [](const InspectedComponent& c) {
                               return std::ranges::any_of(c.recognized, [](const Recognized& r) { return r.part == "adapter"; });
                             }) &&
         adapters::looks_like_adapter(open_tensor_file(path)->list());
}

}  // namespace

Inspection inspect(const std::filesystem::path& given, const std::string& variant, const std::filesystem::path& model) {
  const std::filesystem::path path = hub::local_model(given);
  const auto refuse_model = [&] {
    if (!model.empty()) fail<UsageError>("inspect: {} is no adapter or control network, expected one with a model", given.string());
  };
  if (is_image(path)) {
    refuse_model();
    return inspect_image(path);
  }
  const std::vector<KnownFamily> families = models::image_files();
  InspectedCheckpoint found = inspect_checkpoint(path, families, variant);
  const bool whole = found.kind == "diffusers folder" || found.kind == "DDUF file" || is_single_file(path, found, families);
  const Verdict verdict = whole ? examine(path, variant) : Verdict();
  if (!is_file_of_tensors(found)) set_aside_unused(found, verdict);
  Json json = to_json(found);
  Inspection result{.text = to_text(found)};
  if (whole) {
    result.usable = std::ranges::all_of(verdict.checks, [](const models::ComponentCheck& c) { return c.problem.empty(); });
    if (!verdict.headline.empty()) {
      json["what"] = verdict.headline;
      result.text += verdict.headline + "\n";
    }
    json["family"] = verdict.family.empty() ? Json() : Json(verdict.family);
    json["problems"] = Json::array();
    for (const auto& [component, problem] : verdict.checks) {
      if (problem.empty()) continue;
      json["problems"].push_back({{"component", component}, {"problem", problem}});
      result.text += fmt::format("problem in {}: {}\n", component, problem);
    }
    if (result.usable) result.text += fmt::format("complete: every tensor is present and used; family {}\n", verdict.family);
  }
  if (is_adapter(path, found)) {
    const std::string text = api::describe_adapter(path, model);
    json["adapter"] = text;
    result.text += text;
  } else if (!model.empty() && !whole) {
    const std::string text = api::describe_control(path, model);
    json["adapter"] = text;
    result.text += text;
  } else {
    refuse_model();
  }
  json["usable"] = result.usable;
  result.json = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return result;
}

}  // namespace hearth
