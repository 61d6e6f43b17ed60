// The goldens' cases: requests, and the reference implementation's results (golden/README.md).
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "hearth/hearth.h"

namespace hearth::test {

struct Case {
  std::string checkpoint, name;  // "pndm", "default"; for a run with a refiner, the refiner's
  std::string base;              // if the golden's checkpoint is a refiner: the checkpoint of the first steps
  Request request;
  int64_t image_step = 1;  // the golden keeps every n-th pixel of a large image, in both directions
  double rounding = 0;     // rounding error of f32: relative L2 between the reference implementation in f32 and in f64
};

inline void PrintTo(const Case& c, std::ostream* out) { *out << c.checkpoint << "." << c.name; }  // for GoogleTest

Request to_request(const nlohmann::json& recorded);  // from a case, as its recipe recorded it
std::vector<Case> all_cases();
Case find_case(const std::string& checkpoint, const std::string& name);

std::filesystem::path golden_folder();
std::filesystem::path checkpoint_folder(const std::string& checkpoint);  // "demo" is the demo model

Model open_model(const Case& c, OpenOptions options = {.precision = Precision::f32});

Array golden_latents(const Case& c);                             // [B, C, h, w]
std::vector<std::vector<uint8_t>> golden_images(const Case& c);  // [B][H·W·3]

// The bits of the latents and of every image.
void expect_same(const Generation& made, const Generation& wanted);

}  // namespace hearth::test
