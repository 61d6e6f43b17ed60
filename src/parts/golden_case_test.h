// Shared by the tests of the networks: goldens that contain the reference's config.json, and the structure of the
// published full-size networks.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/plan/plan_backend.h"
#include "core/files/config.h"
#include "core/observe.h"
#include "support/backend_test.h"
#include "support/golden.h"
#include "support/tolerance.h"
#include "weights/scope.h"
#include "weights/seeded.h"

namespace hearth::parts {

// Weights by name, all except those of norms multiplied by a factor, as tools/golden.py does.
class ScaledSource : public TensorSource {
 public:
  explicit ScaledSource(float factor) : factor_(factor) {}
  std::string describe() const override { return "scaled seeded weights"; }
  std::map<std::string, TensorInfo> list() const override { return {}; }
  bool has(const std::string&) const override { return true; }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    std::vector<float> values = seeded_values(name, wanted);
    if (name.find("norm") == std::string::npos)
      for (float& v : values) v *= factor_;
    return Tensor::from(backend, wanted, values);
  }

 private:
  float factor_;
};

struct GoldenCase {
  GoldenCase(const char* source_file, const std::string& name, Backend& device_)
      : golden(source_file, name, device_),
        facts(nlohmann::json::parse(golden.metadata().at("facts"))),
        config_json(fact("config")),
        device(&device_) {}

  nlohmann::json fact(const std::string& key) const { return facts.at(key); }
  Config config() const { return Config::parse(config_json.dump(), "config.json"); }
  // The same config with one key changed.
  Config config_with(const std::string& key, const nlohmann::json& value) const {
    nlohmann::json changed = config_json;
    changed[key] = value;
    return Config::parse(changed.dump(), "config.json");
  }
  Weights weights(const LoadOptions& options = {}) const {
    return Weights(std::make_shared<ScaledSource>(fact("factor").get<float>()), *device, options);
  }
  // The input that the recipe generated under this name.
  Tensor input(const std::string& name, const Shape& shape) const {
    return Tensor::from(*device, shape, test::test_values("input." + name, shape.numel()));
  }

  // Checks that each tap of the file was recorded and is within the limit. The file keeps every k-th value, k = ⌈count / 256⌉.
  void expect_taps(const test::TapRecorder& recorder, double limit) const {
    double worst = 0;
    for (const std::string& name : golden.names()) {
      if (!name.starts_with("tap.")) continue;
      const auto seen = recorder.taps.find(name.substr(4));
      ASSERT_NE(seen, recorder.taps.end()) << name << " is not tapped";
      std::vector<float> thinned;
      for (size_t i = 0, k = (seen->second.size() + 255) / 256; i < seen->second.size(); i += k) thinned.push_back(seen->second[i]);
      const double error = test::relative_error(thinned, golden.values(name));
      EXPECT_LE(error, limit) << name;
      worst = std::max(worst, error);
    }
    ::testing::Test::RecordProperty("worst_tap", fmt::format("{:.2e}", worst));
  }

  // Checks numbered outputs: made[i] is the golden STEM.i.
  void expect_outputs(const std::vector<Tensor>& made, double limit, std::string_view stem = "y") const {
    for (size_t i = 0; i < made.size(); ++i) EXPECT_CLOSE(made[i], golden.values(fmt::format("{}.{}", stem, i)), limit);
  }

  // Checks what run(config), a tensor, is after each of the recipe's changes of one key: the goldens y.0, y.1 …
  template <class Run> void expect_effects_of_keys(Run run, double limit) const {
    int i = 0;
    for (const auto& change : fact("changes")) {
      SCOPED_TRACE(change.dump());
      EXPECT_CLOSE(run(config_with(change["key"], change["value"])), golden.values(fmt::format("y.{}", i++)), limit);
    }
  }

  // Checks that read(config) throws E, whose message has the key and `word`, with each of these values.
  template <class E, class Read>
  void expect_refused(const std::map<std::string, nlohmann::json>& values, const std::string& word, Read read) const;

  // Checks that the reference's config has only these keys and those that the recipe's changes prove.
  void expect_no_other_key(std::set<std::string> known, const std::map<std::string, nlohmann::json>& refused) const {
    for (const auto& [key, value] : refused) known.insert(key);
    for (const auto& change : fact("changes")) known.insert(change["key"].get<std::string>());
    for (const auto& [key, value] : config_json.items()) EXPECT_TRUE(known.contains(key)) << key << " is neither proven nor refused";
  }

  test::Golden golden;
  nlohmann::json facts, config_json;
  Backend* device;
};

// A full-size network without data: golden/<name>.json has the published config, every tensor's name and shape, and the
// multiplications and additions of its products, from the reference built on torch's meta device.
struct Structure {
  Structure(const char* source_file, const std::string& name)
      : json(nlohmann::json::parse(read(test::folder_of(source_file) / "golden" / (name + ".json")))) {}

  static std::string read(const std::filesystem::path& file) {
    std::ifstream in(file);
    EXPECT_TRUE(in.is_open()) << file;
    return {std::istreambuf_iterator<char>(in), {}};
  }

  Config config() const { return Config::parse(json.at("config").dump(), "config.json"); }

  // The tensors as TensorSource::list() has them.
  std::map<std::string, TensorInfo> tensors() const {
    std::map<std::string, TensorInfo> all;
    for (const auto& [name, shape] : json.at("tensors").items()) {
      const auto sizes = shape.get<std::vector<int64_t>>();
      all[name].shape = Shape(std::span<const int64_t>(sizes));
    }
    return all;
  }

  // build(Scope) makes the network and run() on it runs it once.
  template <class Build, class Run> void expect_same(Build build, Run run) const {
    struct Asked : TensorSource {
      std::string describe() const override { return "names alone"; }
      std::map<std::string, TensorInfo> list() const override { return {}; }
      bool has(const std::string&) const override { return true; }
      Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
        // Rows of a matrix may be those of several layers.
        EXPECT_EQ(shapes.emplace(name, wanted).first->second, wanted) << name << " is read with two shapes";
        return Tensor::empty(backend, wanted);
      }
      std::map<std::string, Shape> shapes;
    };
    struct Flop : Observer {
      bool watches_dry_runs() const override { return true; }
      void on_op(const OpEvent& event) override { total += event.flop; }
      double total = 0;
    };
    MemoryLedger ledger;
    const std::unique_ptr<Backend> plan = make_plan_backend(ledger);
    const auto asked = std::make_shared<Asked>();
    Weights weights(asked, *plan);
    const auto net = build(Scope(weights));
    const auto expected = json.at("tensors").get<std::map<std::string, std::vector<int64_t>>>();
    for (const auto& [name, shape] : expected) {
      const auto found = asked->shapes.find(name);
      ASSERT_NE(found, asked->shapes.end()) << name << " is not read";
      const std::vector<int64_t> read(found->second.begin(), found->second.end());
      EXPECT_EQ(read, shape) << name;
      asked->shapes.erase(found);
    }
    for (const auto& [name, shape] : asked->shapes) ADD_FAILURE() << name << " does not exist in the reference";
    Flop flop;
    {
      const ObserverScope scope(flop);
      run(net, *plan);
    }
    EXPECT_EQ(flop.total, json.at("flop").get<double>());
  }

  nlohmann::json json;
};

// Checks that an empty config.json means the same to the reference (golden/FILE) and to `Settings`.
template <class Settings, class... Args>
void expect_reference_defaults_of(const char* source_file, const std::string& file, const Args&... args) {
  const std::string defaults = Structure::read(test::folder_of(source_file) / "golden" / file);
  EXPECT_TRUE(Settings::from(Config::parse("{}", "empty"), args...) == Settings::from(Config::parse(defaults, "defaults.json"), args...));
}

template <class Settings, class... Args> void expect_reference_defaults(const char* source_file, const Args&... args) {
  expect_reference_defaults_of<Settings>(source_file, "defaults.json", args...);
}

// Checks that the call throws E with a message that contains each of the words.
template <class E, class F> void expect_error(F&& call, std::initializer_list<std::string> words) {
  try {
    call();
    FAIL() << "nothing was thrown, expected an error with '" << *words.begin() << "'";
  } catch (const E& error) {
    for (const std::string& word : words)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what() << " lacks '" << word << "'";
  }
}

template <class E, class Read>
void GoldenCase::expect_refused(const std::map<std::string, nlohmann::json>& values, const std::string& word, Read read) const {
  for (const auto& [key, value] : values) {
    SCOPED_TRACE(key);
    expect_error<E>([&, &key = key, &value = value] { read(config_with(key, value)); }, {key, word});
  }
}

}  // namespace hearth::parts
