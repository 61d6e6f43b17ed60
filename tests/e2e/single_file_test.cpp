// One checkpoint in every layout (folder, single file, pickled, DDUF, shards) gives the same bits; hearth convert converts between all.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/files/json.h"
#include "e2e/checkpoint_copy.h"
#include "hearth/convert.h"
#include "hearth/hearth.h"
#include "support/complaint.h"
#include "support/torch_writer.h"
#include "weights/safetensors/safetensors.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;

const Request request{.prompt = "a cat", .negative_prompt = "rain", .width = 32, .height = 32, .steps = 3, .seed = 5};

// diffusers' from_single_file gives the folder's latents too (golden/make_single.py).
fs::path single(const std::string& checkpoint) { return golden_folder() / "single" / (checkpoint + ".safetensors"); }

Generation generated(const fs::path& path, const OpenOptions& options = {}) { return Model::open(path, options).generate(request); }

NamedTensors tensors_of(const fs::path& file, Backend& device) {
  NamedTensors tensors;
  const auto source = SafetensorsFile::open(file);
  for (const auto& [name, info] : source->list()) {
    if (info.dtype == DType::i64) continue;
    tensors[name] = copy_of(source->read(name, info.shape, device), info.dtype);
  }
  return tensors;
}

void save_config(const fs::path& from, const fs::path& to) { fs::copy(from, to, fs::copy_options::recursive); }

// A folder with configurations only.
fs::path configs_of(const TemporaryFolder& folder, const std::string& checkpoint) {
  const fs::path configs = folder / (checkpoint + "-configs");
  save_config(checkpoint_folder(checkpoint), configs);
  for (const auto& entry : fs::recursive_directory_iterator(configs)) fs::permissions(entry, fs::perms::owner_write, fs::perm_options::add);
  for (const char* file :
       {"unet/diffusion_pytorch_model.safetensors", "vae/diffusion_pytorch_model.safetensors", "text_encoder/model.safetensors"})
    fs::remove(configs / file);
  return configs;
}

TEST(SingleFile, generates_the_image_of_the_folder) {
  const TemporaryFolder folder;
  for (const char* checkpoint : {"pndm", "ddim_v"}) {
    SCOPED_TRACE(checkpoint);
    const Generation wanted = generated(checkpoint_folder(checkpoint)),
                     made = generated(single(checkpoint), {.config = configs_of(folder, checkpoint)});
    expect_same(made, wanted);
    EXPECT_EQ(made.warnings, wanted.warnings);
  }
}

TEST(SingleFile, pickled_or_without_text_model_or_with_unused_tensors) {
  const TemporaryFolder folder;
  CheckpointCopy copy("pndm");
  const fs::path configs = configs_of(folder, "pndm");
  const Generation wanted = generated(checkpoint_folder("pndm"));
  NamedTensors tensors = tensors_of(single("pndm"), copy.device());
  write_torch(folder / "model.ckpt", tensors);
  expect_same(generated(folder / "model.ckpt", {.config = configs}), wanted);

  NamedTensors old;
  for (const auto& [name, x] : tensors) {
    std::string changed = name;
    if (const size_t at = changed.find("text_model."); at != changed.npos) changed.erase(at, std::string("text_model.").size());
    old[changed] = x;
  }
  old["model_ema.decay"] = old["mystery"] = tensors.at("betas");
  write_safetensors(folder / "old.safetensors", old);
  const Generation made = generated(folder / "old.safetensors", {.config = configs});
  expect_same(made, wanted);
  EXPECT_NE(made.report.find("mystery"), std::string::npos) << made.report;
}

// Files of Stable Diffusion 2 have one layer more than the configuration, a projection and a scale.
TEST(SingleFile, the_last_layer_of_an_open_clip_encoder_is_ignored) {
  const TemporaryFolder folder;
  CheckpointCopy copy("ddim_v");
  NamedTensors tensors = tensors_of(single("ddim_v"), copy.device());
  for (const auto& [name, x] : NamedTensors(tensors))
    if (const size_t at = name.find("resblocks.2."); at != name.npos) {
      std::string next = name;
      tensors[next.replace(at, 12, "resblocks.3.")] = x;
    }
  tensors["cond_stage_model.model.text_projection"] = Tensor::zeros(copy.device(), {20, 20});
  write_safetensors(folder / "model.safetensors", tensors);
  const OpenOptions options{.config = configs_of(folder, "ddim_v")};
  expect_same(generated(folder / "model.safetensors", options), generated(checkpoint_folder("ddim_v")));
  // Two more layers are an error.
  for (const auto& [name, x] : NamedTensors(tensors))
    if (const size_t at = name.find("resblocks.2."); at != name.npos) {
      std::string next = name;
      tensors[next.replace(at, 12, "resblocks.4.")] = x;
    }
  write_safetensors(folder / "model.safetensors", tensors);
  const std::string message = complaint_of([&] { Model::open(folder / "model.safetensors", options); });
  EXPECT_NE(message.find("unread: 'text_model.encoder.layers.4."), std::string::npos) << message;
}

TEST(SingleFile, components_may_come_from_any_layout) {
  const TemporaryFolder folder;
  CheckpointCopy copy("pndm");
  const Generation wanted = generated(checkpoint_folder("pndm"));
  const NamedTensors all = tensors_of(single("pndm"), copy.device());
  NamedTensors unet, vae, text;
  for (const auto& [name, x] : all) {
    if (name.starts_with("model.")) unet[name.substr(22)] = x;
    if (name.starts_with("first_stage_model.")) vae["vae." + name.substr(18)] = x;
    if (name.starts_with("cond_stage_model.")) text[name.substr(29)] = x;
  }
  write_safetensors(folder / "unet.safetensors", unet);
  write_safetensors(folder / "vae.safetensors", vae);
  write_safetensors(folder / "text.safetensors", text);
  const fs::path configs = configs_of(folder, "pndm");
  expect_same(generated(folder / "unet.safetensors",
                        {.components = {{"vae", {folder / "vae.safetensors"}}, {"text_encoder", {folder / "text.safetensors"}}},
                         .config = configs}),
              wanted);
  // From a whole single file, a component's folder and a whole folder.
  expect_same(generated(folder / "unet.safetensors",
                        {.components = {{"vae", {single("pndm")}}, {"text_encoder", {checkpoint_folder("pndm") / "text_encoder"}}},
                         .config = configs}),
              wanted);
  expect_same(
      generated(folder / "vae.safetensors",
                {.components = {{"unet", {checkpoint_folder("pndm")}}, {"text_encoder", {checkpoint_folder("pndm")}}}, .config = configs}),
      wanted);
  // Replaces a folder's own component.
  copy.edit_tensors("vae", [](NamedTensors& tensors) {
    for (auto& [name, x] : tensors) x = copy_of(Tensor::zeros(x.backend(), x.shape()), x.dtype());
  });
  EXPECT_NE(generated(copy.path()).images[0].rgb, wanted.images[0].rgb);
  expect_same(generated(copy.path(), {.components = {{"vae", {single("pndm")}}}}), wanted);
  EXPECT_EQ(complaint_of([&] { Model::open(folder / "unet.safetensors", {.config = configs}); }),
            "WeightError: " + (folder / "unet.safetensors").string() + ": holds no text encoder, only UNet: give one with --text-encoder");
  EXPECT_EQ(complaint_of([&] {
              Model::open(checkpoint_folder("pndm"), {.components = {{"text", {}}}});
            }),
            "UsageError: open: unknown component 'text', expected one of transformer, vae, text_encoder, text_encoder_2, "
            "image_encoder, image_embedder, unet, text_encoder_3, prior, decoder, vqgan");
}

TEST(SingleFile, ema_weights) {
  const TemporaryFolder folder;
  CheckpointCopy copy("pndm");
  NamedTensors tensors = tensors_of(single("pndm"), copy.device());
  for (const auto& [name, x] : NamedTensors(tensors)) {
    if (!name.starts_with("model.diffusion_model.")) continue;
    std::string flat = name.substr(6);
    std::erase(flat, '.');
    tensors["model_ema." + flat] = x;
    tensors[name] = copy_of(Tensor::zeros(x.backend(), x.shape()), x.dtype());
  }
  write_safetensors(folder / "model.safetensors", tensors);
  const fs::path configs = configs_of(folder, "pndm");
  expect_same(generated(folder / "model.safetensors", {.config = configs, .ema = true}), generated(checkpoint_folder("pndm")));
  EXPECT_NE(generated(folder / "model.safetensors", {.config = configs}).latents.values,
            generated(checkpoint_folder("pndm")).latents.values);
}

NamedBytes files_of(const fs::path& root) {
  NamedBytes files;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.is_regular_file()) files.emplace_back(entry.path().lexically_relative(root).string(), read_file(entry.path()));
  std::ranges::sort(files);
  return files;
}

TEST(SingleFile, dduf_generates_the_image_of_the_folder) {
  const TemporaryFolder folder;
  CheckpointCopy copy("ddim_v");
  const Generation wanted = generated(copy.path());
  write_file(folder / "model.dduf", zipped(files_of(copy.path())));
  expect_same(generated(folder / "model.dduf"), wanted);
  EXPECT_TRUE(inspect(folder / "model.dduf").usable) << inspect(folder / "model.dduf").text;
  copy.shard("unet", 3);
  write_file(folder / "shards.dduf", zipped(files_of(copy.path())));
  expect_same(generated(folder / "shards.dduf"), wanted);

  NamedBytes files = files_of(copy.path());
  std::erase_if(files, [](const auto& file) { return file.first.find("00002-of-00003") != file.first.npos; });
  write_file(folder / "lacking.dduf", zipped(files));
  const std::string told = complaint_of([&] { Model::open(folder / "lacking.dduf"); });
  EXPECT_NE(told.find("unet/diffusion_pytorch_model.safetensors.index.json: 1 of 3 shards are missing"), std::string::npos) << told;
  write_file(folder / "none.dduf", "PK");
  EXPECT_EQ(complaint_of([&] { Model::open(folder / "none.dduf"); }),
            "IoError: " + (folder / "none.dduf").string() + ": is not a zip archive, expected a DDUF file");
  write_file(folder / "deep.dduf", zipped({{"model_index.json", "{}"}, {"a/b/c.json", "{}"}}));
  EXPECT_EQ(complaint_of([&] { Model::open(folder / "deep.dduf"); }),
            "IoError: " + (folder / "deep.dduf").string() + ": member 'a/b/c.json' is in nested folders");
}

TEST(Convert, every_layout_from_every_layout_is_byte_identical) {
  const TemporaryFolder folder;
  for (const char* checkpoint : {"pndm", "ddim_v", "euler", "dpmpp", "ancestral"}) {
    SCOPED_TRACE(checkpoint);
    const std::string name = checkpoint;
    const fs::path configs = configs_of(folder, name), first = folder / (name + "-first"), again = folder / (name + "-again");
    const fs::path file = folder / (name + ".safetensors"), file_again = folder / (name + "-again.safetensors");
    convert({.model = checkpoint_folder(name), .output = first});
    const ConvertReport to_file = convert({.model = first, .output = file, .layout = "single"});
    const ConvertReport back = convert({.model = file, .config = configs, .output = again});
    convert({.model = again, .output = file_again, .layout = "single"});
    EXPECT_EQ(to_file.parameters, back.parameters + (name == "ddim_v" ? 1 : 0));  // the marker tensor "ztsnr"
    const NamedBytes a = files_of(first), b = files_of(again);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i] == b[i], true) << a[i].first << " " << b[i].first;
    EXPECT_TRUE(read_file(file) == read_file(file_again));
    convert({.model = file, .config = configs, .output = folder / (name + ".dduf"), .layout = "dduf"});
    convert({.model = folder / (name + ".dduf"), .output = file_again, .layout = "single"});
    EXPECT_TRUE(read_file(file) == read_file(file_again)) << "by way of DDUF";
    expect_same(generated(folder / (name + ".dduf")), generated(checkpoint_folder(name)));
    expect_same(generated(again), generated(checkpoint_folder(name)));
    expect_same(generated(file, {.config = configs}), generated(checkpoint_folder(name)));
  }
}

// Shards as in diffusers: tensors go into a file until the next one would not fit; one that is too large gets its own file.
TEST(Convert, shards_and_their_index) {
  const TemporaryFolder folder;
  CheckpointCopy copy("pndm");
  constexpr int64_t most = 5000;
  const ConvertReport whole = convert({.model = checkpoint_folder("pndm"), .output = folder / "whole"});
  const ConvertReport report = convert({.model = checkpoint_folder("pndm"), .output = folder / "shards", .max_shard_size = most});
  EXPECT_EQ(report.tensors, whole.tensors);
  EXPECT_EQ(report.bytes, whole.bytes);
  const fs::path unet = folder / "shards/unet";
  const nlohmann::json index = load_json(unet / "diffusion_pytorch_model.safetensors.index.json");
  const auto all = SafetensorsFile::open(copy.weights("unet"))->list();
  EXPECT_EQ(index["weight_map"].size(), all.size());
  std::string before;
  std::map<std::string, int64_t> sizes;  // file → bytes
  int64_t filled = 0, total = 0, alone = 0;
  for (const auto& [name, info] : all) {  // in order of names
    const std::string file = index["weight_map"][name];
    const auto bytes = int64_t(bytes_of(info.dtype, info.shape.numel()));
    total += bytes, sizes[file] += bytes;
    if (bytes > most) {
      ++alone;
      EXPECT_EQ(sizes[file], bytes) << name;
      continue;
    }
    EXPECT_TRUE(file == before || before.empty() || filled + bytes > most) << name;
    filled = file == before ? filled + bytes : bytes;
    EXPECT_LE(filled, most) << name;
    before = file;
  }
  EXPECT_TRUE(sizes.contains(fmt::format("diffusion_pytorch_model-{0:05}-of-{0:05}.safetensors", sizes.size())));
  EXPECT_EQ(index["metadata"]["total_size"], total);
  EXPECT_GT(alone, 0);
  EXPECT_TRUE(fs::exists(folder / "shards/text_encoder/model.safetensors.index.json"));
  expect_same(generated(folder / "shards"), generated(checkpoint_folder("pndm")));

  convert({.model = folder / "shards", .output = folder / "back.safetensors", .layout = "single"});
  convert({.model = folder / "whole", .output = folder / "single.safetensors", .layout = "single"});
  EXPECT_TRUE(read_file(folder / "back.safetensors") == read_file(folder / "single.safetensors"));
  convert({.model = folder / "shards", .output = folder / "shards.dduf", .layout = "dduf", .max_shard_size = most});
  expect_same(generated(folder / "shards.dduf"), generated(checkpoint_folder("pndm")));
}

TEST(Convert, writes_the_names_of_the_original) {
  const TemporaryFolder folder;
  CheckpointCopy copy("pndm");
  for (const char* checkpoint : {"pndm", "ddim_v"}) {
    SCOPED_TRACE(checkpoint);
    const fs::path file = folder / "single.safetensors";
    convert({.model = checkpoint_folder(checkpoint), .output = file, .layout = "single"});
    const NamedTensors made = tensors_of(file, copy.device());
    NamedTensors wanted = tensors_of(single(checkpoint), copy.device());
    for (const char* leftover : {"betas", "alphas_cumprod", "cond_stage_model.model.logit_scale"}) wanted.erase(leftover);
    if (made.contains("ztsnr")) wanted["ztsnr"] = Tensor::zeros(copy.device(), {1});  // of ddim_v's scheduler
    EXPECT_EQ(made.contains("ztsnr"), checkpoint == std::string("ddim_v"));
    ASSERT_EQ(made.size(), wanted.size());
    for (const auto& [name, x] : wanted) {
      ASSERT_TRUE(made.contains(name)) << name;
      EXPECT_EQ(made.at(name).shape(), x.shape()) << name;
      EXPECT_EQ(made.at(name).dtype(), x.dtype()) << name;
      EXPECT_EQ(made.at(name).to_vector(), x.to_vector()) << name;
    }
  }
}

TEST(Convert, to_another_dtype) {
  const TemporaryFolder folder;
  CheckpointCopy copy("ancestral");
  copy.edit_tensors("vae", [](NamedTensors& tensors) {
    tensors.at("decoder.conv_in.bias") =
        Tensor::filled(tensors.at("decoder.conv_in.bias").backend(), tensors.at("decoder.conv_in.bias").shape(), 70000.f);
  });
  const ConvertReport report = convert({.model = copy.path(), .output = folder / "half", .type = "f16"});
  EXPECT_EQ(report.types.at("f32"), 1);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_EQ(report.notes[0], "1 tensors have values too large for f16 and keep their dtype: decoder.conv_in.bias");
  const NamedTensors wide = tensors_of(copy.weights("unet"), copy.device()),
                     half = tensors_of(folder / "half/unet/diffusion_pytorch_model.safetensors", copy.device());
  ASSERT_EQ(wide.size(), half.size());
  for (const auto& [name, x] : wide) EXPECT_EQ(half.at(name).to_vector(), copy_of(x, DType::f16).to_vector()) << name;
  convert({.model = copy.path(), .output = folder / "b.safetensors", .layout = "single", .type = "bf16"});
  for (const auto& [name, info] : SafetensorsFile::open(folder / "b.safetensors")->list()) EXPECT_EQ(info.dtype, DType::bf16) << name;
}

TEST(Convert, failures_leave_no_partial_output) {
  const TemporaryFolder folder;
  CheckpointCopy copy("pndm");
  const auto only = [&] { return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()); };
  fs::create_directory(folder / "full");
  write_file(folder / "full/x", "");
  EXPECT_EQ(complaint_of([&] { convert({.model = copy.path(), .output = folder / "full"}); }),
            "UsageError: convert: " + (folder / "full").string() + " exists, expected a new name or an empty folder");
  EXPECT_EQ(complaint_of([&] { convert({.model = copy.path(), .output = folder / "x", .layout = "grid"}); }),
            "UsageError: convert: unknown layout 'grid', expected diffusers, single, dduf or gguf");
  EXPECT_EQ(complaint_of([&] { convert({.model = copy.path(), .output = folder / "x", .type = "q4_0"}); }),
            "UsageError: convert: unknown type 'q4_0', expected f32, f16 or bf16");
  fs::remove(copy.weights("vae"));
  EXPECT_NE(complaint_of([&] { convert({.model = copy.path(), .output = folder / "x"}); }).find("vae"), std::string::npos);
  EXPECT_NE(complaint_of([&] { convert({.model = copy.path(), .output = folder / "x.safetensors", .layout = "single"}); }).find("vae"),
            std::string::npos);
  EXPECT_EQ(only(), 1);
}

}  // namespace
}  // namespace hearth::test
