// FLUX.1 with reference images: Kontext (golden/make_flux.py) and image prompts by Redux (golden/make_flux_redux.py), compared with
// diffusers.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/files/json.h"
#include "e2e/editing_cases_test.h"
#include "hearth/convert.h"
#include "support/backend_test.h"
#include "support/complaint.h"
#include "support/detached_backend.h"
#include "support/files.h"
#include "support/tolerance.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* devices[] = {"reference", "detached", "vulkan", "cpu"};

struct ReferenceCases : EditingCases {
  using EditingCases::EditingCases;

  Request request_with_scales(const Json& c) const {
    Request r = request_of(c);
    const auto list = [&](const char* key, const char* option) {
      if (c.contains(key)) r.options[option] = fmt::format("{}", fmt::join(c.at(key).get<std::vector<double>>(), ","));
    };
    list("scales", "redux_scale"), list("pooled_scales", "redux_pooled_scale");
    return r;
  }
  double error_of(const std::string& name, Model& model) const {
    const double error = relative_error(model.generate(request_with_scales(cases.at(name))).latents.values, golden(name).to_vector());
    if (std::getenv("HEARTH_PRINT_ERRORS")) printf("%s: %.1e\n", name.c_str(), error);
    return error;
  }
};

struct FluxReferences : testing::Test {
  FluxReferences() { add_detached_backend(); }

  static OpenOptions with_prior(const std::string& device = "cpu", const fs::path& path = golden_folder() / "flux_redux") {
    return {.components = {{"image_embedder", {path}}}, .device = device, .precision = Precision::f32};
  }

  ReferenceCases kontext{"flux"}, redux{"flux_redux"};
};

// Observed 3.1e-6.
TEST_F(FluxReferences, latents_of_kontext_are_those_of_diffusers) {
  for (const std::string device : devices)
    for (const auto& [name, c] : kontext.cases.items()) {
      if (c.at("kind") != "kontext" || (device == "vulkan" && !make_test_backend(device))) continue;
      Model model = Model::open(kontext.folder_of(c), {.device = device, .precision = Precision::f32});
      EXPECT_LE(kontext.error_of(name, model), 1e-5) << device << " " << name;
    }
}

// Observed 4.1e-6.
TEST_F(FluxReferences, latents_of_redux_are_those_of_diffusers) {
  for (const char* device : {"detached", "cpu"}) {
    Model model = Model::open(checkpoint_folder("flux_dev"), with_prior(device));
    for (const auto& [name, c] : redux.cases.items()) EXPECT_LE(redux.error_of(name, model), 1e-5) << device << " " << name;
  }
}

// Each of these changes the result, and the order of references does, where they are not summed.
TEST_F(FluxReferences, each_setting_has_its_effect) {
  Model model = Model::open(checkpoint_folder("flux_dev"), with_prior());
  const auto values = [&](const std::function<void(Request&)>& change) {
    Request r = redux.request_with_scales(redux.cases.at("two"));
    change(r);
    return model.generate(r).latents.values;
  };
  const auto wanted = values([](Request&) {});
  EXPECT_NE(values([](Request& r) { r.options["redux_scale"] = std::string("1,0.4"); }), wanted);
  EXPECT_NE(values([](Request& r) { r.options["redux_pooled_scale"] = std::string("0.7,0.5"); }), wanted);
  EXPECT_NE(values([](Request& r) { r.references.pop_back(), r.options.clear(); }), wanted);
  EXPECT_NE(values([](Request& r) { r.prompt = "snow"; }), wanted);
  const auto equal = values([](Request& r) { r.options["redux_scale"] = std::string("0.5"); });
  EXPECT_EQ(values([](Request& r) { r.options["redux_scale"] = std::string("0.5,0.5"); }), equal);
}

// A single file does not say whether it is Kontext's, so that it accepts references.
TEST_F(FluxReferences, of_a_single_file_are_read_as_kontext_s) {
  const TemporaryFolder folder;
  convert({.model = checkpoint_folder("flux_dev"), .output = folder / "all.safetensors", .layout = "single"});
  Model model = Model::open(folder / "all.safetensors", {.config = checkpoint_folder("flux_dev"), .precision = Precision::f32});
  EXPECT_LE(kontext.error_of("kontext_two", model), 1e-5);
  OpenOptions options = with_prior();
  options.config = checkpoint_folder("flux_dev");
  Model prompted = Model::open(folder / "all.safetensors", options);
  EXPECT_LE(redux.error_of("one", prompted), 1e-5);
}

// Text encoders and image encoders are loaded only for what a run has.
TEST_F(FluxReferences, what_a_run_does_not_use_is_not_in_memory) {
  const auto weights = [&](const char* prompt, size_t references) {
    OpenOptions options = with_prior();
    options.load_when_needed = true;
    Model model = Model::open(checkpoint_folder("flux_dev"), options);
    Request r = redux.request_with_scales(redux.cases.at("one"));
    r.prompt = prompt;
    r.references.resize(references);
    return Json::parse(model.generate(r).report).at("memory").at("planned").at("weights").get<int64_t>();
  };
  const int64_t all = weights("a red house", 1);
  EXPECT_LT(weights("", 1), all);             // no text encoder
  EXPECT_LT(weights("a red house", 0), all);  // no image encoder
}

// A model with a prior generates without references as before.
TEST_F(FluxReferences, a_prior_changes_nothing_without_references) {
  Request r = redux.request_with_scales(redux.cases.at("one"));
  r.references.clear();
  Model with = Model::open(checkpoint_folder("flux_dev"), with_prior());
  Model without = Model::open(checkpoint_folder("flux_dev"), {.precision = Precision::f32});
  EXPECT_EQ(with.generate(r).latents.values, without.generate(r).latents.values);
}

TEST_F(FluxReferences, that_do_not_belong_to_a_model_are_refused) {
  const Json& one = redux.cases.at("one");
  const auto refusal = [&](Model& model, const std::function<void(Request&)>& change) {
    Request r = redux.request_with_scales(one);
    change(r);
    return complaint_of([&] { model.generate(r); });
  };
  const auto nothing = [](Request&) {};
  Model plain = Model::open(checkpoint_folder("flux_dev"), {.precision = Precision::f32});
  EXPECT_EQ(refusal(plain, nothing), "UsageError: generate: this model does not look at reference images, expected none");
  const auto scaled = [](Request& r) { r.references.clear(), r.options["redux_scale"] = std::string("0.5"); };
  EXPECT_EQ(refusal(plain, scaled), "UsageError: generate: redux_scale without an image prompt, expected --redux and --reference");
  Model prior = Model::open(checkpoint_folder("flux_dev"), with_prior());
  EXPECT_EQ(refusal(prior, scaled), "UsageError: generate: redux_scale without an image prompt, expected --redux and --reference");
  EXPECT_EQ(refusal(prior, [](Request& r) { r.options["redux_scale"] = std::string("1,2"); }),
            "UsageError: generate: redux_scale has 2 numbers, expected 1 or 1");
  EXPECT_NE(refusal(prior, [](Request& r) { r.options["redux_scale"] = std::string("much"); }).find("much"), std::string::npos);
  const std::string both = complaint_of([&] { Model::open(kontext.folder_of(kontext.cases.at("kontext")), with_prior()); });
  EXPECT_EQ(both, "UsageError: open: FluxKontextPipeline reads reference images itself, expected no --redux");
  EXPECT_NE(complaint_of([&] {
              Model::open(checkpoint_folder("flux_schnell"), with_prior());
            }).find("makes text states of width 20, expected the text encoder's 12"),
            std::string::npos);
  EXPECT_NE(complaint_of([&] {
              Model::open(checkpoint_folder("pndm"), with_prior());
            }).find("StableDiffusionPipeline does not support a Redux image embedder, expected none"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth::test
