#include "weights/textual_inversion.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/backend_test.h"
#include "support/files.h"
#include "support/golden.h"
#include "weights/safetensors/safetensors.h"

namespace hearth {
namespace {

// Tensors by name, filled with 0, 1, 2 …, or with NaN.
class Fixed : public TensorSource {
 public:
  explicit Fixed(std::map<std::string, Shape> shapes, float first = 0) : shapes_(std::move(shapes)), first_(first) {}
  std::string describe() const override { return "x.pt"; }
  std::map<std::string, TensorInfo> list() const override {
    std::map<std::string, TensorInfo> list;
    for (const auto& [name, shape] : shapes_) list[name] = {.shape = shape};
    return list;
  }
  bool has(const std::string& name) const override { return shapes_.contains(name); }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    std::vector<float> values(size_t(shapes_.at(name).numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = first_ + float(i);
    return Tensor::from(backend, wanted, values);
  }

 private:
  std::map<std::string, Shape> shapes_;
  float first_;
};

BACKEND_TEST(TextualInversion, every_form_is_read) {
  const auto read = [&](std::map<std::string, Shape> tensors) {
    Fixed source(std::move(tensors));
    return read_textual_inversion(source, "clip_l", 3, device);
  };
  for (const char* name : {"emb_params", "string_to_param.*", "clip_l"}) {
    const TextualInversion one = read({{name, {2, 3}}});
    EXPECT_EQ(one.vectors, 2);
    EXPECT_EQ(one.values, (std::vector<float>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(one.token, "");
  }
  EXPECT_EQ(read({{"clip_l", {1, 3}}, {"clip_g", {1, 5}}}).vectors, 1);
  EXPECT_EQ(read({{"<cat>", {3}}}).token, "<cat>");
  EXPECT_EQ(read({{"<cat>", {3}}}).vectors, 1);
  EXPECT_EQ(read({{"<cat>", {4, 3}}}).vectors, 4);
}

// Files in the formats of torch, A1111 and diffusers (golden/embeddings/make.py).
BACKEND_TEST(TextualInversion, files_that_people_have_are_read) {
  const std::filesystem::path folder = test::folder_of(__FILE__) / "golden/embeddings";
  const auto read = [&](const char* file, const char* encoder, int64_t width) {
    return read_textual_inversion(folder / file, encoder, width, device);
  };
  const std::vector<float> all = read("plain.safetensors", "clip_l", 4).values, first(all.begin(), all.begin() + 4);
  ASSERT_EQ(all.size(), 8u);
  for (const char* file : {"a1111.pt", "a1111_legacy.pt", "original.pt", "two_encoders.safetensors", "advanced.safetensors"}) {
    const TextualInversion one = read(file, "clip_l", 4);
    EXPECT_EQ(one.values, all) << file;
    EXPECT_EQ(one.token, "") << file;
  }
  for (const char* file : {"learned_embeds.bin", "learned_embeds.safetensors"}) {
    const TextualInversion one = read(file, "clip_l", 4);
    EXPECT_EQ(one.values, first) << file;
    EXPECT_EQ(one.token, "<cat>") << file;
  }
  EXPECT_EQ(read("two_encoders.safetensors", "clip_g", 6).values, read("advanced.safetensors", "clip_g", 6).values);
  EXPECT_EQ(read("two_encoders.safetensors", "clip_g", 6).vectors, 2);
}

BACKEND_TEST(TextualInversion, malformed_archives_are_refused_in_one_line) {
  const auto complaint = [&](std::map<std::string, Shape> tensors, float first = 0) {
    Fixed source(std::move(tensors), first);
    return test::message_of<WeightError>([&] { read_textual_inversion(source, "clip_l", 3, device); });
  };
  EXPECT_EQ(complaint({{"emb_params", {2, 4}}}), "x.pt: the embedding has width 4, expected that of the text encoder, 3");
  EXPECT_EQ(complaint({{"emb_params", {1, 2, 3}}}), "x.pt: 'emb_params' has shape [1, 2, 3], expected [vectors, 3]");
  EXPECT_EQ(complaint({{"emb_params", {0, 3}}}), "x.pt: 'emb_params' has shape [0, 3], expected [vectors, 3]");
  EXPECT_EQ(complaint({{"a", {3}}, {"b", {3}}}),
            "x.pt: expected emb_params, clip_l or one tensor that is named after its token, found a, b");
  EXPECT_EQ(complaint({{"clip_g", {1, 3}}}), "x.pt: expected emb_params, clip_l or one tensor that is named after its token, found clip_g");
  EXPECT_EQ(complaint({}), "x.pt: expected emb_params, clip_l or one tensor that is named after its token, found nothing");
  EXPECT_EQ(complaint({{"emb_params", {1, 3}}}, std::numeric_limits<float>::quiet_NaN()),
            "x.pt: 'emb_params' holds NaN or infinite values");
}

}  // namespace
}  // namespace hearth
