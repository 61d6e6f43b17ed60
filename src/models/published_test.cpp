// Every built-in configuration of the families of transformers and of two networks: it is read as a whole checkpoint, its denoisers have
// the published numbers of parameters, and a file in the authors' layout finds it. The numbers are those of diffusers' networks, made of
// the same configurations.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "backends/plan/plan_backend.h"
#include "core/files/file.h"
#include "core/files/json.h"
#include "core/memory.h"
#include "models/checkpoints.h"
#include "models/registry.h"
#include "support/files.h"
#include "weights/layout/configurations.h"
#include "weights/layout/key_lists_test.h"
#include "weights/layout/stored_tensors.h"
#include "weights/safetensors/safetensors_types.h"
#include "weights/seeded_file.h"

namespace hearth::models {
namespace {

namespace fs = std::filesystem;

struct PublishedCase {
  const char *family, *name;
  std::map<std::string, int64_t> parameters;  // of each denoiser
};
const PublishedCase published_cases[] = {
    {"aura_flow", "aura-flow", {{"transformer", 6'842'876'928}}},
    {"aura_flow", "aura-flow-0.2", {{"transformer", 6'858'605'568}}},
    {"flux2", "flux2-dev", {{"transformer", 32'223'281'152}}},
    {"flux2", "flux2-klein-4b", {{"transformer", 3'875'544'576}}},
    {"flux2", "flux2-klein-9b", {{"transformer", 9'078'581'248}}},
    {"flux2", "flux2-klein-base-4b", {{"transformer", 3'875'544'576}}},
    {"flux2", "flux2-klein-base-9b", {{"transformer", 9'078'581'248}}},
    {"hunyuan_dit", "hunyuan-dit-1.1", {{"transformer", 1'516'534'048}}},
    {"hunyuan_dit", "hunyuan-dit-1.2", {{"transformer", 1'499'952'032}}},
    {"pixart", "pixart-1024-alpha", {{"transformer", 611'349'152}}},
    {"pixart", "pixart-1024-sigma", {{"transformer", 610'856'096}}},
    {"pixart", "pixart-2048-sigma", {{"transformer", 610'856'096}}},
    {"pixart", "pixart-256-alpha", {{"transformer", 610'856'096}}},
    {"pixart", "pixart-256-sigma", {{"transformer", 610'856'096}}},
    {"pixart", "pixart-512-alpha", {{"transformer", 610'856'096}}},
    {"pixart", "pixart-512-sigma", {{"transformer", 610'856'096}}},
    {"qwen_image", "qwen-image-20b", {{"transformer", 20'430'401'088}}},
    {"sana", "sana-1600m-1024", {{"transformer", 1'604'462'752}}},
    {"sana", "sana-1600m-2048", {{"transformer", 1'604'462'752}}},
    {"sana", "sana-1600m-4096", {{"transformer", 1'604'462'752}}},
    {"sana", "sana-1600m-512", {{"transformer", 1'604'462'752}}},
    {"sana", "sana-600m-1024", {{"transformer", 591'747'872}}},
    {"sana", "sana-600m-512", {{"transformer", 591'747'872}}},
    {"sana", "sana-sprint-1600m", {{"transformer", 1'610'237'472}}},
    {"sana", "sana-sprint-600m", {{"transformer", 593'501'216}}},
    {"sana", "sana1.5-1600m", {{"transformer", 1'604'641'952}}},
    {"sana", "sana1.5-4800m", {{"transformer", 4'721'825'952}}},
    {"stable_cascade", "stable-cascade", {{"prior", 3'589'103'632}, {"decoder", 1'562'941'136}}},
    {"stable_cascade", "stable-cascade-lite", {{"prior", 1'030'785'040}, {"decoder", 699'471'248}}},
    {"z_image", "z-image-turbo", {{"transformer", 6'154'908'736}}},
};

const ImageFamily& published_family(std::string_view name) {
  for (const Entry& entry : entries())
    if (entry.name == name) return std::get<ImageFamily>(entry.task);
  throw std::runtime_error("no such family");
}

// A diffusers folder without weights: the configuration, the vocabularies that it omits, and tokenizers in place of those that are not
// here.
void write_published_folder(const PublishedCase& c, std::span<const KnownFamily> families, const fs::path& folder) {
  const ImageFamily& family = published_family(c.family);
  const auto known = std::ranges::find(families, family.files, &KnownFamily::files);
  const fs::path from = known->configurations / c.name;
  const auto copy = [&](const fs::path& source, const fs::path& file) {
    if (!fs::exists(source) || fs::exists(folder / file)) return;
    fs::create_directories((folder / file).parent_path());
    fs::copy_file(source, folder / file);
  };
  copy(from / "model_index.json", "model_index.json");
  for (const Component& part : components_of(load_json(from / "model_index.json"), c.name))
    for (const std::string& file : text_files(part))
      copy(published_file(from, fs::path(part.name) / file, families), fs::path(part.name) / file);
  for (const Vocabulary& v : family.files->vocabularies)
    if (!fs::exists(folder / v.component / v.instead))
      for (const std::string_view file : v.files)
        copy(fs::path(HEARTH_SOURCE_DIR) / "assets" / v.folder / file, fs::path(v.component) / file);
  write_stand_ins({c.name, c.name, family.benchmarks.empty() ? std::span<const StandIn>() : family.benchmarks[0].stand_ins}, folder);
}

std::map<std::string, Shape> published_tensors(const diffusion::ComponentSpec& spec) {
  MemoryLedger ledger;
  const auto plan = make_plan_backend(ledger);
  const auto requested = std::make_shared<RequestedTensors>();
  Weights weights(requested, *plan);
  spec.build(Scope(weights));
  return requested->tensors;
}

TEST(PublishedSizes, every_configuration_has_the_published_number_of_parameters) {
  const std::vector<KnownFamily> families = image_files();
  std::set<fs::path> covered;
  for (const PublishedCase& c : published_cases) {
    SCOPED_TRACE(c.name);
    const test::TemporaryFolder folder;
    write_published_folder(c, families, folder.path());
    const Checkpoint checkpoint = open_checkpoint(folder.path());
    const ImageFamily& family = published_family(c.family);
    EXPECT_EQ(&find_family(checkpoint).family, &family);
    const std::unique_ptr<const diffusion::LatentModel> model = family.describe(checkpoint), second = model->second();
    std::map<std::string, int64_t> found;
    size_t layouts = 0;
    for (const diffusion::LatentModel* member : {model.get(), second.get()}) {
      if (!member) continue;
      for (const diffusion::ComponentSpec& spec : member->components()) {
        if (spec.role != Role::denoiser) continue;
        TensorList official;
        for (const auto& [name, shape] : published_tensors(spec)) {
          found[spec.name] += shape.numel();
          official[name] = {.dtype = DType::bf16, .shape = shape};
        }
        // In each layout that files have, it is found by its tensors.
        const NetworkFiles& network = *network_of(families, checkpoint.component(spec.name).class_name);
        const auto source = std::make_shared<test::ListedSource>(official);
        for (const NetworkPlace& place : family.files->places)
          for (const Spelling& spelling : place.network->spellings) {
            if (place.slot->name != spec.name || !spelling.writing || !place.network->has_class(network.classes[0])) continue;
            SCOPED_TRACE(fmt::format("{} {}", spelling.name, place.prefix));
            ++layouts;
            TensorList stored;
            for (const StoredTensor& t : stored_tensors(source, std::string(place.prefix), spelling.writing(official)))
              stored[t.name] = {.dtype = t.dtype, .shape = t.shape};
            const std::vector<Section> sections = find_sections(stored, families, "file");
            ASSERT_EQ(sections.size(), 1u);
            EXPECT_EQ(sections[0].slot().name, spec.name);
            const auto opened = open_section(std::make_shared<test::ListedSource>(stored), sections[0], {});
            TensorList read = opened->list();
            EXPECT_TRUE(std::ranges::equal(read, official, [](const auto& a, const auto& b) {
              return a.first == b.first && a.second.shape == b.second.shape && a.second.unreadable.empty();
            }));
            const auto chosen = configurations_with({*sections[0].network, sections[0].slot(), *opened}, families);
            EXPECT_TRUE(std::ranges::any_of(chosen, [&](const Configuration& o) { return o.folder.filename() == c.name; }));
          }
      }
    }
    EXPECT_EQ(found, c.parameters);
    EXPECT_GE(layouts, c.parameters.size());
    const auto known = std::ranges::find(families, family.files, &KnownFamily::files);
    covered.insert(known->configurations / c.name);
  }
  for (const PublishedCase& c : published_cases)
    for (const auto& entry :
         fs::directory_iterator(std::ranges::find(families, published_family(c.family).files, &KnownFamily::files)->configurations))
      EXPECT_TRUE(covered.contains(entry.path())) << entry.path();
}

// ComfyUI's files, at the published sizes: stage C with the text encoder, stage B with stage A. Zeros that take no disk space.
TEST(PublishedSizes, two_files_make_a_checkpoint_whichever_is_the_model) {
  const std::vector<KnownFamily> families = image_files();
  const test::TemporaryFolder folder;
  const PublishedCase& lite = *std::ranges::find(published_cases, std::string_view("stable-cascade-lite"), &PublishedCase::name);
  write_published_folder(lite, families, folder / "folder");
  const ImageFamily& family = published_family(lite.family);
  const std::unique_ptr<const diffusion::LatentModel> model = family.describe(open_checkpoint(folder / "folder")), second = model->second();
  std::map<std::string, TensorList> files;
  const auto put = [&](const std::string& file, const std::string& name, const Shape& shape) {
    files[file][name] = {.dtype = DType::bf16, .shape = shape};
  };
  for (const diffusion::LatentModel* member : {model.get(), second.get()})
    for (const diffusion::ComponentSpec& spec : member->components()) {
      TensorList official;
      for (const auto& [name, shape] : published_tensors(spec)) official[name] = {.dtype = DType::bf16, .shape = shape};
      const std::string file = spec.name == "decoder" || spec.name == "vqgan" ? "b" : "c";
      if (spec.role != Role::denoiser) {
        for (const auto& [name, info] : official)
          if (spec.name == "vqgan") put(file, "vae." + name, info.shape);
          else if (name == "text_projection.weight") put(file, "text_encoder.clip_g.text_projection", info.shape);
          else put(file, "text_encoder.clip_g.transformer." + name, info.shape);
        continue;
      }
      for (const NetworkPlace& place : family.files->places)
        if (place.slot->name == spec.name && place.prefix == "model.diffusion_model.")
          for (const StoredTensor& t : stored_tensors(std::make_shared<test::ListedSource>(official), std::string(place.prefix),
                                                      place.network->spellings[0].writing(official)))
            put(file, t.name, t.shape);
    }
  put("c", "text_encoder.clip_g.logit_scale", {});
  for (const auto& [file, tensors] : files) {
    std::vector<SafetensorsTensor> listed;
    uint64_t bytes = 0;
    for (const auto& [name, info] : tensors)
      listed.push_back({name, info.dtype, info.shape}), bytes += bytes_of(info.dtype, info.shape.numel());
    const std::string head = safetensors_head(listed, {});
    write_file(folder / (file + ".safetensors"), head);
    fs::resize_file(folder / (file + ".safetensors"), head.size() + bytes);
  }
  const fs::path b = folder / "b.safetensors", c = folder / "c.safetensors", assets = fs::path(HEARTH_SOURCE_DIR) / "assets";
  const auto expect_whole = [&](const fs::path& path, std::map<std::string, fs::path> components) {
    const Checkpoint checkpoint = open_checkpoint(path, {.assets = assets, .components = std::move(components)});
    EXPECT_EQ(checkpoint.published_name(), "Stable Cascade lite");
    EXPECT_EQ(checkpoint.notes(), std::vector<std::string>());
    const std::vector<ComponentCheck> checks = family.check(checkpoint, "");
    EXPECT_GE(checks.size(), 5u);
    for (const ComponentCheck& check : checks) EXPECT_EQ(check.problem, "") << check.component;
    EXPECT_NE(family.describe(checkpoint)->second(), nullptr);
  };
  expect_whole(b, {{"prior", c}, {"text_encoder", c}});
  expect_whole(c, {{"decoder", b}, {"vqgan", b}});
  const Checkpoint alone = open_checkpoint(b, {.assets = assets});
  EXPECT_EQ(test::message_of<WeightError>([&] { alone.tensors("text_encoder"); }, folder.path()),
            "FOLDER/b.safetensors: holds no text encoder, only decoder, VQGAN: give one with --text-encoder");
}

}  // namespace
}  // namespace hearth::models
