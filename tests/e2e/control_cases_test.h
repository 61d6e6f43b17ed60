// The cases of golden/make_control*.py: runs with control networks, and what networks of all families do.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "e2e/editing_cases_test.h"

namespace hearth::test {

// A folder as diffusers saves it; NAME_lora: a Control-LoRA.
std::filesystem::path control_network(const std::string& name);
std::filesystem::path of_authors(const std::string& name);  // a single file under its authors' names

struct ControlCases : testing::Test, EditingCases {
  explicit ControlCases(const std::string& stem);

  Control control_of(const nlohmann::json& c) const;
  Request request(const std::string& name) const;
  std::vector<float> latents(Model& m, const Request& r) const { return m.generate(r).latents.values; }
  virtual Model& opened(const nlohmann::json& c) { return model_of(c); }
  Model open(const std::string& name, OpenOptions options);  // the model of a case, anew
  std::string complaint(const std::string& name, const std::function<void(Request&)>& change);

  void expect_latents_of_diffusers(double limit);
  void expect_the_same_on_other_devices(const std::vector<std::string>& names, double limit);
  // Of a case with two controls. Each acts: without it, the result is another one. With the scale 0 neither does.
  void expect_that_each_acts_in_any_order(const std::string& name);
  // A batch has the bits of its images alone, with any number of threads.
  void expect_a_batch_of_single_images(const std::string& name);
  void expect_resumed(const std::string& name);
  // The controls act in a second pass, too, which takes the memory that was planned, also under a limit.
  void expect_a_second_pass(const std::string& name);
  // A run under a limit takes the memory that was planned. Call it ahead of others, whose models stay in memory.
  void expect_planned(const std::string& name);
  // The network in another file gives the same bits.
  void expect_same_bits_of(const std::string& name, const std::filesystem::path& file);
  // Its file alone gives the bits of the folder, which has a configuration, too.
  void expect_same_bits_without_a_configuration(const std::vector<std::string>& names);
  void expect_refused(const std::string& name, const std::function<void(Request&)>& change, const std::string& wanted);
  static std::function<void(Request&)> with_network(const std::filesystem::path& path) {
    return [path](Request& r) { r.controls[0].path = path; };
  }
};

}  // namespace hearth::test
