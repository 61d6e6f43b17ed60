#include "cli/outputs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "core/files/file.h"
#include "hearth/error.h"

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<fs::path>;

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

TEST(Outputs, are_numbered) {
  EXPECT_EQ(output_names("a.png", 1), Paths{"a.png"});
  EXPECT_EQ(output_names("d/a.b.PNG", 1), Paths{"d/a.b.PNG"});
  EXPECT_EQ(output_names("d/a.png", 3), (Paths{"d/a-1.png", "d/a-2.png", "d/a-3.png"}));
  EXPECT_EQ(output_names("d/a.b.PNG", 2), (Paths{"d/a.b-1.PNG", "d/a.b-2.PNG"}));
  const Paths ten = output_names("a.png", 10);
  EXPECT_EQ(ten.front(), "a-01.png");
  EXPECT_EQ(ten.back(), "a-10.png");
  EXPECT_TRUE(std::is_sorted(ten.begin(), ten.end()));
  EXPECT_EQ(output_names("a.webp", 2), (Paths{"a-1.webp", "a-2.webp"}));
}

TEST(Outputs, arrays_are_read_back) {
  const fs::path folder = fs::temp_directory_path() / ("hearth-arrays-" + std::to_string(::getpid()));
  fs::create_directory(folder);
  const Array noise{.shape = {2, 1, 1, 3}, .values = {1, 2, 3, 4, 5, 6.5f}}, latents{.shape = {1}, .values = {-0.25f}};
  save_arrays(folder / "a.safetensors", {{"noise", noise}, {"latents", latents}});
  EXPECT_EQ(load_array(folder / "a.safetensors", "noise").shape, noise.shape);
  EXPECT_EQ(load_array(folder / "a.safetensors", "noise").values, noise.values);
  EXPECT_EQ(load_array(folder / "a.safetensors", "latents").values, latents.values);
  const std::string file = (folder / "a.safetensors").string();
  EXPECT_EQ(message_of([&] { load_array(file, "x"); }), file + ": has no tensor 'x', only latents, noise");
  save_arrays(file,
              {{"noise", {.shape = {3}, .values = {1, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}}}});
  EXPECT_EQ(message_of([&] { load_array(file, "noise"); }), file + ": 2 of 3 values of 'noise' are not finite");
  save_arrays(file, {{"noise", {.shape = {1}, .values = {std::numeric_limits<float>::infinity()}}}});
  EXPECT_EQ(message_of([&] { load_array(file, "noise"); }), file + ": 1 of 1 values of 'noise' are not finite");
  save_arrays(file, {});
  EXPECT_EQ(message_of([&] { load_array(file, "x"); }), file + ": has no tensor 'x', only nothing");
  write_file(file, "no safetensors");
  EXPECT_NE(message_of([&] { load_array(file, "noise"); }), "no error");
  fs::remove_all(folder);
}

TEST(Outputs, arrays_are_sliced_and_appended) {
  const Array a{.shape = {3, 2}, .values = {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(slice(a, 1, 3).values, (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(slice(a, 1, 3).shape, (std::vector<int64_t>{2, 2}));
  Array whole;
  append(whole, slice(a, 0, 1));
  append(whole, slice(a, 1, 3));
  EXPECT_EQ(whole.shape, a.shape);
  EXPECT_EQ(whole.values, a.values);
  EXPECT_THROW(slice(a, 2, 4), ShapeError);
  EXPECT_THROW(slice(a, -1, 1), ShapeError);
  EXPECT_THROW(slice(a, 2, 1), ShapeError);
  EXPECT_EQ(message_of([] { slice({}, 0, 0); }), "slice: 0 to 0 is outside of 0 to 0");
  EXPECT_EQ(slice({.shape = {0, 2}, .values = {}}, 0, 0).shape, (std::vector<int64_t>{0, 2}));
  EXPECT_THROW(append(whole, {.shape = {1, 2, 1}, .values = {1, 2}}), ShapeError);
  EXPECT_THROW(append(whole, {.shape = {1, 3}, .values = {1, 2, 3}}), ShapeError);
}

}  // namespace
}  // namespace hearth::cli
