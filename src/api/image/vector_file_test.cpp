#include "api/image/vector_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/files/file.h"
#include "support/complaint.h"
#include "support/files.h"

namespace hearth::api {
namespace {

template <class T> std::string npy(const std::string& type, const std::string& shape, const std::vector<T>& values) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize((header.size() + 10 + 63) / 64 * 64 - 10, ' ');
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += char(header.size() & 255), bytes += char(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return bytes;
}

TEST(VectorFile, of_numpy_is_read_in_each_type_and_shape) {
  const test::TemporaryFolder folder;
  const auto file = folder / "v.npy";
  const std::vector<float> wanted{0.5f, -2, 0.25f};
  for (const char* shape : {"(3,)", "(1, 3)", "(1, 1, 3)"}) {
    write_file(file, npy<float>("<f4", shape, wanted));
    EXPECT_EQ(read_vector(file), wanted) << shape;
  }
  write_file(file, npy<double>("<f8", "(1, 3)", {0.5, -2, 0.25}));
  EXPECT_EQ(read_vector(file), wanted);
  write_file(file, npy<uint16_t>("<f2", "(3,)", {0x3800, 0xC000, 0x3400}));
  EXPECT_EQ(read_vector(file), wanted);
}

TEST(VectorFile, of_tensors_is_read) {
  const test::TemporaryFolder folder;
  const auto file = folder / "v.safetensors";
  const auto with = [&](const std::string& header, size_t values) {
    std::string bytes(8, '\0');
    const uint64_t n = header.size();
    std::memcpy(bytes.data(), &n, 8);
    bytes += header;
    const std::vector<float> data(values, 0.5f);
    bytes.append(reinterpret_cast<const char*>(data.data()), 4 * values);
    write_file(file, bytes);
  };
  with(R"({"id":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})", 2);
  EXPECT_EQ(read_vector(file), (std::vector<float>{0.5f, 0.5f}));
  with(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 2);
  EXPECT_NE(test::complaint_of([&] { read_vector(file); }).find("holds 2 tensors, expected one"), std::string::npos);
}

TEST(VectorFile, what_is_not_a_vector_is_named) {
  const test::TemporaryFolder folder;
  const auto file = folder / "v.npy";
  const auto said = [&](const std::string& bytes) {
    write_file(file, bytes);
    return test::complaint_of([&] { read_vector(file); });
  };
  const std::vector<float> two{1, 2};
  EXPECT_NE(said(npy<float>("<f4", "(2, 1)", two)).find("shape [2, 1], expected one vector"), std::string::npos);
  EXPECT_NE(said(npy<float>("<f4", "()", two)).find("expected one vector"), std::string::npos);
  EXPECT_NE(said(npy<float>("<f4", "(3,)", two)).find("has 8 bytes for 3 values"), std::string::npos);
  EXPECT_NE(said(npy<float>("<i4", "(2,)", two)).find("'<i4', expected <f2, <f4 or <f8"), std::string::npos);
  EXPECT_NE(said(npy<float>("<f4", "(2,)", {1, std::numeric_limits<float>::infinity()})).find("NaN or infinite"), std::string::npos);
  EXPECT_NE(said(std::string("\x93NUMPY\x01\x00\xff\xff", 10) + "{}").find("damaged header"), std::string::npos);
  EXPECT_NE(said("\x93NUMPY").find("too short"), std::string::npos);
  EXPECT_NE(said("no vector").find("v.npy"), std::string::npos);
  EXPECT_NE(test::complaint_of([&] { read_vector(folder / "missing.npy"); }).find("missing.npy"), std::string::npos);
}

}  // namespace
}  // namespace hearth::api
