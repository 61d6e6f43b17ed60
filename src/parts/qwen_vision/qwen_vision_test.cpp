#include "parts/qwen_vision/qwen_vision.h"

#include <set>

#include "parts/golden_case_test.h"

namespace hearth::parts {
namespace {

struct VisionCase : GoldenCase {
  VisionCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  Tensor run(const Config& json, const LoadOptions& options = {}) const {
    const QwenVisionConfig c = QwenVisionConfig::from(json);
    Weights w = weights(options);
    const QwenVision net(Scope(w), c);
    w.finish();
    const std::vector<int64_t> grid = fact("grid");
    return net(input("pixels", {grid[0] * c.patch, grid[1] * c.patch, c.channels}));
  }
};

void check_qwen_vision(Backend& device, const char* name, double limit) {
  const VisionCase c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("y"), limit);
  c.expect_taps(recorder, limit);
}

BACKEND_TEST(QwenVision, matches_reference_with_windows_cut_off) { check_qwen_vision(device, "cut", 5e-6); }
BACKEND_TEST(QwenVision, matches_reference_with_whole_windows) { check_qwen_vision(device, "whole", 5e-6); }
BACKEND_TEST(QwenVision, matches_reference_of_less_than_a_window) { check_qwen_vision(device, "small", 5e-6); }
BACKEND_TEST(QwenVision, eps_of_each_norm) { check_qwen_vision(device, "faint", 5e-6); }

// Changing each key alone gives the result of the reference.
BACKEND_TEST(QwenVision, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 5e-6;
  const VisionCase c("perturbed", device);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("base"), limit);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    EXPECT_CLOSE(c.run(c.config_with(change["key"], change["value"])), c.golden.values(fmt::format("y.{}", i++)), limit);
  }
}

BACKEND_TEST(QwenVision, streamed_blocks_give_the_same_bits) {
  const VisionCase c("cut", device);
  EXPECT_EQ(c.run(c.config(), {.resident = 0}).to_vector(), c.run(c.config()).to_vector());
}

BACKEND_TEST(QwenVision, pixels_that_do_not_fit_are_refused) {
  const VisionCase c("cut", device);
  Weights w = c.weights();
  const QwenVision net(Scope(w), QwenVisionConfig::from(c.config()));
  EXPECT_EQ(net(Tensor::zeros(device, {8, 16, 3})).shape(), (Shape{2, 12}));
  EXPECT_THROW(net(Tensor::zeros(device, {8, 12, 3})), ShapeError);
  EXPECT_THROW(net(Tensor::zeros(device, {8, 16, 4})), ShapeError);
  EXPECT_THROW(net(Tensor::zeros(device, {0, 16, 3})), ShapeError);
}

TEST(QwenWindows, every_patch_is_in_one_window) {
  const QwenVisionConfig c{.patch = 4, .merge = 2, .window = 16};
  const QwenWindows order(c, 6, 10);
  EXPECT_EQ(std::set<int32_t>(order.patches.begin(), order.patches.end()).size(), 60u);
  EXPECT_EQ(order.windows.size(), 6u);
  EXPECT_EQ(order.windows[2], (std::array<int64_t, 2>{32, 40}));  // the last column of squares, in the first rows
  EXPECT_EQ(std::vector<int32_t>(order.patches.begin() + 32, order.patches.begin() + 36), (std::vector<int32_t>{8, 9, 18, 19}));
}

TEST(QwenVisionConfig, the_published_config_asks_for_exactly_the_published_tensors) {
  struct Asked : TensorSource {
    std::string describe() const override { return "names alone"; }
    std::map<std::string, TensorInfo> list() const override { return {}; }
    bool has(const std::string&) const override { return true; }
    Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
      shapes[name] = {wanted.begin(), wanted.end()};
      return Tensor::empty(backend, wanted);
    }
    std::map<std::string, std::vector<int64_t>> shapes;
  };
  const Structure s(__FILE__, "qwen-vl-7b");
  MemoryLedger ledger;
  const std::unique_ptr<Backend> plan = make_plan_backend(ledger);
  const auto asked = std::make_shared<Asked>();
  Weights weights(asked, *plan);
  const QwenVision net(Scope(weights), QwenVisionConfig::from(s.config()));
  EXPECT_EQ(asked->shapes, (s.json.at("tensors").get<std::map<std::string, std::vector<int64_t>>>()));
  EXPECT_EQ(net(Tensor::empty(*plan, {140, 56, 3})).shape(), (Shape{10, 3584}));
}

TEST(QwenVisionConfig, defaults_are_the_reference_s) { expect_reference_defaults<QwenVisionConfig>(__FILE__); }

TEST(QwenVisionConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const VisionCase c("perturbed", *device);
  const auto read = [&](const std::string& key, const nlohmann::json& value) { return QwenVisionConfig::from(c.config_with(key, value)); };
  expect_error<UnsupportedError>([&] { read("model_type", "qwen2_vl"); }, {"model_type", "config.json"});
  expect_error<UnsupportedError>([&] { read("new_key", 1); }, {"new_key"});
  expect_error<UnsupportedError>([&] { read("patch_size", nullptr); }, {"patch_size"});
  expect_error<WeightError>([&] { read("num_heads", 3); }, {"num_heads"});
  expect_error<WeightError>([&] { read("window_size", 4); }, {"window_size"});
  expect_error<WeightError>([&] { read("depth", 0); }, {"depth"});
}

}  // namespace
}  // namespace hearth::parts
