// Qwen-Image and -Edit with a text encoder in llama.cpp's GGUF files, compared with diffusers (golden/make_qwen_image*.py).
#include <gtest/gtest.h>

#include <fmt/ranges.h>

#include "core/files/file.h"
#include "core/files/json.h"
#include "e2e/editing_cases_test.h"
#include "hearth/convert.h"
#include "hearth/prompt.h"
#include "hearth/quantize.h"
#include "support/complaint.h"
#include "support/tolerance.h"
#include "weights/gguf/gguf_writer.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct QwenImageGguf : testing::Test {
  EditingCases texts{"qwen_image"}, edits{"qwen_image_edit"};
  TemporaryFolder folder;

  NamedTensors tensors_of(const fs::path& checkpoint, const std::string& prefix) {
    const auto file = SafetensorsFile::open(checkpoint / "text_encoder" / "model.safetensors");
    NamedTensors all;
    for (const auto& [name, info] : file->list())
      if (name.starts_with(prefix)) all[name] = copy_of(file->read(name, info.shape, *texts.device), DType::f32);
    return all;
  }

  // The language model of a checkpoint, as llama.cpp's users have it: "qwen2vl".
  fs::path text_of(const fs::path& checkpoint, const std::string& type = "f32") {
    const fs::path model = folder / ("text-" + type), file = folder / ("text-" + type + ".gguf");
    fs::create_directory(model);
    for (const auto& entry : fs::directory_iterator(checkpoint / "tokenizer")) fs::copy(entry.path(), model / entry.path().filename());
    Json config = load_json(checkpoint / "text_encoder" / "config.json").at("text_config");
    config["architectures"] = {"Qwen2ForCausalLM"};
    write_file(model / "config.json", config.dump());
    NamedTensors tensors = tensors_of(checkpoint, "model.");
    tensors.merge(tensors_of(checkpoint, "lm_head."));
    write_safetensors(model / "model.safetensors", tensors);
    quantize({.model = model.string(), .output = file.string(), .type = type, .threads = 2});
    return file;
  }

  // Its vision tower, under the keys and names of llama.cpp's converter.
  fs::path tower_of(const fs::path& checkpoint, const std::string& projector = "qwen2.5vl_merger", const std::string& lacking = "") {
    const Json config = load_json(checkpoint / "text_encoder" / "config.json").at("vision_config");
    GgufValues values;
    values.text("general.architecture", "clip"), values.text("general.type", "mmproj");
    values.boolean("clip.has_vision_encoder", true), values.text("clip.projector_type", projector), values.boolean("clip.use_silu", true);
    for (const auto& [key, from] : {std::pair("projection_dim", "out_hidden_size"),
                                    {"patch_size", "patch_size"},
                                    {"embedding_length", "hidden_size"},
                                    {"feed_forward_length", "intermediate_size"},
                                    {"block_count", "depth"},
                                    {"attention.head_count", "num_heads"}})
      values.integer(fmt::format("clip.vision.{}", key), config.at(from).get<int64_t>());
    values.integer("clip.vision.image_size", 560), values.integer("clip.vision.n_wa_pattern", 2);
    values.f32("clip.vision.attention.layer_norm_epsilon", 1e-6f);
    const std::vector<float> mean{0.48f, 0.46f, 0.41f};
    values.f32s("clip.vision.image_mean", mean), values.f32s("clip.vision.image_std", mean);

    std::vector<GgufTensor> tensors;
    std::vector<std::vector<float>> data;
    const auto add = [&](const std::string& name, const Shape& shape, std::vector<float> numbers) {
      if (name == lacking) return;
      tensors.push_back({name, DType::f32, shape}), data.push_back(std::move(numbers));
    };
    const std::map<std::string, std::string> ends{{"norm1", "ln1"},          {"norm2", "ln2"},
                                                  {"attn.proj", "attn_out"}, {"mlp.gate_proj", "ffn_gate"},
                                                  {"mlp.up_proj", "ffn_up"}, {"mlp.down_proj", "ffn_down"}};
    for (const auto& [name, x] : tensors_of(checkpoint, "visual.")) {
      const std::string own = name.substr(7), part = own.substr(own.rfind('.')), stem = own.substr(0, own.rfind('.'));
      const std::vector<float> numbers = x.to_vector();
      if (stem == "patch_embed.proj") {  // [C, channels, 2, p, p]
        const auto plane = size_t(x.size(3) * x.size(4));
        for (size_t frame = 0; frame < 2; ++frame) {
          std::vector<float> half;
          for (size_t at = frame * plane; at < numbers.size(); at += 2 * plane)
            half.insert(half.end(), numbers.begin() + std::ptrdiff_t(at), numbers.begin() + std::ptrdiff_t(at + plane));
          add(frame ? "v.patch_embd.weight.1" : "v.patch_embd.weight", {x.size(0), x.size(1), x.size(3), x.size(4)}, std::move(half));
        }
      } else if (stem == "merger.ln_q") {
        add("v.post_ln" + part, x.shape(), numbers);
      } else if (stem.starts_with("merger.mlp.")) {
        add("mm." + stem.substr(11) + part, x.shape(), numbers);
      } else {  // blocks.I.END
        const size_t dot = stem.find('.', 7);
        const std::string block = "v.blk." + stem.substr(7, dot - 7) + ".", end = stem.substr(dot + 1);
        if (end != "attn.qkv") {
          add(block + ends.at(end) + part, x.shape(), numbers);
          continue;
        }
        const size_t third = numbers.size() / 3;
        for (size_t i = 0; i < 3; ++i) {
          std::vector<int64_t> shape(x.shape().begin(), x.shape().end());
          shape[0] /= 3;
          add(block + fmt::format("attn_{}", "qkv"[i]) + part, Shape(std::span<const int64_t>(shape)),
              {numbers.begin() + std::ptrdiff_t(i * third), numbers.begin() + std::ptrdiff_t((i + 1) * third)});
        }
      }
    }
    const fs::path file = folder / "mmproj.gguf";
    write_gguf(file, values, tensors, [&](size_t i, const WriteBytes& write) { write(std::as_bytes(std::span(data[i]))); });
    return file;
  }

  static OpenOptions with(const std::map<std::string, fs::path>& paths) {
    OpenOptions options{.precision = Precision::f32};
    for (const auto& [name, path] : paths) options.components[name].path = path;
    return options;
  }
};

// The file brings its configuration and its tokenizer. Observed: 1.8e-6, also in f16, which holds these weights exactly.
TEST_F(QwenImageGguf, prompts_are_encoded_as_in_diffusers) {
  const Json& c = texts.cases.at("negative");
  const fs::path official = texts.folder_of(c), text = text_of(official);
  EXPECT_NE(inspect(text).text.find(": qwen2vl\n"), std::string::npos) << inspect(text).text;
  const Request r = texts.request_of(c);
  const auto wanted = texts.golden("negative").to_vector();
  EXPECT_LE(relative_error(Model::open(official, with({{"text_encoder", text}})).generate(r).latents.values, wanted), 1e-5);
  EXPECT_LE(relative_error(Model::open(official, with({{"text_encoder", text_of(official, "f16")}})).generate(r).latents.values, wanted),
            1e-5);

  const fs::path configs = folder / "configs";
  fs::copy(official, configs, fs::copy_options::recursive);
  fs::remove_all(configs / "tokenizer");
  convert({.model = official, .output = folder / "all.safetensors", .layout = "single"});
  OpenOptions bare = with({{"text_encoder", text}});
  bare.config = configs;
  EXPECT_LE(relative_error(Model::open(folder / "all.safetensors", bare).generate(r).latents.values, wanted), 1e-5);
}

// The vision tower is in a second file. Observed: 9.4e-6.
TEST_F(QwenImageGguf, prompts_with_images_are_encoded_as_in_diffusers) {
  for (const char* name : {"edit", "two"}) {
    SCOPED_TRACE(name);
    const Json& c = edits.cases.at(name);
    const fs::path official = edits.folder_of(c);
    const OpenOptions options = with({{"text_encoder", text_of(official)}, {"image_encoder", tower_of(official)}});
    EXPECT_LE(relative_error(Model::open(official, options).generate(edits.request_of(c)).latents.values, edits.golden(name).to_vector()),
              5e-5);
    fs::remove_all(folder / "text-f32");
  }
}

TEST_F(QwenImageGguf, memory_is_planned_before_the_run) {
  const Json& c = edits.cases.at("one");
  const fs::path official = edits.folder_of(c);
  OpenOptions options = with({{"text_encoder", text_of(official)}, {"image_encoder", tower_of(official)}});
  options.memory_limit = 2'000'000'000;
  const Json memory = Json::parse(Model::open(official, options).generate(edits.request_of(c)).report).at("memory");
  EXPECT_EQ(memory.at("measured").at("peak"), memory.at("planned").at("peak"));
}

TEST_F(QwenImageGguf, what_does_not_fit_is_refused_in_one_line) {
  const fs::path edit = edits.folder_of(edits.cases.at("one")), plain = texts.folder_of(texts.cases.at("negative"));
  const fs::path text = text_of(edit);
  const auto expect = [&](const fs::path& model, const std::map<std::string, fs::path>& paths, const std::string& says) {
    SCOPED_TRACE(says);
    const std::string said = complaint_of([&] { Model::open(model, with(paths)); });
    EXPECT_NE(said.find(says), said.npos) << said;
    EXPECT_EQ(said.find('\n'), said.npos) << said;
  };
  expect(edit, {{"text_encoder", text}},
         "a text encoder in a GGUF file has no vision tower, which a model that edits needs; give one with --image-encoder");
  const fs::path tower = tower_of(edit);
  expect(edit, {{"image_encoder", tower}}, "the text encoder has a vision tower, expected no --image-encoder");
  expect(plain, {{"image_encoder", tower}}, "QwenImagePipeline does not look at images, expected no --image-encoder");
  expect(plain, {{"text_encoder", tower}}, "mmproj.gguf");
  fs::resize_file(tower, fs::file_size(tower) - 32);
  expect(edit, {{"text_encoder", text}, {"image_encoder", tower}}, "mmproj.gguf");
  expect(edit, {{"text_encoder", text}, {"image_encoder", tower_of(edit, "qwen2vl_merger")}},
         "'clip.projector_type' is \"qwen2vl_merger\", expected \"qwen2.5vl_merger\"");
  expect(edit, {{"text_encoder", text}, {"image_encoder", tower_of(edit, "qwen2.5vl_merger", "v.blk.1.attn_k.bias")}},
         "has no tensor 'v.blk.1.attn_k.bias' of 1 axes");
  expect(edit, {{"text_encoder", text}, {"image_encoder", tower_of(edit, "qwen2.5vl_merger", "v.blk.1.ffn_up.bias")}},
         "blocks.1.mlp.up_proj.bias");
}

}  // namespace
}  // namespace hearth::test
