#include "weights/weights.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/memory.h"
#include "core/observe.h"
#include "core/quantized/blocks.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "support/tolerance.h"
#include "weights/component_types.h"
#include "weights/deferred.h"
#include "weights/safetensors/safetensors.h"
#include "weights/scope.h"

namespace hearth {
namespace {

using test::message_of;

constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

// Tensors in memory, with the given dtype and shape.
class MemorySource : public TensorSource {
 public:
  explicit MemorySource(std::map<std::string, Tensor> tensors) : tensors_(std::move(tensors)) {}
  std::string describe() const override { return "memory"; }
  std::map<std::string, TensorInfo> list() const override {
    std::map<std::string, TensorInfo> all = extra;
    for (const auto& [name, x] : tensors_) all[name] = {x.dtype(), x.shape(), {}};
    return all;
  }
  bool has(const std::string& name) const override { return tensors_.contains(name) || extra.contains(name); }
  Tensor read(const std::string& name, const Shape&, Backend&) override {
    ++reads[name];
    return tensors_.at(name);
  }
  void release(const std::string& name) override { released.push_back(name); }
  void release_all() override { released.emplace_back("all"); }

  std::map<std::string, TensorInfo> extra;  // listed only
  std::map<std::string, int> reads;
  std::vector<std::string> released;

 private:
  std::map<std::string, Tensor> tensors_;
};

class WeightsTest : public testing::Test {
 protected:
  std::unique_ptr<Backend> device = test::make_test_backend("reference");

  Tensor tensor(const Shape& shape, std::vector<float> values, DType dtype = DType::f32) {
    return Tensor::from(*device, shape, values, dtype);
  }
  Tensor doubles(const Shape& shape, const std::vector<double>& values) {
    Tensor x = Tensor::empty(*device, shape, DType::f64);
    std::ranges::copy(values, x.data<double>());
    return x;
  }
  std::shared_ptr<MemorySource> source(std::map<std::string, Tensor> tensors) { return std::make_shared<MemorySource>(std::move(tensors)); }
};

TEST_F(WeightsTest, values_arrive_in_the_promised_types) {
  const auto s = source({{"b16", tensor({3}, {1, 2, 3}, DType::bf16)},
                         {"h", tensor({2}, {0.5f, 65504}, DType::f16)},
                         {"d", doubles({2}, {0.1, -2})},
                         {"table", tensor({2, 2}, {1, 2, 3, 4}, DType::f16)},
                         {"weight", tensor({2, 3}, {1, 2, 3, 4, 5, 6}, DType::bf16)},
                         {"wide", doubles({1, 2}, {0.1, -2})}});
  Weights w(s, *device);
  const Tensor b16 = w.tensor("b16", {3}), d = w.tensor("d", {2}), h = w.tensor("h", {2}), table = w.table("table", {2, 2});
  EXPECT_EQ(b16.dtype(), DType::f32);
  EXPECT_EQ(b16.to_vector(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(h.to_vector(), (std::vector<float>{0.5f, 65504}));
  EXPECT_EQ(d.to_vector(), (std::vector<float>{0.1f, -2}));
  EXPECT_EQ(table.dtype(), DType::f16);
  EXPECT_EQ(table.to_vector(), (std::vector<float>{1, 2, 3, 4}));
  const Weight weight = w.weight("weight", {2, 3}, WeightKind::linear), wide = w.weight("wide", {1, 2}, WeightKind::linear);
  EXPECT_EQ(weight.form.hold, DType::bf16);
  EXPECT_EQ(weight.shape, (Shape{2, 3}));
  EXPECT_EQ(wide.form.hold, DType::f32);
  w.finish();
  EXPECT_EQ(w.report().tensors, 6);
  EXPECT_EQ(w.report().parameters, 19);
  EXPECT_EQ(s->released, (std::vector<std::string>{"b16", "d", "h", "table", "weight", "wide", "all"}));
}

TEST_F(WeightsTest, one_error_lists_everything_that_does_not_fit) {
  const auto s = source({{"misshapen", tensor({3, 2}, {1, 2, 3, 4, 5, 6})},
                         {"nan", tensor({3}, {1, nan, inf})},
                         {"unread", tensor({1}, {1})},
                         {"ids", Tensor::from(*device, {1}, std::vector<int32_t>{1})}});
  s->extra["odd"] = {DType::f32, {2}, "has the type 'X7', which is not supported"};
  Weights w(s, *device);
  const Scope scope = Scope(w) / "block" / 3;
  EXPECT_FALSE(scope.tensor("weight", {4}));
  EXPECT_FALSE(w.weight("misshapen", {3, 4}, WeightKind::linear));
  EXPECT_FALSE(w.tensor("nan", {3}));
  EXPECT_FALSE(w.tensor("ids", {1}));
  EXPECT_FALSE(w.tensor("odd", {2}));
  EXPECT_EQ(message_of<WeightError>([&] { w.finish(); }),
            "weights: memory: 1 missing: 'block.3.weight' [4]; 1 misshapen: 'misshapen' has shape [3, 2], expected [3, 4]; "
            "2 unreadable: 'ids' has the type i32, expected f32, f16, bf16 or f64, 'odd' has the type 'X7', which is not supported; "
            "1 non-finite: 'nan' has 2 NaN or infinite values of 3; 1 unread: 'unread' [1]");
}

TEST_F(WeightsTest, no_mismatch_is_repaired) {
  for (const Shape& wanted : {Shape{6}, Shape{2, 3}, Shape{3, 2, 1}, Shape{3, 1}, Shape{3, 4}, Shape{1, 2}}) {
    Weights w(source({{"x", tensor({3, 2}, {1, 2, 3, 4, 5, 6})}}), *device);
    EXPECT_FALSE(w.tensor("x", wanted));
    EXPECT_NE(message_of<WeightError>([&] { w.finish(); }).find("'x' has shape [3, 2], expected " + to_string(wanted)), std::string::npos);
  }
}

TEST_F(WeightsTest, a_bad_value_is_fatal_only_if_it_is_used) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const float bad : {nan, inf, -inf}) {
      std::vector<float> values(600000, 1.0f);  // several pieces of the scan, and a bad value in the last
      values.back() = bad;
      const std::map<std::string, Tensor> tensors{{"used", tensor({2}, {1, 2})}, {"bad", tensor({600000}, values, dtype)}};
      Weights unused(source(tensors), *device, {.types = {}, .progress = {}, .ignore = {"bad"}});
      EXPECT_TRUE(unused.tensor("used", {2}));
      EXPECT_NO_THROW(unused.finish());
      Weights used(source(tensors), *device);
      used.tensor("used", {2});
      EXPECT_FALSE(used.tensor("bad", {600000}));
      EXPECT_EQ(message_of<WeightError>([&] { used.finish(); }),
                "weights: memory: 1 non-finite: 'bad' has 1 NaN or infinite values of 600000");
    }
  }
}

TEST_F(WeightsTest, a_truncated_or_longer_checkpoint_is_an_error) {
  const auto build = [](Weights& w, int layers) {
    for (int i = 0; i < layers; ++i) (Scope(w) / "layers" / i).tensor("weight", {1});
    w.finish();
  };
  std::map<std::string, Tensor> layers;
  for (int i = 0; i < 3; ++i) layers["layers." + std::to_string(i) + ".weight"] = tensor({1}, {float(i)});
  Weights whole(source(layers), *device), longer(source(layers), *device);
  EXPECT_NO_THROW(build(whole, 3));
  EXPECT_EQ(message_of<WeightError>([&] { build(longer, 2); }), "weights: memory: 1 unread: 'layers.2.weight' [1]");
  layers.erase("layers.2.weight");
  Weights truncated(source(layers), *device);
  EXPECT_EQ(message_of<WeightError>([&] { build(truncated, 3); }), "weights: memory: 1 missing: 'layers.2.weight' [1]");
}

TEST_F(WeightsTest, long_lists_are_shortened) {
  std::map<std::string, Tensor> many;
  for (int i = 0; i < 13; ++i) many[fmt::format("t{:02}", i)] = tensor({1}, {0});
  EXPECT_EQ(message_of<WeightError>([&] { Weights(source(many), *device).finish(); }),
            "weights: memory: 13 unread: 't00' [1], 't01' [1], 't02' [1], 't03' [1], 't04' [1], 't05' [1], 't06' [1], 't07' [1], 't08' "
            "[1], 't09' [1] and 3 more");
}

TEST_F(WeightsTest, the_ignore_list_is_by_pattern) {
  const auto s = source({{"text_model.embeddings.position_ids", Tensor::from(*device, {1, 2}, std::vector<int32_t>{0, 1})}});
  EXPECT_NO_THROW(Weights(s, *device, {.types = {}, .progress = {}, .ignore = {"*.position_ids"}}).finish());
  EXPECT_THROW(Weights(s, *device, {.types = {}, .progress = {}, .ignore = {"position_ids"}}).finish(), WeightError);
}

// G-09: non-finite values in a tensor that is read but not used are reported and accepted.
TEST_F(WeightsTest, idle_tensors_may_hold_non_finite_values) {
  const auto s = source({{"last.w", tensor({3}, {1, std::nanf(""), 3})}, {"last.b", tensor({1}, {2})}, {"first.w", tensor({1}, {4})}});
  Weights w(s, *device, {.types = {}, .progress = {}, .idle = {"last.*"}});
  EXPECT_TRUE(std::isnan(w.tensor("last.w", {3}).to_vector()[1]));
  w.tensor("last.b", {1}), w.tensor("first.w", {1});
  EXPECT_NO_THROW(w.finish());
  EXPECT_EQ(w.report().non_finite, std::vector<std::string>{"last.w"});
  Weights others(s, *device, {.types = {}, .progress = {}, .ignore = {"first.w"}, .idle = {"last.b"}});
  others.tensor("last.w", {3}), others.tensor("last.b", {1});
  EXPECT_THROW(others.finish(), WeightError);
}

TEST_F(WeightsTest, n12_tensors_that_overflow_f16_stay_wide_and_are_named) {
  std::vector<float> good(1000), tiny(1000), mixed(1000, 1.0f);
  for (int i = 0; i < 1000; ++i) good[size_t(i)] = std::sin(float(i)), tiny[size_t(i)] = 1e-6f * std::sin(float(i));
  mixed[7] = 1e-9f;  // lost, but negligible
  const std::map<std::string, Tensor> tensors{{"good", tensor({10, 100}, good)},    {"over", tensor({1, 2}, {1, 65520})},
                                              {"under", tensor({10, 100}, tiny)},   {"mixed", tensor({10, 100}, mixed)},
                                              {"edge", tensor({1, 2}, {1, 65519})}, {"wide", tensor({1, 2}, {1, 1e30f}, DType::bf16)},
                                              {"zeros", tensor({1, 2}, {0, 0})},    {"table", tensor({1, 2}, {1, 1e6f})}};
  Weights w(source(tensors), *device, {.types = {.hold = DType::f16}, .progress = {}, .ignore = {}});
  std::map<std::string, DType> types;
  for (const auto& [name, x] : tensors)
    if (name != "table") types[name] = w.weight(name, x.shape(), WeightKind::linear).form.hold;
  types["table"] = w.table("table", {1, 2}).dtype();
  w.finish();
  EXPECT_EQ(types, (std::map<std::string, DType>{{"good", DType::f16},
                                                 {"over", DType::f32},
                                                 {"under", DType::f32},
                                                 {"mixed", DType::f16},
                                                 {"edge", DType::f16},
                                                 {"wide", DType::bf16},
                                                 {"zeros", DType::f16},
                                                 {"table", DType::f32}}));
  EXPECT_EQ(w.report().kept_wider, (std::vector<std::string>{"over", "under", "wide", "table"}));
  EXPECT_THROW(Weights(source({}), *device, {.types = {.hold = DType::i8}, .progress = {}, .ignore = {}}), UnsupportedError);
}

TEST_F(WeightsTest, in_place_bf16_and_blocks_have_the_requested_factors) {
  const Tensor blocks = Tensor::empty(*device, {3, 64}, DType::q4_0);
  std::memset(blocks.raw(), 0, blocks.bytes());
  const auto file =
      source({{"bf16", tensor({2, 2}, {1, 2, 3, 4}, DType::bf16)}, {"f16", tensor({2, 2}, {1, 2, 3, 4}, DType::f16)}, {"q4_0", blocks}});
  const auto factors = [&](WeightTypes types, const std::string& name, bool exact = false) {
    types.in_place = true;
    return Weights(file, *device, {.types = types})
        .weight(name, name == "q4_0" ? Shape{3, 64} : Shape{2, 2}, WeightKind::linear, exact)
        .form.factors;
  };
  const WeightTypes stored{.factors = DType::bf16}, rounded{.hold = DType::bf16, .factors = DType::bf16}, integers{.factors = DType::i16};
  EXPECT_EQ(factors(stored, "bf16"), DType::bf16);
  EXPECT_EQ(factors(stored, "bf16", true), DType::f32);
  EXPECT_EQ(factors(stored, "f16"), DType::f32);
  EXPECT_EQ(factors(rounded, "f16"), DType::bf16);
  EXPECT_EQ(factors(rounded, "q4_0"), DType::bf16);
  EXPECT_EQ(factors(stored, "q4_0"), DType::bf16);
  EXPECT_EQ(factors(stored, "q4_0", true), DType::f32);
  EXPECT_EQ(factors(integers, "q4_0"), DType::i16);
  EXPECT_EQ(factors(integers, "bf16"), DType::f32);
}

// Blocks are weights in place; the other weights have the requested dtype, but are not widened.
TEST_F(WeightsTest, components_with_blocks_stay_in_their_file) {
  const Tensor blocks = Tensor::empty(*device, {1, 64}, DType::q8_0);
  const std::vector<float> values(64, 3);
  encode_blocks(DType::q8_0, values.data(), 64, blocks.raw());
  const auto plain = source({{"a", tensor({2}, {1, 2})}}), file = source({{"a", tensor({2}, {1, 2})}, {"q", blocks}});
  EXPECT_FALSE(component_types(*plain, *device, {}).in_place);
  EXPECT_EQ(component_types(*plain, *device, WeightTypes{.hold = DType::f16}).hold, DType::f16);
  const WeightTypes automatic = component_types(*file, *device, {}), f32 = component_types(*file, *device, WeightTypes{.hold = DType::f32}),
                    bf16 = component_types(*file, *device, WeightTypes{.hold = DType::bf16, .factors = DType::bf16});
  EXPECT_TRUE(automatic.in_place && f32.in_place && bf16.in_place);
  EXPECT_FALSE(automatic.hold || f32.hold);
  EXPECT_EQ(bf16.hold, DType::bf16);
  EXPECT_EQ(automatic.factors, DType::i16);
  EXPECT_EQ(f32.factors, DType::f32);
  EXPECT_EQ(bf16.factors, DType::bf16);

  Weights w(file, *device, {.types = automatic, .ignore = {"a"}});
  EXPECT_EQ(w.tensor("q", {1, 64}).dtype(), DType::f32);  // a bias or the like is dequantized
  EXPECT_EQ(w.tensor("q", {1, 64}).to_vector(), blocks.to_vector());
  EXPECT_EQ(w.weight("q", {1, 64}, WeightKind::linear).form.hold, DType::q8_0);
}

TEST_F(WeightsTest, tables_are_rounded_to_the_type_to_hold) {
  Weights w(source({{"t", tensor({1, 2}, {1, 1.0f / 3})}}), *device, {.types = {.hold = DType::bf16}, .progress = {}, .ignore = {}});
  const Tensor t = w.table("t", {1, 2});
  EXPECT_EQ(t.dtype(), DType::bf16);
  EXPECT_EQ(t.to_vector()[1], bf16_to_f32(f32_to_bf16(1.0f / 3)));
}

TEST_F(WeightsTest, progress_counts_bytes_without_ignored_tensors) {
  std::vector<std::pair<int64_t, int64_t>> seen;
  const auto s = source({{"a", tensor({2}, {1, 2})}, {"b", tensor({3}, {1, 2, 3}, DType::f16)}, {"c", tensor({9}, std::vector<float>(9))}});
  Weights w(
      s, *device,
      {.types = {}, .progress = [&](const Progress& p) { seen.emplace_back(p.done, p.phase == "load" ? p.total : -1); }, .ignore = {"c"}});
  w.tensor("a", {2});
  w.tensor("b", {3});
  w.tensor("b", {3});  // a tied weight counts once
  EXPECT_EQ(seen, (std::vector<std::pair<int64_t, int64_t>>{{8, 14}, {14, 14}, {14, 14}}));
  EXPECT_EQ(w.report().tensors, 2);
}

TEST_F(WeightsTest, loading_can_be_canceled) {
  const std::atomic<bool> stop{true};
  const CancelScope scope(stop);
  Weights w(source({{"a", tensor({2}, {1, 2})}}), *device);
  EXPECT_THROW(w.tensor("a", {2}), Canceled);
}

TEST_F(WeightsTest, held_bytes_are_those_the_backend_took) {
  const int64_t before = MemoryLedger::process().use().now;
  Weights w(source({{"a", tensor({64}, std::vector<float>(64))}}), *device);
  const int64_t source_bytes = MemoryLedger::process().use().now - before;
  const Tensor a = w.tensor("a", {64});
  EXPECT_EQ(w.report().bytes_held, 256);
  EXPECT_GE(MemoryLedger::process().use().now - before - source_bytes, 256);
}

// A checkpoint may be moved or replaced while a model runs. Only a table in its stored dtype stays in the file.
BACKEND_TEST(WeightsFromFiles, loaded_weights_do_not_need_the_file_name) {
  const test::TemporaryFolder folder;
  const auto path = folder / "w.safetensors";
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const auto write = [&](float factor) {
    std::vector<float> scaled = values;
    for (float& v : scaled) v *= factor;
    write_safetensors(path, {{"bias", Tensor::from(device, {6}, scaled)},
                             {"m.weight", Tensor::from(device, {2, 3}, scaled, DType::f16)},
                             {"table.weight", Tensor::from(device, {2, 3}, scaled, DType::f16)}});
  };
  write(1);
  const auto source = SafetensorsFile::open(path);
  Weights w(source, device), rounded(source, device, {.types = {.hold = DType::bf16}});
  const Tensor bias = w.tensor("bias", {6}), table = w.table("table.weight", {2, 3});
  const Weight m = w.weight("m.weight", {2, 3}, WeightKind::linear);
  w.finish();
  EXPECT_EQ(w.report().bytes_held, int64_t(6 * sizeof(float) + m.prepared->bytes));  // the table is not in memory
  const Tensor other_type = rounded.table("table.weight", {2, 3});
  EXPECT_EQ(other_type.dtype(), DType::f16);  // bf16 is not narrower, so rounding would gain nothing
  EXPECT_EQ(rounded.report().bytes_held, 0);
  write(2);  // replaces the file
  EXPECT_EQ(table.to_vector(), values);
  source->require_unchanged();
  std::filesystem::remove(path);
  EXPECT_EQ(table.to_vector(), values);
  EXPECT_EQ(bias.to_vector(), values);
  EXPECT_EQ(other_type.to_vector(), values);
}

BACKEND_TEST(WeightsFromFiles, a_modified_file_is_not_read_again) {
  const test::TemporaryFolder folder;
  const auto path = folder / "w.safetensors";
  write_safetensors(path, {{"bias", Tensor::zeros(device, {600})}});
  const auto source = SafetensorsFile::open(path);
  Weights w(source, device);
  const Tensor bias = w.tensor("bias", {600});
  std::filesystem::resize_file(path, 100);
  EXPECT_THROW(source->require_unchanged(), IoError);
  EXPECT_THROW(w.tensor("bias", {600}), IoError);  // not a bus error
  EXPECT_EQ(bias.to_vector(), std::vector<float>(600));
}

// A part that is loaded later is checked at once, and read when it is used.
BACKEND_TEST(WeightsFromFiles, a_deferred_part) {
  struct Part {
    explicit Part(const Scope& w) : a(w.tensor("a", {2})), b(w.conv2d("b", 3, 2, 1)) {}
    Tensor a;
    Weight b;
  };
  const test::TemporaryFolder folder;
  const auto open = [&](float last, const Shape& shape) {
    write_safetensors(folder / "w.safetensors", {{"part.a", Tensor::from(device, {2}, std::vector<float>{1, last})},
                                                 {"part.b", Tensor::zeros(device, shape)},
                                                 {"other", Tensor::zeros(device, {4})}});
    return SafetensorsFile::open(folder / "w.safetensors");
  };
  const auto build = [](const Scope& s) { return Part(s); };
  {
    Weights w(open(2, {3, 2, 1, 1}), device);
    const Deferred<Part> part(Scope(w) / "part", build);
    w.tensor("other", {4});
    w.finish();  // nothing is left unread
    EXPECT_EQ(w.report().parameters, 12);
    EXPECT_EQ(w.report().bytes_held, 16);
    EXPECT_FALSE(part.loaded());
    const Deferred<Part> same = part;
    EXPECT_EQ((*part).a.to_vector(), (std::vector<float>{1, 2}));
    EXPECT_TRUE((*same).b.prepared);
    EXPECT_EQ(&*same, &*part);
  }
  {
    Weights w(open(2, {3, 2, 1, 2}), device);
    const Deferred<Part> part(Scope(w) / "part", build);
    const std::string message = message_of<WeightError>([&] { w.finish(); });
    EXPECT_NE(message.find("'part.b' has shape [3, 2, 1, 2]"), std::string::npos) << message;
    EXPECT_NE(message.find("unread: 'other'"), std::string::npos) << message;
    EXPECT_EQ(message.find("part.a"), std::string::npos) << message;
  }
  Weights w(open(nan, {3, 2, 1, 1}), device);
  const Deferred<Part> part(Scope(w) / "part", build);
  w.tensor("other", {4});
  w.finish();
  for (int i = 0; i < 2; ++i) EXPECT_NE(message_of<WeightError>([&] { *part; }).find("part.a"), std::string::npos);
  Weights seen(open(nan, {3, 2, 1, 1}), device, {}, Weights::Reading::numbers);
  const int64_t before = MemoryLedger::process().use().now;
  EXPECT_FALSE(Part(Scope(seen) / "part").b);
  EXPECT_EQ(MemoryLedger::process().use().now, before);
  const std::string message = message_of<WeightError>([&] { seen.finish(); });
  EXPECT_NE(message.find("1 non-finite: 'part.a'"), std::string::npos) << message;
}

}  // namespace
}  // namespace hearth
