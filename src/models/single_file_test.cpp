// Single files as checkpoints: which components are found, which configuration is selected, what is rejected.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/files/json.h"
#include "models/checkpoints.h"
#include "models/clip/files.h"
#include "models/registry.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "weights/layout/key_lists_test.h"
#include "weights/safetensors/safetensors_types.h"

namespace hearth::models {
namespace {

namespace fs = std::filesystem;
using test::key_list, test::message_of;

const fs::path assets = fs::path(HEARTH_SOURCE_DIR) / "assets";

const std::vector<KnownFamily>& families() {
  static const std::vector<KnownFamily> all = image_files();
  return all;
}

// A safetensors file with these tensors, whose data are zeros that take no disk space.
void hollow(const fs::path& file, const TensorList& tensors, const Metadata& metadata = {}) {
  std::vector<SafetensorsTensor> listed;
  uint64_t bytes = 0;
  for (const auto& [name, info] : tensors) {
    listed.push_back({name, info.dtype, info.shape});
    bytes += bytes_of(info.dtype, info.shape.numel());
  }
  const std::string head = safetensors_head(listed, metadata);
  write_file(file, head);
  fs::resize_file(file, head.size() + bytes);
}

class SingleFileTest : public testing::Test {
 protected:
  test::TemporaryFolder folder;

  SingleFile open(const TensorList& tensors, const Metadata& metadata = {}, SingleFileOptions options = {.families = families()}) {
    hollow(folder / "model.safetensors", tensors, metadata);
    return open_single_file(folder / "model.safetensors", options);
  }
  template <class E> std::string refusal(const TensorList& tensors, SingleFileOptions options = {.families = families()}) {
    return message_of<E>([&] { open(tensors, {}, options); }, folder.path());
  }
  static const TensorSource& part(const SingleFile& file, std::string_view name) {
    const auto found = std::ranges::find_if(file.parts, [&](const SingleFile::FoundComponent& p) { return p.slots.at(0)->name == name; });
    return *found->component.tensors;
  }
  static std::string chosen(const SingleFile& file) {
    std::string text = file.chosen->configuration.folder.filename();
    for (const auto& [key, value] : file.chosen->patch) text += fmt::format(" {}={}", key, value);
    return text;
  }
};

TEST_F(SingleFileTest, published_files_are_whole) {
  for (const auto& [list, expected] : std::map<std::string, std::string>{{"sd15-single-file", "sd15: text_encoder unet vae"},
                                                                         {"sd21-single-file", "sd21-base: text_encoder unet vae"},
                                                                         {"sdxl-single-file", "sdxl: text_encoder text_encoder_2 unet vae"},
                                                                         {"refiner-single-file", "sdxl-refiner: text_encoder_2 unet vae"},
                                                                         {"sd3-medium-sai", "sd3-medium: transformer"},
                                                                         {"sd35-medium-sai", "sd35-medium: transformer"},
                                                                         {"sd35-large-sai", "sd35-large: transformer"}}) {
    const SingleFile file = open(key_list(list, DType::f16));
    std::string text = file.chosen->configuration.folder.filename().string() + ":";
    std::set<std::string> names;
    for (const SingleFile::FoundComponent& part : file.parts) names.emplace(part.slots.at(0)->name);
    for (const std::string& name : names) text += " " + name;
    EXPECT_EQ(text, expected);
    EXPECT_EQ(file.chosen->patch.size(), 0u);
    EXPECT_EQ(file.unknown.size(), 0u);
  }
}

TEST_F(SingleFileTest, markers_and_metadata_choose_the_scheduler) {
  TensorList sd21 = key_list("sd21-single-file", DType::f16), sdxl = key_list("sdxl-single-file", DType::f16);
  EXPECT_EQ(chosen(open(sd21, {{"modelspec.prediction_type", "v"}})), "sd21");
  EXPECT_EQ(chosen(open(sd21, {{"modelspec.prediction_type", "epsilon"}})), "sd21-base");
  EXPECT_EQ(chosen(open(sdxl, {{"modelspec.prediction_type", "v"}})), "sdxl prediction_type=\"v_prediction\"");
  const auto with = [&](std::initializer_list<const char*> markers) {
    TensorList tensors = sdxl;
    for (const char* marker : markers) tensors[marker] = {.dtype = DType::f32, .shape = {}};
    return chosen(open(tensors));
  };
  EXPECT_EQ(with({"v_pred"}), "sdxl prediction_type=\"v_prediction\"");
  EXPECT_EQ(with({"v_pred", "ztsnr"}), "sdxl prediction_type=\"v_prediction\" rescale_betas_zero_snr=true");
  EXPECT_EQ(with({"edm_mean", "edm_std"}), "playground-v2.5");
  EXPECT_EQ(with({"edm_vpred.sigma_max", "edm_vpred.sigma_min"}), "cosxl sigma_max=0.0 sigma_min=0.0");
  sdxl.at("model.diffusion_model.input_blocks.0.0.weight").shape[1] = 8;
  EXPECT_EQ(with({}), "sdxl-pix2pix");
  EXPECT_EQ(with({"edm_vpred.sigma_max", "edm_vpred.sigma_min"}), "cosxl-edit sigma_max=0.0 sigma_min=0.0");
}

// Stable Diffusion 2 with v-prediction is recognized by the standard deviation of one bias, 0.09 and more.
TEST_F(SingleFileTest, a_bias_tells_v_prediction) {
  const std::string bias = "model.diffusion_model.output_blocks.11.1.transformer_blocks.0.norm1.bias";
  for (const auto& [size, expected] : {std::pair(0.08f, "sd21-base"), std::pair(0.1f, "sd21")}) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const TensorList tensors = key_list("sd21-single-file", dtype);
      hollow(folder / "v.safetensors", tensors);
      const auto file = SafetensorsFile::open(folder / "v.safetensors");
      const uint64_t offset = uint64_t(file->stored_bytes(bias).data() - file->stored_bytes(file->list().begin()->first).data());
      const uint64_t first = fs::file_size(folder / "v.safetensors") - [&] {
        uint64_t bytes = 0;
        for (const auto& [name, info] : tensors) bytes += bytes_of(info.dtype, info.shape.numel());
        return bytes;
      }();
      std::fstream out(folder / "v.safetensors", std::ios::binary | std::ios::in | std::ios::out);
      out.seekp(std::streamoff(first + offset));
      for (int64_t i = 0; i < tensors.at(bias).shape[0]; ++i) {
        const float value = i % 2 ? size : -size;
        const uint16_t half = dtype == DType::f16 ? f32_to_f16(value) : f32_to_bf16(value);
        if (dtype == DType::f32) out.write(reinterpret_cast<const char*>(&value), 4);
        else out.write(reinterpret_cast<const char*>(&half), 2);
      }
      out.close();
      EXPECT_EQ(chosen(open_single_file(folder / "v.safetensors", {.families = families()})), expected) << name_of(dtype);
    }
  }
}

TEST_F(SingleFileTest, what_is_missing_or_unknown_is_told) {
  TensorList sd15 = key_list("sd15-single-file", DType::f16);
  for (const char* leftover : {"betas", "alphas_cumprod", "sqrt_one_minus_alphas_cumprod", "posterior_mean_coef1", "model_ema.decay"})
    sd15[leftover] = {.dtype = DType::f32, .shape = {1000}};
  sd15["embedding_manager.x"] = {.dtype = DType::f32, .shape = {2}};
  EXPECT_EQ(open(sd15).unknown, std::vector<std::string>{"embedding_manager.x"});

  TensorList odd = sd15;
  odd["model.diffusion_model.input_blocks.0.0.weight"].shape[1] = 6;
  EXPECT_EQ(refusal<UnsupportedError>(odd),
            "FOLDER/model.safetensors: its UNet (channels 320, 640, 1280, 1280; context 768; 6 in, 4 out) matches no built-in "
            "configuration; give one with --config DIR");
  EXPECT_FALSE(open(odd, {}, {.families = families(), .config = folder.path()}).chosen);
  EXPECT_EQ(refusal<UnsupportedError>({{"head.modulation", {}}, {"blocks.0.self_attn.q.weight", {}}, {"patch_embedding.weight", {}}}),
            "FOLDER/model.safetensors: cannot be run, because it holds Wan");
  EXPECT_EQ(refusal<UnsupportedError>({{"x", {.shape = {1}}}}),
            "FOLDER/model.safetensors: cannot be run, because it holds no network that hearth recognizes");
  std::erase_if(sd15, [](const auto& named) { return named.first.starts_with("model.diffusion_model."); });
  EXPECT_EQ(refusal<WeightError>(sd15),
            "FOLDER/model.safetensors: holds no transformer, UNet, prior or decoder, only VAE, text encoder: give one with "
            "--transformer, --unet, --prior or --decoder");
}

TEST_F(SingleFileTest, a_checkpoint_shows_it_as_a_folder) {
  const Checkpoint c = [&] {
    hollow(folder / "xl.safetensors", key_list("sdxl-single-file", DType::f16));
    return open_checkpoint(folder / "xl.safetensors", {.assets = assets});
  }();
  EXPECT_EQ(c.pipeline_class(), "StableDiffusionXLPipeline");
  EXPECT_EQ(c.tensors("unet")->list().size(), 1680u);
  EXPECT_EQ(c.tensors("vae")->list().at("encoder.mid_block.attentions.0.to_q.weight").shape, (Shape{512, 512}));
  EXPECT_EQ(c.tensors("text_encoder_2")->list().at("text_projection.weight").shape, (Shape{1280, 1280}));
  EXPECT_EQ(c.config("vae").number("scaling_factor"), 0.13025);
  EXPECT_EQ(c.component("scheduler").class_name, "EulerDiscreteScheduler");
  EXPECT_TRUE(c.text_file("tokenizer_2", "vocab.json"));
  EXPECT_FALSE(c.text_file("tokenizer_2", "tokenizer.json"));
  EXPECT_NE(c.text_file("tokenizer_2", "special_tokens_map.json")->find("\"pad_token\": \"!\""), std::string::npos);
  EXPECT_EQ(c.files("unet").files, std::vector<fs::path>{folder / "xl.safetensors"});
  EXPECT_EQ(c.shown(c.files("unet").files[0]), "xl.safetensors");
  EXPECT_EQ(c.found("xl.safetensors"), folder / "xl.safetensors");
  const fs::path before = fs::current_path();  // a name without a folder
  fs::current_path(folder.path());
  const Checkpoint here = open_checkpoint("xl.safetensors", {.assets = assets});
  EXPECT_EQ(here.shown("xl.safetensors"), "xl.safetensors");
  EXPECT_EQ(here.found("xl.safetensors"), fs::canonical(folder.path()) / "xl.safetensors");
  fs::current_path(before);
  EXPECT_NE(message_of<UsageError>([&] { c.tensors("unet", "fp16"); }).find("has no variants, but 'fp16' was requested"),
            std::string::npos);
}

TEST_F(SingleFileTest, components_may_come_from_elsewhere) {
  TensorList whole = key_list("sd15-single-file", DType::f16), unet, vae, text;
  for (const auto& [name, info] : whole) {
    if (name.starts_with("model."))
      unet[name.substr(std::string("model.diffusion_model.").size())] = info;  // no prefix, as split files have it
    else if (name.starts_with("first_stage_model.")) vae[name] = info;
    else text[name.substr(std::string("cond_stage_model.transformer.").size())] = info;
  }
  hollow(folder / "unet.safetensors", unet);
  hollow(folder / "vae.safetensors", vae);
  hollow(folder / "text.safetensors", text);
  const Checkpoint bare = open_checkpoint(folder / "unet.safetensors", {.assets = assets});
  EXPECT_EQ(message_of<WeightError>([&] { bare.tensors("vae"); }, folder.path()),
            "FOLDER/unet.safetensors: holds no VAE, only UNet: give one with --vae");
  EXPECT_EQ(message_of<WeightError>([&] { bare.files("text_encoder"); }, folder.path()),
            "FOLDER/unet.safetensors: holds no text encoder, only UNet: give one with --text-encoder");
  const Checkpoint all = open_checkpoint(
      folder / "unet.safetensors",
      {.assets = assets, .components = {{"vae", folder / "vae.safetensors"}, {"text_encoder", folder / "text.safetensors"}}});
  EXPECT_EQ(all.tensors("vae")->list().size(), 248u);
  EXPECT_EQ(all.tensors("text_encoder")->list().size(), 196u);
  EXPECT_EQ(all.shown(all.files("vae").files[0]), "vae.safetensors");
  EXPECT_EQ(message_of<WeightError>(
                [&] {
                  open_checkpoint(folder / "unet.safetensors", {.assets = assets, .components = {{"vae", folder / "text.safetensors"}}});
                },
                folder.path()),
            "FOLDER/text.safetensors: holds no VAE, only text encoder");
  EXPECT_EQ(message_of<UsageError>(
                [&] {
                  open_checkpoint(folder / "unet.safetensors",
                                  {.assets = assets, .components = {{"text_encoder_2", folder / "text.safetensors"}}});
                },
                folder.path()),
            "FOLDER/unet.safetensors: StableDiffusionPipeline has no second text encoder that could be replaced");
}

TEST_F(SingleFileTest, averages_stand_beside_the_weights) {
  TensorList tensors = key_list("sd15-single-file", DType::f16);
  EXPECT_EQ(refusal<WeightError>(tensors, {.families = families(), .averaged = true}),
            "FOLDER/model.safetensors: holds no averaged weights (model_ema.…)");
  for (const auto& [name, info] : TensorList(tensors)) {
    if (!name.starts_with("model.diffusion_model.")) continue;
    std::string flat = name.substr(6);
    std::erase(flat, '.');
    tensors["model_ema." + flat] = {.dtype = DType::f32, .shape = info.shape};
  }
  EXPECT_EQ(part(open(tensors), "unet").list().at("conv_in.bias").dtype, DType::f16);
  const SingleFile averaged = open(tensors, {}, {.families = families(), .averaged = true});
  EXPECT_EQ(part(averaged, "unet").list().at("conv_in.bias").dtype, DType::f32);
  tensors.erase("model_ema.diffusion_modelout0bias");
  EXPECT_EQ(refusal<WeightError>(tensors, {.families = families(), .averaged = true}),
            "FOLDER/model.safetensors: lacks 'model_ema.diffusion_modelout0bias' of the averaged weights");
}

// A folder of configurations with these components of SDXL's, and its model_index.json.
void sdxl_configurations(const fs::path& folder, std::initializer_list<const char*> components) {
  const fs::path published = fs::path(HEARTH_SOURCE_DIR) / "src/models/sdxl/configs/sdxl";
  fs::create_directories(folder);
  fs::copy_file(published / "model_index.json", folder / "model_index.json");
  for (const char* component : components) fs::copy(published / component, folder / component);
}

// The second encoder is padded with "!", which only its tokenizer's files state.
TEST_F(SingleFileTest, what_given_configurations_lack_is_the_published_ones) {
  TensorList sdxl = key_list("sdxl-single-file", DType::f16);
  sdxl["v_pred"] = {.dtype = DType::f32, .shape = {1}};
  hollow(folder / "xl.safetensors", sdxl);
  const auto opened = [&](const fs::path& config) {
    return open_checkpoint(folder / "xl.safetensors", {.assets = assets, .config = config});
  };
  const auto pads = [](const Checkpoint& c) {
    std::vector<int32_t> ids;
    for (const char* tokenizer : {"tokenizer", "tokenizer_2"})
      ids.push_back(text::ClipTokenizer::parse(clip::clip_files(c, tokenizer)).pad());
    return ids;
  };
  const std::string without_folder = (folder / "some").string() + " has no ";
  sdxl_configurations(folder / "some", {"unet", "vae", "text_encoder", "text_encoder_2", "scheduler"});
  nlohmann::json index = load_json(folder / "some/model_index.json");
  index["feature_extractor"] = {"transformers", "CLIPImageProcessor"};  // missing, and not needed
  write_file(folder / "some/model_index.json", index.dump());
  const Checkpoint some = opened(folder / "some");
  EXPECT_EQ(pads(some), (std::vector<int32_t>{49407, 0}));
  EXPECT_EQ(some.notes(),
            std::vector<std::string>{without_folder + "tokenizer, tokenizer_2: taken from the built-in configuration 'sdxl'"});
  EXPECT_EQ(some.config("scheduler").text("prediction_type"), "epsilon");  // the folder's value takes precedence over the file's

  // A tokenizer in the folder is used, completed by the shared vocabulary; a folder of weights alone changes nothing.
  fs::create_directories(folder / "some/tokenizer_2");
  write_file(folder / "some/tokenizer_2/tokenizer_config.json", "{}");
  fs::remove_all(folder / "some/scheduler");
  fs::remove(folder / "some/unet/config.json");
  write_file(folder / "some/unet/diffusion_pytorch_model.safetensors.index.json", "{}");
  const Checkpoint fewer = opened(folder / "some");
  EXPECT_EQ(pads(fewer), (std::vector<int32_t>{49407, 49407}));
  EXPECT_EQ(fewer.notes(),
            std::vector<std::string>{without_folder + "scheduler, tokenizer, unet: taken from the built-in configuration 'sdxl'"});
  EXPECT_EQ(fewer.config("scheduler").text("prediction_type"), "v_prediction");
  EXPECT_EQ(fewer.config("unet").integer("cross_attention_dim"), 2048);

  fs::create_directories(folder / "none");
  EXPECT_EQ(pads(opened(folder / "none")), (std::vector<int32_t>{49407, 0}));
}

TEST_F(SingleFileTest, what_nobody_says_is_told) {
  TensorList odd = key_list("sdxl-single-file", DType::f16);
  odd["model.diffusion_model.input_blocks.0.0.weight"].shape[1] = 6;
  hollow(folder / "odd.safetensors", odd);
  sdxl_configurations(folder / "some", {"unet", "text_encoder"});
  const Checkpoint c = open_checkpoint(folder / "odd.safetensors", {.assets = assets, .config = folder / "some"});
  EXPECT_EQ(c.notes(), std::vector<std::string>());
  EXPECT_EQ(message_of<IoError>([&] { c.text_file("tokenizer_2", "vocab.json"); }, folder.path()),
            "FOLDER/some/tokenizer_2/vocab.json: no such file, and no built-in configuration matches the sizes of the single file");
  EXPECT_EQ(message_of<IoError>([&] { c.config("vae"); }, folder.path()), "read FOLDER/some/vae/config.json: No such file or directory");
  EXPECT_EQ(message_of<IoError>([&] { open_checkpoint(folder / "odd.safetensors", {.assets = assets, .config = folder / "none"}); },
                                folder.path()),
            "FOLDER/none: has no model_index.json, which a diffusers folder needs");
}

}  // namespace
}  // namespace hearth::models
