#include "models/stable_cascade/stage_a.h"

#include <set>

#include "parts/golden_case_test.h"

namespace hearth::models::stable_cascade {
namespace {

using parts::expect_error;

struct StageACase : parts::GoldenCase {
  StageACase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}
};

void check_stage_a(Backend& device, const char* name, double limit) {
  const StageACase c(name, device);
  Weights w = c.weights();
  const StageA net(Scope(w), StageAConfig::from(c.config()));
  w.finish();
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  const Tensor y = net.decode(c.input("x", {c.fact("batch"), c.fact("height"), c.fact("width"), net.settings.latent_channels}));
  EXPECT_CLOSE(ops::scaled(y, 0.5f, 0.5f), c.golden.values("y"), limit);  // the reference's images are 0 … 1
  c.expect_taps(recorder, limit);
}

BACKEND_TEST(CascadeStageA, matches_reference) { check_stage_a(device, "vq", 1.5e-6); }                        // observed 1.5e-7
BACKEND_TEST(CascadeStageA, matches_reference_with_three_levels) { check_stage_a(device, "vq_three", 2e-6); }  // observed 2.6e-7
BACKEND_TEST(CascadeStageA, eps_of_each_norm) { check_stage_a(device, "vq_faint", 2e-5); }                     // observed 4.5e-6

// Tiles are decoded with all that they depend on.
BACKEND_TEST(CascadeStageA, tiles_do_not_change_the_image) {
  const StageACase c("vq", device);
  Weights w = c.weights();
  const StageA net(Scope(w), StageAConfig::from(c.config()));
  const Tensor z = c.input("x", {1, 21, 17, 4});
  const Tensor whole = net.decode(z), tiled = net.decode_in_tiles(z, 8);
  EXPECT_EQ(tiled.shape(), (Shape{1, 84, 68, 3}));
  EXPECT_CLOSE(tiled, whole.to_vector(), 1e-6);
  expect_error<UsageError>([&] { net.decode_in_tiles(z, 6); }, {"tile"});
  expect_error<ShapeError>([&] { net.decode(c.input("x", {1, 4, 4, 3})); }, {"expected [B, H, W, 4]"});
  expect_error<UnsupportedError>([&] { net.encode(z); }, {"decoder only"});
}

TEST(CascadeStageAConfig, keys_are_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const StageACase c("vq_three", *device);
  const StageAConfig a = StageAConfig::from(c.config());
  EXPECT_EQ(a.factor(), 12);
  EXPECT_EQ(StageAConfig::from(Config::parse("{}", "empty")).codec().factor, 4);
  expect_error<UnsupportedError>([&] { StageAConfig::from(c.config_with("out_channels", 4)); }, {"out_channels"});
  expect_error<UnsupportedError>([&] { StageAConfig::from(c.config_with("a_key_of_next_year", 4)); }, {"a_key_of_next_year"});
  expect_error<WeightError>([&] { StageAConfig::from(c.config_with("levels", 7)); }, {"embed_dim"});
}

}  // namespace
}  // namespace hearth::models::stable_cascade
