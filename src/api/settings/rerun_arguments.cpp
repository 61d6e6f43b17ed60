#include "api/settings/rerun_arguments.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/rerun/rerun.h"

namespace hearth::api {
namespace {

bool has_explicit_sigmas(const std::string& schedule) { return schedule.starts_with("sigmas:"); }

// Images whose noise came from one generator can only be generated together again.
bool shared_generator(const Json& recipe) {
  const std::string compat = recipe.at("compat");
  return recipe.at("batch_size").get<int64_t>() > 1 && (compat == name_of(Compat::diffusers) || compat == name_of(Compat::comfyui));
}

}  // namespace

void rerun_always(const Row& row, const Json& stored, const Json&, Rerun& r) {
  for (const std::string& text : typed(row, stored)) {
    if (row.form == Form::toggle) r.arguments.push_back("--" + flag_of(row.setting));
    else add_flag(r, flag_of(row.setting), text);
  }
}

void rerun_unless_default(const Row& row, const Json& stored, const Json& recipe, Rerun& r) {
  const Json& open = recipe.at("defaults");
  if (std::ranges::find(open, Json(row.setting.name)) == open.end()) rerun_always(row, stored, recipe, r);
}

void rerun_embeddings(const Row& row, const Json& stored, const Json&, Rerun& r) {
  for (const std::string& name : typed(row, stored))
    r.not_reproduced.push_back(fmt::format("the embedding '{0}': its file is not stored; add --embedding {0}=FILE", name));
}

void rerun_controls(const Row& row, const Json& stored, const Json&, Rerun& r) {
  const std::string flag = flag_of(row.setting);
  for (const Json& one : stored) {
    const std::string text = one.at("file");
    const std::string face = one.value("face", "");
    if (one.value("image", "").empty() && (face.empty() || one.contains("image"))) {
      r.not_reproduced.push_back(fmt::format("the image of '{0}': its file is not recorded; add --{1} {0},image=FILE", text, flag));
      continue;
    }
    add_flag(r, flag, text);
    for (const char* image : {"image", "mask"})
      if (const std::string file = one.value(image, ""); !file.empty())
        r.images.push_back({.flag = "--" + flag, .file = file, .sha256 = one.value(fmt::format("{}_sha256", image), "")});
    if (!face.empty()) r.files.push_back({.flag = "--" + flag, .file = face, .sha256 = one.value("face_sha256", "")});
  }
}

void rerun_image_prompts(const Row& row, const Json& stored, const Json& recipe, Rerun& r) {
  rerun_controls(row, stored, recipe, r);
  if (std::ranges::any_of(stored, [](const Json& one) { return one.contains("image"); }))  // a face's vector needs none
    r.not_reproduced.push_back("the image encoder: its file is not stored; add --image-encoder PATH");
}

// Image encoders are not part of the checkpoint, and their files are not stored.
void rerun_references(const Row& row, const Json& stored, const Json& recipe, Rerun& r) {
  const std::string flag = flag_of(row.setting);
  for (const Json& reference : stored) {
    const std::string file = reference.at("file");
    if (file.empty()) {
      r.not_reproduced.push_back(fmt::format("a reference image: its file is not recorded; add --{} FILE", flag));
      continue;
    }
    add_flag(r, flag, file);
    r.images.push_back({.flag = "--" + flag, .file = file, .sha256 = reference.value("sha256", "")});
  }
  const Json& hashes = recipe.at("model").at("hashes");
  for (const ComponentInfo& c : list_components())
    if (!c.adds.empty() && hashes.contains(c.name))
      r.not_reproduced.push_back(fmt::format("the {}: its file is not stored; add {} PATH", c.label, c.flag));
}

void rerun_refiner(const Row&, const Json& stored, const Json& recipe, Rerun& r) {
  r.not_reproduced.push_back(fmt::format("the refiner '{}': its folder is not stored; add --refiner PATH --refiner-start {}",
                                         recipe.at("refiner").at("name").get<std::string>(), stored.get<double>()));
}

void rerun_steps(const Row& row, const Json& stored, const Json& recipe, Rerun& r) {
  if (!has_explicit_sigmas(recipe.at("schedule"))) rerun_always(row, stored, recipe, r);
}

// "karras:rho=5" or "sigmas:14.6,7,0", as sampling::ScheduleChoice::text writes them.
void rerun_schedule(const Row&, const Json& stored, const Json&, Rerun& r) {
  const std::string text = stored;
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon), rest = colon == text.npos ? "" : text.substr(colon + 1);
  if (has_explicit_sigmas(text)) return add_flag(r, "sigmas", rest);
  if (!name.empty()) add_flag(r, "schedule", name);
  for (size_t begin = 0; begin < rest.size();) {
    const size_t end = std::min(rest.find(',', begin), rest.size());
    add_flag(r, "schedule-opt", rest.substr(begin, end - begin));
    begin = end + 1;
  }
}

void rerun_batch_size(const Row& row, const Json& stored, const Json& recipe, Rerun& r) {
  if (!shared_generator(recipe)) return;
  const auto size = stored.get<int64_t>();
  rerun_always(row, stored, recipe, r);
  r.not_reproduced.push_back(fmt::format("a single image: it was number {1} of a batch of {0}, which is generated whole", size,
                                         recipe.at("batch_index").get<int64_t>() % size + 1));
}

void rerun_batch_index(const Row& row, const Json& stored, const Json& recipe, Rerun& r) {
  const bool numbered = recipe.at("compat") == name_of(Compat::comfyui) && stored.get<int64_t>() > 0;
  if (numbered && !shared_generator(recipe)) rerun_always(row, stored, recipe, r);
}

}  // namespace hearth::api
