#include "weights/checkpoint_files.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "support/golden.h"
#include "support/torch_writer.h"
#include "weights/safetensors/safetensors.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using test::message_of;

class CheckpointFilesTest : public testing::Test {
 protected:
  std::unique_ptr<Backend> device = test::make_test_backend("reference");
  test::TemporaryFolder folder;

  // A file whose tensors all hold `value`.
  void write(const std::string& file, std::initializer_list<const char*> names, float value = 1) {
    std::map<std::string, Tensor> tensors;
    for (const char* name : names) tensors[name] = Tensor::from(*device, {2}, std::vector<float>{value, value});
    write_safetensors(folder / file, tensors);
  }
  void write_index(const std::string& file, const std::map<std::string, std::string>& weight_map) {
    write_file(folder / file, nlohmann::json{{"metadata", {{"total_size", 0}}}, {"weight_map", weight_map}}.dump());
  }
  void write_three_shards() {
    write("model-00001-of-00003.safetensors", {"a", "d"}, 1);
    write("model-00002-of-00003.safetensors", {"b"}, 2);
    write("model-00003-of-00003.safetensors", {"c"}, 3);
    write_index("model.safetensors.index.json", {{"a", "model-00001-of-00003.safetensors"},
                                                 {"b", "model-00002-of-00003.safetensors"},
                                                 {"c", "model-00003-of-00003.safetensors"},
                                                 {"d", "model-00001-of-00003.safetensors"}});
  }
  float value(const std::string& variant, const std::string& name = "a") {
    return open_weight_files(choose_weight_files(folder.path(), variant))->read(name, {2}, *device).to_vector()[1];
  }
  std::string open_error() {
    return message_of<IoError>([&] { open_weight_files(choose_weight_files(folder.path(), "")); }, folder.path());
  }
  template <class E> std::string choice_error(const std::string& variant) {
    return message_of<E>([&] { choose_weight_files(folder.path(), variant); }, folder.path());
  }
};

TEST_F(CheckpointFilesTest, variants_stand_side_by_side) {
  write("diffusion_pytorch_model.safetensors", {"a"}, 1);
  write("diffusion_pytorch_model.fp16.safetensors", {"a"}, 2);
  write("diffusion_pytorch_model.non_ema.safetensors", {"a"}, 3);
  EXPECT_EQ(value(""), 1);
  EXPECT_EQ(value("fp16"), 2);
  EXPECT_EQ(value("non_ema"), 3);
  EXPECT_EQ(choice_error<IoError>("bf16"), "FOLDER: has no weights of the variant 'bf16', only full precision, 'fp16', 'non_ema'");
}

TEST_F(CheckpointFilesTest, pickled_weights_are_used_without_safetensors) {
  const auto write_pickled = [&](const std::string& file, float value, const std::string& name = "a") {
    test::write_torch(folder / file, {{name, Tensor::from(*device, {2}, std::vector<float>{value, value})}});
  };
  write_index("pytorch_model.bin.index.json", {{"a", "pytorch_model-00001-of-00002.bin"}, {"b", "pytorch_model-00002-of-00002.bin"}});
  write_pickled("pytorch_model-00001-of-00002.bin", 1);
  write_pickled("pytorch_model-00002-of-00002.bin", 2, "b");
  EXPECT_EQ(value("", "a"), 1);
  EXPECT_EQ(value("", "b"), 2);
  EXPECT_TRUE(open_weight_files(choose_weight_files(folder.path(), ""))->mapped("b"));
  write_pickled("pytorch_model.bin", 3);
  EXPECT_EQ(value(""), 3);  // transformers: the single file
  write_pickled("diffusion_pytorch_model.bin", 4);
  EXPECT_EQ(value(""), 4);
  write_index("diffusion_pytorch_model.bin.index.json", {{"a", "pytorch_model-00001-of-00002.bin"}});
  EXPECT_EQ(value(""), 1);  // diffusers: the index
  write("model-00001-of-00001.safetensors", {"a"}, 5);
  write_index("model.safetensors.index.json", {{"a", "model-00001-of-00001.safetensors"}});
  EXPECT_EQ(value(""), 5);
  write_pickled("pytorch_model.fp16.bin", 6);
  write_pickled("diffusion_pytorch_model.bf16.bin", 7);
  write_index("pytorch_model.bin.index.int8.json", {{"b", "pytorch_model-00002-of-00002.bin"}});
  write_index("diffusion_pytorch_model.bin.old.index.json", {{"b", "pytorch_model-00002-of-00002.bin"}});
  EXPECT_EQ(value("fp16"), 6);
  EXPECT_EQ(value("bf16"), 7);
  EXPECT_EQ(value("int8", "b"), 2);
  EXPECT_EQ(value("old", "b"), 2);
  write("model.fp16.safetensors", {"a"}, 8);
  EXPECT_EQ(value("fp16"), 8);
  EXPECT_EQ(find_weight_files(folder.path()).size(), 5u);
}

TEST_F(CheckpointFilesTest, a_pickled_shard_is_checked_like_any_other) {
  write_index("pytorch_model.bin.index.json", {{"a", "pytorch_model-00001-of-00001.bin"}});
  EXPECT_EQ(open_error(), "FOLDER/pytorch_model.bin.index.json: 1 of 1 shards are missing: pytorch_model-00001-of-00001.bin");
  test::write_torch(folder / "pytorch_model-00001-of-00001.bin", {{"b", Tensor::zeros(*device, {2})}});
  EXPECT_EQ(open_error(), "FOLDER/pytorch_model-00001-of-00001.bin: lacks 'a', which pytorch_model.bin.index.json lists for it");
  fs::remove(folder / "pytorch_model.bin.index.json");
  EXPECT_EQ(open_error(), "FOLDER: has pytorch_model-00001-of-00001.bin but no index that lists the shards of each model");
}

// The extension of a file does not always match its format.
TEST_F(CheckpointFilesTest, safetensors_under_another_ending) {
  write("model.ckpt", {"a"}, 2);
  EXPECT_EQ(open_tensor_file(folder / "model.ckpt")->read("a", {2}, *device).to_vector()[0], 2);
  test::write_torch(folder / "other.pth", {{"a", Tensor::zeros(*device, {2})}});
  EXPECT_EQ(open_tensor_file(folder / "other.pth")->list().size(), 1u);
  fs::rename(folder / "other.pth", folder / "other.safetensors");
  EXPECT_THROW(open_tensor_file(folder / "other.safetensors"), IoError);
  write_file(folder / "short.bin", "x");
  EXPECT_THROW(open_tensor_file(folder / "short.bin"), IoError);
  fs::copy_file(test::folder_of(__FILE__) / "gguf/golden/every.gguf", folder / "every.bin");
  EXPECT_EQ(open_tensor_file(folder / "every.bin")->list().size(), 25u);
}

TEST_F(CheckpointFilesTest, full_precision_is_never_replaced_by_a_variant) {
  write("model.fp16.safetensors", {"a"});
  write("model.bf16.safetensors", {"a"});
  EXPECT_EQ(choice_error<IoError>(""), "FOLDER: has no weights in full precision, only the variant 'bf16', 'fp16'");
}

TEST_F(CheckpointFilesTest, sharded_variants_are_found_in_both_spellings) {
  write("diffusion_pytorch_model.fp16-00001-of-00002.safetensors", {"a"}, 1);
  write("diffusion_pytorch_model.fp16-00002-of-00002.safetensors", {"b"}, 2);
  write_index("diffusion_pytorch_model.safetensors.index.fp16.json", {{"a", "diffusion_pytorch_model.fp16-00001-of-00002.safetensors"},
                                                                      {"b", "diffusion_pytorch_model.fp16-00002-of-00002.safetensors"}});
  write("diffusion_pytorch_model-00001-of-00002.bf16.safetensors", {"a"}, 3);
  write("diffusion_pytorch_model-00002-of-00002.bf16.safetensors", {"b"}, 4);
  write_index("diffusion_pytorch_model.safetensors.bf16.index.json", {{"a", "diffusion_pytorch_model-00001-of-00002.bf16.safetensors"},
                                                                      {"b", "diffusion_pytorch_model-00002-of-00002.bf16.safetensors"}});
  ASSERT_EQ(find_weight_files(folder.path()).size(), 2u);
  EXPECT_EQ(value("fp16", "b"), 2);
  EXPECT_EQ(value("bf16", "b"), 4);
}

TEST_F(CheckpointFilesTest, precedence_is_that_of_the_reference) {
  write("model.safetensors", {"a"}, 1);
  write("model-00001-of-00001.safetensors", {"a"}, 2);
  write_index("model.safetensors.index.json", {{"a", "model-00001-of-00001.safetensors"}});
  EXPECT_EQ(value(""), 1);  // transformers: the single file
  write("diffusion_pytorch_model.safetensors", {"a"}, 3);
  EXPECT_EQ(value(""), 3);
  write_index("diffusion_pytorch_model.safetensors.index.json", {{"a", "model-00001-of-00001.safetensors"}});
  EXPECT_EQ(value(""), 2);  // diffusers: the index
}

TEST_F(CheckpointFilesTest, shards_are_one_source) {
  write_three_shards();
  const auto source = open_weight_files(choose_weight_files(folder.path(), ""));
  EXPECT_EQ(source->list().size(), 4u);
  EXPECT_EQ(source->describe(), (folder / "model.safetensors.index.json").string());
  for (const auto& [name, expected] : std::map<std::string, float>{{"a", 1.f}, {"b", 2.f}, {"c", 3.f}, {"d", 1.f}}) {
    EXPECT_TRUE(source->has(name));
    EXPECT_EQ(source->read(name, {2}, *device).to_vector()[0], expected);
    source->release(name);
  }
  EXPECT_FALSE(source->has("e"));
  EXPECT_THROW(source->read("e", {2}, *device), WeightError);
}

TEST_F(CheckpointFilesTest, every_listed_shard_must_be_there) {
  for (const char* shard : {"model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors"}) {
    write_three_shards();
    fs::remove(folder / shard);
    EXPECT_EQ(open_error(), std::string("FOLDER/model.safetensors.index.json: 1 of 3 shards are missing: ") + shard);
  }
  fs::remove(folder / "model-00001-of-00003.safetensors");
  EXPECT_EQ(
      open_error(),
      "FOLDER/model.safetensors.index.json: 2 of 3 shards are missing: model-00001-of-00003.safetensors, model-00003-of-00003.safetensors");
}

TEST_F(CheckpointFilesTest, shards_without_their_index_are_not_guessed) {
  write_three_shards();
  fs::remove(folder / "model.safetensors.index.json");
  EXPECT_EQ(open_error(),
            "FOLDER: has model-00001-of-00003.safetensors, model-00002-of-00003.safetensors, model-00003-of-00003.safetensors but no index "
            "that lists the shards of each model");
}

TEST_F(CheckpointFilesTest, shards_hold_exactly_what_the_index_says) {
  write_three_shards();
  write("model-00002-of-00003.safetensors", {"x"});
  EXPECT_EQ(open_error(), "FOLDER/model-00002-of-00003.safetensors: lacks 'b', which model.safetensors.index.json lists for it");
  write("model-00002-of-00003.safetensors", {"b", "x"});
  EXPECT_EQ(open_error(), "FOLDER/model-00002-of-00003.safetensors: holds 'x', which model.safetensors.index.json does not list for it");
  write("model-00002-of-00003.safetensors", {"b", "c"});  // in two shards
  EXPECT_EQ(open_error(), "FOLDER/model-00002-of-00003.safetensors: holds 'c', which model.safetensors.index.json does not list for it");
}

TEST_F(CheckpointFilesTest, a_broken_index_is_refused) {
  const auto error = [&](std::string_view text) {
    write_file(folder / "model.safetensors.index.json", text);
    return open_error();
  };
  const std::string where = "FOLDER/model.safetensors.index.json: ";
  EXPECT_EQ(error("{"), where + "invalid JSON at line 1");
  EXPECT_EQ(error("[]"), where + "has no weight_map from tensor names to files");
  EXPECT_EQ(error("{}"), where + "has no weight_map from tensor names to files");
  EXPECT_EQ(error(R"({"weight_map": {}})"), where + "has no weight_map from tensor names to files");
  EXPECT_EQ(error(R"({"weight_map": []})"), where + "has no weight_map from tensor names to files");
  EXPECT_EQ(error(R"({"weight_map": {"a": 1}})"), where + "weight_map gives no file name for 'a'");
  EXPECT_EQ(error(R"({"weight_map": {"a": "x.safetensors", "a": "y.safetensors"}})"), where + "an object has the key 'a' twice");
  for (const char* name : {"../x.safetensors", "/x.safetensors", "x/y.safetensors", "..", ""})
    EXPECT_EQ(error(nlohmann::json{{"weight_map", {{"a", name}}}}.dump()),
              where + "'" + name + "' is not the name of a file in this folder");
  EXPECT_NE(message_of<UnsupportedError>([&] {
              error(R"({"weight_map": {"a": "x.onnx"}})");
            }).find("lists 'x.onnx', expected .safetensors or .bin"),
            std::string::npos);
}

TEST_F(CheckpointFilesTest, other_formats_are_named) {
  const std::string needed = "model.safetensors, diffusion_pytorch_model.safetensors, pytorch_model.bin or diffusion_pytorch_model.bin";
  EXPECT_EQ(choice_error<IoError>(""), "FOLDER: has no weights, expected " + needed);
  write_file(folder / "model.ckpt", "x");
  write_file(folder / "training_args.bin", "x");
  write_file(folder / "config.json", "{}");
  EXPECT_EQ(choice_error<UnsupportedError>(""), "FOLDER: has weights only as model.ckpt, training_args.bin, expected " + needed);
  EXPECT_NE(message_of<IoError>([&] { find_weight_files(folder / "none"); }), "");
}

}  // namespace
}  // namespace hearth
