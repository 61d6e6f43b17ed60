// The goldens' cases: what to ask for, and what the reference drew (golden/README.md).
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "hearth/hearth.h"

namespace hearth::test {

struct Case {
  std::string checkpoint, name;  // "pndm", "default"; of a hand-over the refiner's
  std::string base;              // the checkpoint that begins, where the golden's does the last steps
  Request request;
  double rounding = 0;  // what f32 arithmetic itself leaves open: relative L2 between the reference in f32 and in f64
};

inline void PrintTo(const Case& c, std::ostream* out) { *out << c.checkpoint << "." << c.name; }  // for GoogleTest

Request to_request(const nlohmann::json& recorded);  // of a case, as its recipe wrote it
std::vector<Case> all_cases();
Case find_case(const std::string& checkpoint, const std::string& name);

std::filesystem::path golden_folder();
std::filesystem::path checkpoint_folder(const std::string& checkpoint);  // "demo" is the demo model

Model open_model(const Case& c, OpenOptions options = {.precision = Precision::f32});

Array golden_latents(const Case& c);                             // [B, C, h, w]
std::vector<std::vector<uint8_t>> golden_images(const Case& c);  // [B][H·W·3]

}  // namespace hearth::test
