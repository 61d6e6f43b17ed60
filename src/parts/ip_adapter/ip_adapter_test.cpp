#include "parts/ip_adapter/ip_adapter.h"

#include "parts/golden_case_test.h"
#include "parts/ip_adapter/files.h"

namespace hearth::parts {
namespace {

using Kind = IpAdapterConfig::Kind;

// What the recipe calls a file: its tensors' names and shapes.
struct IpAdapterCase : GoldenCase {
  IpAdapterCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  // By official names.
  TensorList tensors() const {
    TensorList stored;
    const nlohmann::json shapes = fact("tensors");
    for (const auto& [name, shape] : shapes.items()) stored[name] = {DType::f32, Shape(shape.get<std::vector<int64_t>>()), {}};
    const NameMap names = ip_adapter_files.spellings[0].reading(stored, {});
    TensorList official;
    for (const auto& [name, info] : stored) {
      const size_t kv = name.find(".to_kv.");
      if (kv == name.npos) {
        official[name] = info;
        continue;
      }
      const Shape half{info.shape[0] / 2, info.shape[1]};
      for (const char* part : {".to_k.", ".to_v."}) official[std::string(name).replace(kv, 7, part)] = {DType::f32, half, {}};
    }
    return official;
  }
  IpAdapterConfig sizes() const {
    return IpAdapterConfig::from(Config::parse(ip_adapter_files.standard_config(tensors()).value(), "standard"));
  }
};

BACKEND_TEST(IpAdapter, tokens_are_those_of_the_reference) {
  for (const auto& [name, kind] :
       {std::pair{"vector", Kind::vector}, {"states", Kind::states}, {"resampler", Kind::resampler}, {"face", Kind::face}}) {
    SCOPED_TRACE(name);
    const IpAdapterCase c(name, device);
    const IpAdapterConfig sizes = c.sizes();
    EXPECT_EQ(sizes.kind, kind);
    EXPECT_EQ(sizes.attends, c.fact("attends").get<std::vector<int64_t>>());
    Weights w = c.weights();
    const IpAdapter adapter(Scope(w), sizes);
    w.finish();
    const Tensor image = c.input("image", Shape(c.fact("given").get<std::vector<int64_t>>()));
    EXPECT_CLOSE(adapter.tokens(image), c.golden.values("tokens"), 1e-6);
    EXPECT_THROW(adapter.tokens(Tensor::zeros(device, {2, 3, 4, 5})), ShapeError);
    EXPECT_THROW(adapter.tokens(Tensor::zeros(device, kind == Kind::vector || kind == Kind::face ? Shape{1, 3} : Shape{1, 5, 3})),
                 ShapeError);
  }
}

// FaceID Plus, version 1 and, with the shortcut, 2.
BACKEND_TEST(IpAdapter, a_face_and_an_image_make_the_tokens_of_the_reference) {
  const IpAdapterCase c("face_and_states", device);
  const IpAdapterConfig sizes = c.sizes();
  EXPECT_EQ(sizes.kind, Kind::face_and_states);
  Weights w = c.weights();
  const IpAdapter adapter(Scope(w), sizes);
  w.finish();
  const Tensor face = c.input("image", {2, 8}), states = c.input("states", {2, 5, 9});
  EXPECT_CLOSE(adapter.tokens(face, states, false), c.golden.values("tokens"), 2e-6);  // observed 1.3e-7 reference, 3.0e-7 cpu
  EXPECT_CLOSE(adapter.tokens(face, states, true), c.golden.values("shortcut"), 2e-6);
  EXPECT_THROW(adapter.tokens(states), ShapeError);
  EXPECT_THROW(adapter.tokens(face, face, false), ShapeError);
  EXPECT_THROW(adapter.tokens(face.slice(1, 0, 7), states, false), ShapeError);
}

// Every tensor of a file is read.
TEST(IpAdapterFiles, hold_nothing_that_the_adapter_leaves) {
  const auto device = test::make_test_backend("reference");
  for (const char* name : {"vector", "states", "resampler", "face", "face_and_states"}) {
    const IpAdapterCase c(name, *device);
    struct Asked : TensorSource {
      std::string describe() const override { return "names alone"; }
      std::map<std::string, TensorInfo> list() const override { return {}; }
      bool has(const std::string&) const override { return true; }
      Tensor read(const std::string& tensor, const Shape& wanted, Backend& backend) override {
        shapes[tensor] = wanted;
        return Tensor::zeros(backend, wanted);
      }
      std::map<std::string, Shape> shapes;
    };
    const auto asked = std::make_shared<Asked>();
    Weights w(asked, *device, {});
    const IpAdapter adapter(Scope(w), c.sizes());
    std::map<std::string, Shape> expected;
    for (const auto& [tensor, info] : c.tensors()) expected[tensor] = info.shape;
    EXPECT_EQ(asked->shapes, expected) << name;
  }
}

TEST(IpAdapterFiles, of_other_shapes_are_not_one) {
  const auto device = test::make_test_backend("reference");
  TensorList t = IpAdapterCase("resampler", *device).tensors();
  t["image_proj.layers.0.0.to_q.weight"].shape = {60, 20};
  EXPECT_FALSE(ip_adapter_files.standard_config(t));
  EXPECT_FALSE(ip_adapter_files.standard_config({}));
  TensorList v = IpAdapterCase("vector", *device).tensors();
  v["image_proj.norm.weight"].shape = {7};
  EXPECT_FALSE(ip_adapter_files.standard_config(v));
}

}  // namespace
}  // namespace hearth::parts
