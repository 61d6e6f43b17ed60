#include "sampling/guidance/guidance.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "ops/shape_ops.h"
#include "sampling/guidance/denoiser.h"
#include "sampling/guidance/guidance_methods.h"
#include "support/backend_test.h"
#include "support/complaint.h"
#include "support/golden.h"
#include "support/tolerance.h"

namespace hearth::sampling {
namespace {

const Shape shape{2, 3, 5, 4};

Guidance guidance_of(const std::string& method, nlohmann::json options) {
  Guidance g{.method = &find_guidance(method)};
  g.scale = options.value("scale", 7.5), g.rescale = options.value("rescale", 0.0);
  options.erase("scale"), options.erase("rescale");
  for (const auto& [name, value] : options.items()) g.options[name] = value.get<double>();
  return resolve(g);
}

struct Fixture {
  explicit Fixture(Backend& device) : golden(__FILE__, "guidance", device) {}
  Tensor at(const std::string& name, int64_t step) const { return golden.tensor(name).slice(0, step, step + 1).view(shape); }
  test::Golden golden;
};

// All cases of the golden, run through the table, three steps each. The predictions are x₀.
HOST_TEST(Guidance, each_method_equals_the_reference_step_by_step) {
  const Fixture f(device);
  const Level level = Level::exploding(1.5, 400);
  int cases = 0;
  for (const std::string& name : f.golden.names()) {
    const size_t bar = name.find('|');
    const std::string method = name.substr(0, bar);
    if (bar == std::string::npos || method == "dual" || method == "threshold") continue;
    SCOPED_TRACE(name);
    const Guidance g = guidance_of(method, nlohmann::json::parse(name.substr(bar + 1)));
    GuidanceMemory memory{.steps = 3};
    for (memory.step = 0; memory.step < 3; ++memory.step) {
      const Branches asked = branches(g, level, memory, Unconditional::unused);
      const Predictions answers{.negative = asked.negative ? f.at("negative", memory.step) : Tensor(),
                                .prompt = f.at("prompt", memory.step),
                                .perturbed = asked.perturbed ? f.at("other", memory.step) : Tensor()};
      const Tensor x0 = guided_x0(g, answers.prompt, answers, level, Prediction::sample, memory);
      // observed 1.9e-7; tcfg 1.4e-6 (the reference uses an SVD in f32)
      EXPECT_CLOSE(x0, f.at(name, memory.step).to_vector(), method == "tcfg" ? 4e-6 : 2e-6);
    }
    ++cases;
  }
  EXPECT_EQ(cases, 27);
}

// ComfyUI's RescaleCFG: v, for every prediction type.
HOST_TEST(Guidance, predictions_can_be_combined_as_v) {
  const Fixture f(device);
  const Level level = Level::exploding(2.3, 500);
  Guidance g{.scale = 5, .options = {{"space", 2}}, .rescale = 0.7};
  g = resolve(g);
  GuidanceMemory memory{.steps = 3};
  for (int64_t step = 0; step < 3; ++step) {
    const Tensor x = f.at("other", step), prompt = f.at("prompt", step), negative = f.at("negative", step);
    const auto wanted = f.at("rescale_cfg", step).to_vector();
    EXPECT_CLOSE(guided_x0(g, x, {negative, prompt, {}}, level, Prediction::sample, memory), wanted, 2e-6);  // observed 2.0e-7
    const auto eps = [&](const Tensor& x0) { return network_output(x, x0, level, Prediction::epsilon); };
    EXPECT_CLOSE(guided_x0(g, x, {eps(negative), eps(prompt), {}}, level, Prediction::epsilon, memory), wanted, 2e-6);  // observed 2.0e-7
  }
}

// The space changes a rescaled prediction, but not a plain sum.
HOST_TEST(Guidance, space_changes_what_norms_say) {
  const Fixture f(device);
  const Level level = Level::preserving(2.3, 500);
  const Tensor x = f.at("other", 0);
  const auto run = [&](double space, double rescale) {
    GuidanceMemory memory;
    const Guidance g = resolve({.scale = 5, .options = {{"space", space}}, .rescale = rescale});
    return guided_x0(g, x, {f.at("negative", 0), f.at("prompt", 0), {}}, level, Prediction::epsilon, memory).to_vector();
  };
  EXPECT_LE(test::relative_error(run(1, 0), run(0, 0)), 1e-6);
  EXPECT_LE(test::relative_error(run(2, 0), run(0, 0)), 1e-6);
  EXPECT_GE(test::relative_error(run(1, 0.7), run(0, 0.7)), 1e-2);
  EXPECT_GE(test::relative_error(run(2, 0.7), run(1, 0.7)), 1e-2);
}

HOST_TEST(Guidance, dynamic_thresholding_comes_last) {
  const Fixture f(device);
  GuidanceMemory memory;
  const Guidance g = resolve({.scale = 1, .options = {{"threshold", 0.9}, {"threshold_most", 1.5}}});
  const Tensor x0 = guided_x0(g, f.at("prompt", 0), {{}, f.at("prompt", 0), {}}, Level::exploding(1, 1), Prediction::sample, memory);
  EXPECT_CLOSE(x0, f.at(R"(threshold|{"ratio": 0.9, "most": 1.5})", 0).to_vector(), 1e-6);  // observed 1.0e-7
}

TEST(GuidanceBranches, follow_scale_interval_steps_and_sampler) {
  const auto asked = [](Guidance g, double sigma, int64_t step = 0, Unconditional u = Unconditional::unused) {
    const Branches b = branches(resolve(g), Level::preserving(sigma, 1), {.step = step, .steps = 10}, u);
    return (b.negative ? "n" : "") + std::string("p") + (b.perturbed ? "d" : "");
  };
  EXPECT_EQ(asked({.scale = 1.01}, 1), "np");
  EXPECT_EQ(asked({.scale = 1}, 1), "p");
  EXPECT_EQ(asked({.scale = -3}, 1), "p");
  EXPECT_EQ(asked({.scale = 1}, 1, 0, Unconditional::needed), "np");
  const Guidance between{.lowest = 0.28, .highest = 5.42};
  EXPECT_EQ(asked(between, 5.43), "p");
  EXPECT_EQ(asked(between, 5.41), "np");
  EXPECT_EQ(asked(between, 0.29), "np");
  EXPECT_EQ(asked(between, 0.27), "p");
  EXPECT_EQ(asked(between, 0.27, 0, Unconditional::needed), "np");
  const Guidance steps{.options = {{"start", 0.25}, {"stop", 0.55}}};  // int(2.5) = 2 … int(5.5) = 5, excluded
  EXPECT_EQ(asked(steps, 1, 1) + asked(steps, 1, 2) + asked(steps, 1, 4) + asked(steps, 1, 5), "pnpnpp");
  const Guidance pag{.method = &find_guidance("pag")};
  EXPECT_EQ(asked(pag, 1), "npd");
  Guidance alone = pag;
  alone.scale = 1;
  EXPECT_EQ(asked(alone, 1), "pd");
  alone.highest = 0.5;
  EXPECT_EQ(asked(alone, 1), "p");
}

// Outside its interval a guided run equals one without guidance, even if the sampler needs the unconditional prediction.
HOST_TEST(Guidance, outside_the_interval_the_prompt_alone_counts) {
  const Fixture f(device);
  GuidanceMemory memory;
  const Guidance g = resolve({.lowest = 2});
  const Predictions both{f.at("negative", 0), f.at("prompt", 0), {}};
  EXPECT_EQ(guided_x0(g, both.prompt, both, Level::exploding(1, 1), Prediction::sample, memory).to_vector(), both.prompt.to_vector());
}

// Adaptive PAG: 3 − 0.005·(1000 − t), never below 0.
HOST_TEST(Guidance, adaptive_perturbation_fades_with_the_timestep) {
  const Fixture f(device);
  GuidanceMemory memory;
  const auto run = [&](double scale, double adaptive, float timestep) {
    const Guidance g = resolve({.scale = 5, .method = &find_guidance("pag"), .options = {{"pag_scale", scale}, {"adaptive", adaptive}}});
    return guided_x0(g, f.at("prompt", 0), {f.at("negative", 0), f.at("prompt", 0), f.at("other", 0)}, Level::exploding(1, timestep),
                     Prediction::sample, memory)
        .to_vector();
  };
  EXPECT_EQ(run(3, 0.005, 600), run(1, 0, 600));
  EXPECT_EQ(run(3, 0.005, 100), run(0, 0, 100));
}

// One batch, in the order of the branches, and each prediction in its place.
HOST_TEST(Guidance, all_branches_are_asked_in_one_batch) {
  const Fixture f(device);
  const Tensor x = f.at("prompt", 1);
  int calls = 0;
  GuidanceMemory memory;
  const GuidedNetwork network = [&](const Tensor& in, float, const Branches& b) {
    ++calls;
    EXPECT_EQ(in.shape(), (Shape{6, 3, 5, 4}));
    EXPECT_TRUE(b.negative && b.perturbed);
    return ops::concat({f.at("negative", 0), f.at("prompt", 0), f.at("other", 0)}, 0);
  };
  const Guidance g{.scale = 5, .method = &find_guidance("pag"), .options = {{"pag_scale", 3}}};
  const Denoiser denoise = make_denoiser(network, Prediction::sample, g, Unconditional::needed, memory);
  const Estimate e = denoise(x, Level::exploding(2, 300));
  EXPECT_EQ(calls, 1);
  EXPECT_CLOSE(e.x0, f.at(R"(pag|{"scale": 5, "pag_scale": 3})", 0).to_vector(), 1e-6);  // observed 1.0e-7
  EXPECT_EQ(e.unconditional.to_vector(), f.at("negative", 0).to_vector());
  const GuidedNetwork two = [&](const Tensor& in, float, const Branches& b) {
    EXPECT_EQ(in.size(0), 4);
    EXPECT_TRUE(!b.negative && b.perturbed);
    return ops::concat({f.at("prompt", 0), f.at("other", 0)}, 0);
  };
  const Guidance alone{.scale = 1, .method = &find_guidance("pag"), .options = {{"pag_scale", 2}}};
  EXPECT_CLOSE(make_denoiser(two, Prediction::sample, alone, Unconditional::unused, memory)(x, Level::exploding(2, 300)).x0,
               f.at(R"(pag|{"scale": 1, "pag_scale": 2})", 0).to_vector(), 1e-6);  // observed 1.0e-7
}

// The steps of diffusers' skip-layer guidance: n·start < i < n·stop, both strict, so never the first one; classifier-free guidance at all.
HOST_TEST(Guidance, layers_are_skipped_between_two_steps) {
  const Fixture f(device);
  const auto steps = [](Guidance g, int64_t n) {
    g.method = &find_guidance("slg");
    g = resolve(g);
    std::string text;
    GuidanceMemory memory{.steps = n};
    for (; memory.step < n; ++memory.step) {
      const Branches b = branches(g, Level::flow(0.5, 500), memory, Unconditional::unused);
      EXPECT_EQ(b.negative, g.scale > 1);
      text += b.perturbed ? 'x' : '.';
    }
    return text;
  };
  EXPECT_EQ(steps({.scale = 4}, 28), ".xxxxx......................");
  EXPECT_EQ(steps({.scale = 1}, 10), ".x........");
  EXPECT_EQ(steps({.options = {{"start", 0}, {"stop", 1}}}, 4), ".xxx");
  EXPECT_EQ(steps({.options = {{"start", 0.25}, {"stop", 0.75}}}, 8), "...xxx..");
  GuidanceMemory second{.step = 1, .steps = 10};
  const Guidance outside = resolve({.method = &find_guidance("slg"), .lowest = 2});  // σ/α is 1
  EXPECT_EQ(branches(outside, Level::flow(0.5, 500), second, Unconditional::unused).count(), 1);

  const Guidance g = resolve({.scale = 5, .method = &find_guidance("slg"), .options = {{"slg_scale", 2}}});
  GuidanceMemory memory{.step = 1, .steps = 10};
  const Tensor negative = f.at("negative", 0), prompt = f.at("prompt", 0), other = f.at("other", 0);
  const auto x0 = [&](const Tensor& perturbed) {
    return guided_x0(g, prompt, {negative, prompt, perturbed}, Level::flow(0.5, 500), Prediction::sample, memory).to_vector();
  };
  EXPECT_EQ(x0(other), away_from(classifier_free(negative, prompt, 5), prompt, other, 2).to_vector());
  EXPECT_EQ(x0({}), classifier_free(negative, prompt, 5).to_vector());
}

TEST(GuidanceNames, are_those_of_other_programs_too) {
  for (const auto& [name, method] : {std::pair{"CFG", "cfg"},
                                     {"CFGZeroStar", "cfg_zero_star"},
                                     {"AdaptiveProjectedGuidance", "apg"},
                                     {"Perturbed-Attention Guidance", "pag"},
                                     {"cogvideox", "dynamic"},
                                     {"SkipLayerGuidance", "slg"}})
    EXPECT_EQ(find_guidance(name).name, method);
  EXPECT_THROW(find_guidance("sag"), UnsupportedError);
  EXPECT_NE(test::complaint_of([] { find_guidance("cgf"); }).find("guidance 'cgf' is unknown, expected one of cfg, cfg_zero_star, apg"),
            std::string::npos);
}

TEST(GuidanceOptions, that_do_not_fit_are_refused) {
  const auto complaint = [](Guidance g) { return test::complaint_of([&] { resolve(g); }); };
  EXPECT_EQ(complaint({.rescale = 1.1}), "UsageError: guidance: rescale is 1.1, expected a number from 0 to 1");
  EXPECT_EQ(complaint({.scale = std::nan("")}), "UsageError: guidance: scale is nan, expected a finite number");
  EXPECT_EQ(complaint({.lowest = 3, .highest = 2}),
            "UsageError: guidance: interval is 3 to 2, expected two sigmas of 0 or more, the lower first");
  EXPECT_EQ(complaint({.options = {{"start", 0.5}, {"stop", 0.4}}}),
            "UsageError: guidance 'cfg': start 0.5 is after stop 0.4, expected start at most stop");
  EXPECT_EQ(complaint({.options = {{"pag_scale", 1}}}),
            "UsageError: guidance 'cfg': option 'pag_scale' is unknown, expected one of start, stop, space, threshold, threshold_most");
  EXPECT_EQ(complaint({.method = &find_guidance("apg"), .options = {{"momentum", 2}}}),
            "UsageError: guidance 'apg': momentum is 2, expected -1 … 1");
  const auto parsed = [](const std::map<std::string, std::string>& given) {
    return parse_options("guidance 'apg'", find_guidance("apg").options, given);
  };
  EXPECT_EQ(parsed({{"eta", "-0.5"}, {"from", "Prompt"}, {"space", "v"}}).at("from"), 1);
  EXPECT_EQ(parsed({{"eta", "-0.5"}}).at("eta"), -0.5);
  EXPECT_EQ(parsed({{"space", "answer"}}).at("space"), parsed({{"space", "prediction"}}).at("space"));  // its name before 0.2
  EXPECT_NE(parsed({{"space", "answer"}}).at("space"), parsed({{"space", "x0"}}).at("space"));
  EXPECT_EQ(parsed({{"eta", "-0.5"}}).at("norm_threshold"), 15);
  EXPECT_EQ(test::complaint_of([&] {
              parsed({{"from", "nothing"}});
            }),
            "UsageError: guidance 'apg': from is 'nothing', expected one of negative, prompt");
  const auto layers = [](const std::string& text) {
    const Options all = parse_options("guidance 'slg'", find_guidance("slg").options, {{"layers", text}});
    return text_of(*std::ranges::find(find_guidance("slg").options, "layers", &Option::name), all.at("layers"));
  };
  EXPECT_EQ(layers("7,8,9"), "7,8,9");
  EXPECT_EQ(layers("52,0,13,0"), "0,13,52");
  EXPECT_EQ(indices_of(set_of({3, 37})), (std::vector<int64_t>{3, 37}));
  for (const char* wrong : {"", "7,", "a", "-1", "53", "7;8", "1.5"})
    EXPECT_EQ(test::complaint_of([&] { layers(wrong); }),
              fmt::format("UsageError: guidance 'slg': layers is '{}', expected indices from 0 to 52 with commas, as in 7,8,9", wrong));
  EXPECT_EQ(complaint({.method = &find_guidance("slg"), .options = {{"layers", 0}}}),
            "UsageError: guidance 'slg': layers is no set of indices, expected some from 0 to 52");
  EXPECT_EQ(test::complaint_of([&] { parsed({{"eta", "1x"}}); }), "UsageError: guidance 'apg': eta is '1x', which is not a number");
}

}  // namespace
}  // namespace hearth::sampling
