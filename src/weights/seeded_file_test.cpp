#include "weights/seeded_file.h"

#include "support/backend_test.h"
#include "support/tolerance.h"
#include "weights/safetensors/safetensors.h"
#include "weights/scope.h"
#include "weights/seeded.h"

namespace hearth {
namespace {

TEST(SeededFile, reads_back_as_the_function_of_the_name) {
  const auto device = test::make_test_backend("reference");
  const auto folder = std::filesystem::path(testing::TempDir()) / "hearth_seeded_file";
  std::filesystem::create_directories(folder);
  const std::map<std::string, Shape> tensors{{"a.weight", {3, 5}}, {"b.bias", {7}}, {"long.weight", {5000, 1000}}};
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    write_seeded_file(folder / "w.safetensors", tensors, dtype, device->threads());
    const auto file = SafetensorsFile::open(folder / "w.safetensors");
    for (const auto& [name, shape] : tensors)
      EXPECT_CLOSE(file->read(name, shape, *device), seeded_values(name, shape), dtype == DType::f32 ? 0 : test::op_tolerance(dtype));
  }
  EXPECT_THROW(write_seeded_file(folder / "w.safetensors", tensors, DType::i8, device->threads()), UnsupportedError);
  EXPECT_THROW(write_seeded_file(folder / "missing" / "w.safetensors", tensors, DType::f16, device->threads()), IoError);
  EXPECT_FALSE(std::filesystem::exists(folder / "w.safetensors.partial"));
  std::filesystem::remove_all(folder);
}

TEST(SeededFile, requested_tensors_list_those_of_a_network) {
  const auto device = test::make_test_backend("reference");
  const auto source = std::make_shared<RequestedTensors>();
  Weights weights(source, *device);
  const Scope scope = Scope(weights) / "block" / 3;
  scope.linear("weight", 4, 6);
  scope.tensor("bias", {4});
  EXPECT_EQ(source->tensors, (std::map<std::string, Shape>{{"block.3.weight", {4, 6}}, {"block.3.bias", {4}}}));
}

}  // namespace
}  // namespace hearth
