#include "sampling/tokens/parameters.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "core/error.h"
#include "support/files.h"

namespace hearth::sampling {
namespace {

using P = SamplingParameters;
constexpr double infinity = std::numeric_limits<double>::infinity();

std::string complaint(const std::function<void(P&)>& change) {
  P p;
  change(p);
  return test::message_of<UsageError>([&] { check(p); });
}

TEST(SamplingParameters, each_range_is_checked_by_name) {
  const std::string number = "expected a number of at least 0", unit = "expected a number from 0 to 1",
                    below_1 = "expected a number from 0 to below 1";
  const std::vector<std::pair<std::function<void(P&)>, std::string>> bad{
      {[](P& p) { p.temperature = -1; }, "--temperature -1: " + number},
      {[](P& p) { p.temperature = NAN; }, "--temperature nan: " + number},
      {[](P& p) { p.temperature = infinity; }, "--temperature inf: " + number},
      {[](P& p) { p.top_k = -1; }, "--top-k -1: expected 0 (off) or more"},
      {[](P& p) { p.top_p = 1.5; }, "--top-p 1.5: " + unit},
      {[](P& p) { p.top_p = -0.1; }, "--top-p -0.1: " + unit},
      {[](P& p) { p.top_p = NAN; }, "--top-p nan: " + unit},
      {[](P& p) { p.min_p = 1.01; }, "--min-p 1.01: " + unit},
      {[](P& p) { p.typical_p = 0; }, "--typical-p 0: expected a number above 0, up to 1"},
      {[](P& p) { p.typical_p = 2; }, "--typical-p 2: expected a number above 0, up to 1"},
      {[](P& p) { p.epsilon_cutoff = 1; }, "--epsilon-cutoff 1: " + below_1},
      {[](P& p) { p.epsilon_cutoff = -1; }, "--epsilon-cutoff -1: " + below_1},
      {[](P& p) { p.eta_cutoff = 1; }, "--eta-cutoff 1: " + below_1},
      {[](P& p) { p.eta_cutoff = -1; }, "--eta-cutoff -1: " + below_1},
      {[](P& p) { p.top_n_sigma = -1; }, "--top-n-sigma -1: " + number},
      {[](P& p) { p.xtc_probability = 2; }, "--xtc-probability 2: " + unit},
      {[](P& p) { p.xtc_threshold = 2; }, "--xtc-threshold 2: " + unit},
      {[](P& p) { p.mirostat = 1; }, "--mirostat 1: expected 0 (off) or 2"},
      {[](P& p) { p.mirostat_tau = -1; }, "--mirostat-tau -1: " + number},
      {[](P& p) { p.mirostat_eta = 1.5; }, "--mirostat-eta 1.5: " + unit},
      {[](P& p) { p.repetition_penalty = 0; }, "--repetition-penalty 0: expected a number above 0"},
      {[](P& p) { p.repetition_penalty = infinity; }, "--repetition-penalty inf: expected a number above 0"},
      {[](P& p) { p.presence_penalty = NAN; }, "--presence-penalty nan: expected a finite number"},
      {[](P& p) { p.frequency_penalty = infinity; }, "--frequency-penalty inf: expected a finite number"},
      {[](P& p) { p.repeat_last_n = -2; }, "--repeat-last-n -2: expected -1 (all) or more"},
      {[](P& p) { p.dry.multiplier = -1; }, "--dry-multiplier -1: " + number},
      {[](P& p) { p.dry.base = 0.5; }, "--dry-base 0.5: expected a number of at least 1"},
      {[](P& p) { p.dry.base = infinity; }, "--dry-base inf: expected a number of at least 1"},
      {[](P& p) { p.dry.allowed_length = 0; }, "--dry-allowed-length 0: expected 1 or more"},
      {[](P& p) { p.dry.last_n = -2; }, "--dry-last-n -2: expected -1 (all) or more"},
      {[](P& p) {
         p.dry.breakers = {{1}, {}};
       },
       "--dry-sequence-breaker of no tokens: expected at least one token"},
      {[](P& p) {
         p.sequence_bias = {{{1, -5}, 1}};
       },
       "--logit-bias 1,-5: expected token ids of at least 0"},
      {[](P& p) {
         p.sequence_bias = {{{}, 1}};
       },
       "--logit-bias : expected token ids of at least 0"},
      {[](P& p) {
         p.sequence_bias = {{{1}, NAN}};
       },
       "--logit-bias nan: expected a finite number, or -inf to forbid the token"},
      {[](P& p) {
         p.sequence_bias = {{{1}, float(infinity)}};
       },
       "--logit-bias inf: expected a finite number, or -inf to forbid the token"},
      {[](P& p) { p.no_repeat_ngram_size = -1; }, "--no-repeat-ngram-size -1: expected 0 (off) or more"},
      {[](P& p) { p.min_new_tokens = -1; }, "--min-new-tokens -1: expected 0 or more"},
      {[](P& p) { p.min_length = -1; }, "--min-length -1: expected 0 or more"},
      {[](P& p) { p.vocabulary = -1; }, "--vocabulary -1: expected 0 (all) or more"}};
  for (const auto& [change, message] : bad) EXPECT_EQ(complaint(change), message);
}

TEST(SamplingParameters, the_ends_of_the_ranges_are_allowed) {
  EXPECT_EQ(complaint([](P&) {}), "");
  EXPECT_EQ(complaint([](P& p) {
              p = {.temperature = 0, .top_p = 0, .min_p = 1, .epsilon_cutoff = 0, .xtc_probability = 1, .xtc_threshold = 0};
            }),
            "");
  EXPECT_EQ(
      complaint([](P& p) { p = {.temperature = 1e30, .top_p = 1, .typical_p = 1, .mirostat = 2, .mirostat_tau = 0, .mirostat_eta = 1}; }),
      "");
  EXPECT_EQ(complaint([](P& p) {
              p = {.repetition_penalty = 0.01, .presence_penalty = -3, .repeat_last_n = 0, .dry = {.base = 1, .last_n = 0}};
            }),
            "");
  EXPECT_EQ(complaint([](P& p) { p.sequence_bias = {{{0}, -float(infinity)}}; }), "");
}

std::string names(std::string_view order) {
  std::string all;
  for (const Stage stage : sampling_order(order)) all += std::string(name_of(stage)) + " ";
  return all;
}

TEST(SamplingParameters, orders) {
  EXPECT_EQ(names("hf"), "penalties dry temperature top_n_sigma top_k top_p min_p typical_p epsilon_cutoff eta_cutoff xtc ");
  EXPECT_EQ(names("llama.cpp"), "penalties dry top_n_sigma top_k typical_p top_p min_p epsilon_cutoff eta_cutoff xtc temperature ");
  EXPECT_EQ(names("xtc,top_k"), "xtc top_k ");
  const std::string stages = "penalties,dry,temperature,top_n_sigma,top_k,top_p,min_p,typical_p,epsilon_cutoff,eta_cutoff,xtc";
  for (const std::string name : {"topk", ""})
    EXPECT_EQ(test::message_of<UsageError>([&] { sampling_order("top_p," + name); }),
              "--sampling-order: '" + name + "' is not a stage, expected hf, llama.cpp or a list of " + stages);
  EXPECT_EQ(test::message_of<UsageError>([] { sampling_order("top_p,xtc,top_p"); }), "--sampling-order: 'top_p' occurs twice");
}

TEST(SamplingParameters, a_stage_that_is_set_must_be_in_the_order) {
  const std::vector<std::pair<std::function<void(P&)>, std::string>> set{{[](P& p) { p.repetition_penalty = 2; }, "penalties"},
                                                                         {[](P& p) { p.presence_penalty = 2; }, "penalties"},
                                                                         {[](P& p) { p.frequency_penalty = 2; }, "penalties"},
                                                                         {[](P& p) { p.dry.multiplier = 2; }, "dry"},
                                                                         {[](P& p) { p.temperature = 2; }, "temperature"},
                                                                         {[](P& p) { p.top_n_sigma = 2; }, "top_n_sigma"},
                                                                         {[](P& p) { p.top_k = 2; }, "top_k"},
                                                                         {[](P& p) { p.top_p = 0.5; }, "top_p"},
                                                                         {[](P& p) { p.min_p = 0.5; }, "min_p"},
                                                                         {[](P& p) { p.typical_p = 0.5; }, "typical_p"},
                                                                         {[](P& p) { p.epsilon_cutoff = 0.5; }, "epsilon_cutoff"},
                                                                         {[](P& p) { p.eta_cutoff = 0.5; }, "eta_cutoff"},
                                                                         {[](P& p) { p.xtc_probability = 0.5; }, "xtc"}};
  for (const auto& [change, name] : set) {
    std::string others;
    for (const Stage stage : sampling_order("hf"))
      if (name_of(stage) != name) others += fmt::format("{}{}", others.empty() ? "" : ",", name_of(stage));
    const auto with = [&, c = change](const std::string& order) {
      return complaint([&](P& p) {
        c(p);
        p.order = sampling_order(order);
      });
    };
    EXPECT_EQ(with(others), "--sampling-order: " + name + " is set but not listed, expected " + name + " in the order");
    EXPECT_EQ(with(name), "");
  }
  EXPECT_EQ(complaint([](P& p) { p = {.temperature = 0, .order = sampling_order("top_k")}; }), "");
}

}  // namespace
}  // namespace hearth::sampling
