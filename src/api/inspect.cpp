#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "hearth/hearth.h"
#include "models/registry.h"
#include "weights/inspection.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

bool is_png(const std::filesystem::path& path) {
  std::string head(8, '\0');
  std::ifstream in(path, std::ios::binary);
  return in.read(head.data(), 8) && head == "\x89PNG\r\n\x1a\n";
}

Inspection inspect_picture(const std::filesystem::path& path) {
  const Image image = Image::load(path);
  Inspection result;
  result.text = fmt::format("{}: PNG picture, {}×{}\n", path.string(), image.width, image.height);
  if (image.parameters.empty() && image.json.empty()) result.text += "It does not say how it was made.\n";
  if (!image.parameters.empty()) result.text += image.parameters + "\n";
  Json json = {{"kind", "picture"}, {"width", image.width}, {"height", image.height}, {"parameters", image.parameters}};
  // What another program may have left under our keyword is told as text.
  json["hearth"] = Json::accept(image.json) ? Json::parse(image.json) : Json(image.json);
  result.json = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return result;
}

struct Verdict {
  std::string family;
  std::vector<models::ComponentCheck> problems;
};

// What the model says of a diffusers folder.
Verdict examine(const std::filesystem::path& path, const std::string& variant) {
  Verdict verdict;
  try {
    const Checkpoint checkpoint = Checkpoint::open(path);
    const auto [name, family] = models::find_family(checkpoint);
    verdict.family = name;
    for (const models::ComponentCheck& check : family.check(checkpoint, variant))
      if (!check.problem.empty()) verdict.problems.push_back(check);
  } catch (const Error& e) { verdict.problems.push_back({"checkpoint", e.what()}); }
  return verdict;
}

}  // namespace

Inspection inspect(const std::filesystem::path& path, const std::string& variant) {
  if (is_png(path)) return inspect_picture(path);
  const InspectedCheckpoint found = inspect_checkpoint(path, variant);
  Json json = to_json(found);
  Inspection result{.text = to_text(found)};
  if (found.kind == "diffusers folder") {
    const Verdict verdict = examine(path, variant);
    result.usable = verdict.problems.empty();
    json["family"] = verdict.family.empty() ? Json() : Json(verdict.family);
    json["problems"] = Json::array();
    for (const auto& [component, problem] : verdict.problems) {
      json["problems"].push_back({{"component", component}, {"problem", problem}});
      result.text += fmt::format("problem in {}: {}\n", component, problem);
    }
    if (result.usable) result.text += fmt::format("complete: every tensor is there and used; family {}\n", verdict.family);
  }
  json["usable"] = result.usable;
  result.json = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return result;
}

}  // namespace hearth
