// The cases of golden/make_control*.py: runs with control networks.
#pragma once

#include <gtest/gtest.h>

#include "e2e/editing_cases_test.h"

namespace hearth::test {

// A folder as diffusers saves it; NAME_lora: a Control-LoRA.
inline std::filesystem::path control_network(const std::string& name) {
  if (name.ends_with("_lora")) return golden_folder() / "control/authors" / (name + ".safetensors");
  return golden_folder() / "control" / name;
}

struct ControlCases : EditingCases {
  using EditingCases::EditingCases;

  Control control_of(const nlohmann::json& c) const {
    const int64_t W = c.at("size")[0], H = c.at("size")[1];
    Control control{.path = control_network(c.at("network")),
                    .image = image(fmt::format("control{}", c.at("seed").get<int>()), W, H),
                    .scale = c.value("scale", 1.0),
                    .start = c.value("start", 0.0),
                    .end = c.value("end", 1.0),
                    .mode = c.value("mode", ""),
                    .guess = c.value("guess", false)};
    if (c.value("mask", false)) control.mask = image("mask", W, H);
    return control;
  }
  Request request(const std::string& name) const {
    const nlohmann::json& c = cases.at(name);
    Request r = request_of(c);
    r.width = c.at("width").get<int64_t>(), r.height = c.at("height").get<int64_t>();
    for (const nlohmann::json& control : c.at("controls")) r.controls.push_back(control_of(control));
    return r;
  }
  std::vector<float> latents(Model& m, const Request& r) const { return m.generate(r).latents.values; }
};

}  // namespace hearth::test
