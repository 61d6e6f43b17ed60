// Decoders as text encoders, with the configurations of their families, compared with transformers (golden/make.py).
#include <algorithm>
#include <functional>

#include "models/language_registry.h"
#include "parts/decoder/text_encoder.h"
#include "parts/golden_case_test.h"
#include "support/complaint.h"

namespace hearth::models::language_encoder {
namespace {

using parts::DecoderTextEncoder, parts::PaddedText;

parts::DecoderConfig decoder(const Config& config) {
  const std::string type = config.text("model_type");
  for (const auto& [name, family] : language_families())
    if (std::ranges::find(family.model_types, type) != family.model_types.end()) return family.decoder(config);
  return {};
}

struct EncoderCase : parts::GoldenCase {
  EncoderCase(const std::string& name, Backend& backend)
      : GoldenCase(__FILE__, name, backend), states(fact("states").get<std::vector<int64_t>>()) {
    text.ids = fact("ids").get<std::vector<int32_t>>(), text.begin = fact("begin"), text.end = fact("end");
  }

  std::vector<std::vector<Tensor>> run(const std::vector<PaddedText>& texts, const std::vector<int64_t>& wanted,
                                       const LoadOptions& options = {}) const {
    Weights w = weights(options);
    const DecoderTextEncoder net(Scope(w), decoder(config()), wanted);
    w.finish();
    return net(texts);
  }

  // With the rows and positions of an image.
  PaddedText with_image() const {
    PaddedText all = text;
    all.inserted.push_back({.at = fact("at"), .rows = input("rows", {fact("rows"), 24})});
    all.positions = fact("positions").get<std::vector<parts::RotaryConfig::Position>>();
    return all;
  }

  std::vector<int64_t> states;
  PaddedText text;
};

void check(Backend& device, const char* name, double limit, bool with_image = false) {
  const EncoderCase c(name, device);
  const std::vector<Tensor> made = c.run({with_image ? c.with_image() : c.text}, c.states).at(0);
  ASSERT_EQ(made.size(), c.states.size());
  const int64_t thin = c.fact("thin");
  for (size_t i = 0; i < made.size(); ++i) {
    ASSERT_EQ(made[i].size(0), std::ssize(c.text.ids));
    const std::vector<float> all = made[i].to_vector();
    const int64_t C = made[i].size(1);
    std::vector<float> kept;
    for (int64_t t = 0; t < made[i].size(0); t += thin) kept.insert(kept.end(), all.begin() + t * C, all.begin() + (t + 1) * C);
    EXPECT_CLOSE(kept, c.golden.values(fmt::format("state.{}", c.states[i])), limit);
  }
}

BACKEND_TEST(TextEncoder, matches_reference) { check(device, "qwen3", 3e-6); }  // observed 2.7e-7 reference, 5.1e-7 cpu
BACKEND_TEST(TextEncoder, matches_reference_with_padding_behind) { check(device, "qwen3_behind", 3e-6); }      // observed 6.3e-7
BACKEND_TEST(TextEncoder, matches_reference_with_padding_in_front) { check(device, "qwen3_in_front", 3e-6); }  // observed 5.4e-7
BACKEND_TEST(TextEncoder, matches_reference_in_several_pieces) { check(device, "qwen3_long", 3e-6); }          // observed 5.0e-7
BACKEND_TEST(TextEncoder, matches_reference_with_windows_and_caps) { check(device, "gemma2", 6e-6); }          // observed 1.2e-6
BACKEND_TEST(TextEncoder, matches_reference_with_padding_on_both_sides) { check(device, "mistral", 3e-6); }    // observed 5.0e-7

BACKEND_TEST(TextEncoder, matches_reference_with_an_image) { check(device, "images", 3e-6, true); }

BACKEND_TEST(TextEncoder, images_that_do_not_fit_are_refused) {
  const EncoderCase c("images", device);
  const auto refused = [&](const std::function<void(PaddedText&)>& change) {
    PaddedText text = c.with_image();
    change(text);
    return test::complaint_of([&] { c.run({text}, {1}); });
  };
  EXPECT_EQ(refused([](PaddedText& t) { t.inserted[0].at = 13; }),
            "ShapeError: text encoder: rows [6, 24] from token 13 on of 18, expected [n, 24] within the text, one after another");
  EXPECT_EQ(refused([](PaddedText& t) { t.positions.pop_back(); }),
            "ShapeError: text encoder: 17 positions of 18 tokens, expected as many");
  EXPECT_EQ(refused([](PaddedText& t) { t.end = 17; }), "UnsupportedError: text encoder: a text with images and padding is not supported");
  const EncoderCase plain("qwen3", device);
  PaddedText text = plain.text;
  text.positions.resize(text.ids.size());
  EXPECT_EQ(test::complaint_of([&] { plain.run({text}, {1}); }),
            "UnsupportedError: decoder: positions of images are not supported by a model without 'mrope_section'");
}

// Neither padding nor other texts change a prompt's rows.
BACKEND_TEST(TextEncoder, a_text_does_not_depend_on_others) {
  const EncoderCase c("qwen3_behind", device);
  PaddedText alone{{c.text.ids.begin(), c.text.ids.begin() + c.text.end}, 0, c.text.end}, other = alone;
  std::ranges::reverse(other.ids);
  const auto single = c.run({alone}, {1, 3}), all = c.run({other, c.text, alone}, {1, 3});
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(all[2][i].to_vector(), single[0][i].to_vector());
    EXPECT_EQ(all[1][i].slice(0, 0, c.text.end).to_vector(), single[0][i].to_vector());
    EXPECT_NE(all[0][i].to_vector(), single[0][i].to_vector());
  }
}

// Layers behind the last state are not loaded; they may be streamed.
BACKEND_TEST(TextEncoder, only_the_layers_that_are_needed_are_loaded) {
  const EncoderCase c("qwen3", device);
  const parts::DecoderConfig config = decoder(c.config());
  const auto bytes = [&](const std::vector<int64_t>& states) {
    Weights w = c.weights();
    const DecoderTextEncoder net(Scope(w), config, states);
    w.finish();
    return w.report().bytes_held;
  };
  const int64_t one = bytes({1}) - bytes({0});
  EXPECT_GT(one, 0);
  EXPECT_EQ(bytes({2}) - bytes({1}), one);
  EXPECT_EQ(bytes({3}) - bytes({2}), one + config.width * int64_t(sizeof(float)));  // the last norm
  const auto wanted = c.run({c.text}, {2})[0][0].to_vector();
  EXPECT_EQ(c.run({c.text}, {2}, {.resident = 0})[0][0].to_vector(), wanted);
}

BACKEND_TEST(TextEncoder, what_does_not_fit_is_refused) {
  const EncoderCase c("gemma2", device);
  const auto refused = [&](const PaddedText& text, const std::vector<int64_t>& states = {1}) {
    return test::complaint_of([&] { c.run({text}, states); });
  };
  EXPECT_EQ(refused(c.text, {4}), "UsageError: text encoder: hidden state 4 of a decoder with 3 layers, expected 0 to 3");
  EXPECT_EQ(refused({{1, 2}, 1, 1}), "UsageError: text encoder: a prompt from 1 to 1 of 2 tokens, expected at least one token");
  EXPECT_EQ(refused({{1, 99}, 0, 2}), "UsageError: decoder: token id 99 is outside the vocabulary of 59");
  EXPECT_EQ(refused({std::vector<int32_t>(50, 1), 0, 9}),
            "UnsupportedError: text encoder: padding is not supported with a window of 40 in a text of 50 tokens");
  EXPECT_EQ(refused({{1, 2, 3}, 2, 3}), "UsageError: text encoder: padding 1 and 2 in front of a prompt, expected one token");
}

}  // namespace
}  // namespace hearth::models::language_encoder
