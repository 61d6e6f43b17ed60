// Shared by the tests of the decoder families: goldens written by parts/decoder/golden/recipe.py.
#pragma once

#include "parts/decoder/decoder.h"
#include "parts/golden_case_test.h"

namespace hearth::models {

using ReadConfig = parts::DecoderConfig (*)(const Config&);

// A source of the network's tensors that is made of those of the reference, whose shapes are given by name.
using Present = std::shared_ptr<TensorSource> (*)(const nlohmann::json& shapes, const Config& config);

// The reference's tensors by name, those whose name contains `part` multiplied by a factor.
class ListedSource : public parts::ScaledSource {
 public:
  ListedSource(const nlohmann::json& shapes, std::string part, float factor) : ScaledSource(1), part_(std::move(part)), factor_(factor) {
    for (const auto& [name, sizes] : shapes.items())
      listed_[name] = {.shape = Shape(std::span<const int64_t>(sizes.get<std::vector<int64_t>>())), .unreadable = {}};
  }
  std::map<std::string, TensorInfo> list() const override { return listed_; }
  bool has(const std::string& name) const override { return listed_.contains(name); }
  Tensor read(const std::string& name, const Shape&, Backend& backend) override {
    const Shape shape = listed_.at(name).shape;
    std::vector<float> values = seeded_values(name, shape);
    if (name.find(part_) != name.npos)
      for (float& v : values) v *= factor_;
    return Tensor::from(backend, shape, values);
  }

 private:
  std::map<std::string, TensorInfo> listed_;
  std::string part_;
  float factor_;
};

struct DecoderCase : parts::GoldenCase {
  DecoderCase(const char* source_file, const std::string& name, Backend& backend, ReadConfig read, Present present_ = nullptr)
      : GoldenCase(source_file, name, backend), read_config(read), present(present_), ids(fact("ids").get<std::vector<int32_t>>()) {
    if (present) shapes = fact("shapes");
  }

  // The weights stay in place as in a run, or are prepared like those of other networks.
  parts::Decoder network(const Config& json, bool in_place = true) const {
    const LoadOptions options{.types = {.in_place = in_place}, .ignore = {"lm_head.weight"}};
    Weights w = present ? Weights(present(shapes, json), *device, options) : weights(options);
    parts::Decoder net(Scope(w), read_config(json));
    w.finish();
    return net;
  }

  // Logits of all tokens, fed `step` tokens at a time to a new state, or to one that goes on.
  static std::vector<float> logits(const parts::Decoder& net, std::span<const int32_t> text, int64_t step = parts::Block::chunk,
                                   DType cache = DType::f32) {
    parts::DecoderState state = net.trunk.start(int64_t(text.size()), cache);
    return logits(net, text, state, step);
  }
  static std::vector<float> logits(const parts::Decoder& net, std::span<const int32_t> text, parts::DecoderState& state,
                                   int64_t step = parts::Block::chunk) {
    std::vector<float> all;
    const int64_t count = int64_t(text.size()), length = state.length + count;
    for (int64_t begin = 0; begin < count; begin += step) {
      const Tensor hidden = net.hidden(text.subspan(size_t(begin), size_t(std::min(step, count - begin))), state, length);
      const std::vector<float> part = net.head(hidden).to_vector();
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  // The logits of the positions that the golden keeps.
  std::vector<float> kept(const std::vector<float>& all, int64_t vocabulary) const {
    const auto thin = fact("thin").get<int64_t>();
    std::vector<float> rows;
    for (int64_t t = 0; t < int64_t(ids.size()); t += thin)
      rows.insert(rows.end(), all.begin() + t * vocabulary, all.begin() + (t + 1) * vocabulary);
    return rows;
  }

  ReadConfig read_config;
  Present present;
  nlohmann::json shapes;
  std::vector<int32_t> ids;
};

// Checks logits and taps of one case, and the greedy tokens that follow. Long texts are fed a second time, with prepared weights, on fast
// devices only.
inline void expect_case(const char* source_file, const char* name, Backend& device, ReadConfig read, double limit,
                        Present present = nullptr) {
  const DecoderCase c(source_file, name, device, read, present);
  const parts::Decoder net = c.network(c.config());
  const int64_t vocabulary = net.trunk.config.vocabulary;
  const bool is_long = c.fact("thin") != 1;
  const auto greedy = c.fact("greedy").get<std::vector<int32_t>>();
  parts::DecoderState state = net.trunk.start(int64_t(c.ids.size() + greedy.size()), DType::f32);
  std::vector<float> logits;
  if (is_long) {
    logits = DecoderCase::logits(net, c.ids, state);
  } else {
    test::TapRecorder recorder;
    const ObserverScope scope(recorder);
    logits = DecoderCase::logits(net, c.ids, state);
    c.expect_taps(recorder, limit);
  }
  EXPECT_CLOSE(c.kept(logits, vocabulary), c.golden.values("logits"), limit);

  std::vector<int32_t> made;
  while (made.size() < greedy.size()) {
    const auto last = logits.end() - vocabulary;
    made.push_back(int32_t(std::max_element(last, logits.end()) - last));
    logits = DecoderCase::logits(net, std::span(&made.back(), 1), state);
  }
  EXPECT_EQ(made, greedy);

  if (is_long && test::slow(device)) return;
  EXPECT_CLOSE(c.kept(DecoderCase::logits(c.network(c.config(), false), c.ids), vocabulary), c.golden.values("logits"), limit);
}

// Changing each key alone gives the result of the reference. derived_layers: the reference made layer_types of other keys.
inline void expect_keys(const char* source_file, Backend& device, ReadConfig read, double limit, const char* name = "perturbed",
                        Present present = nullptr, bool derived_layers = true) {
  DecoderCase c(source_file, name, device, read, present);
  EXPECT_CLOSE(DecoderCase::logits(c.network(c.config()), c.ids), c.golden.values("base"), limit);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    nlohmann::json changed = c.config_json;
    changed[change["key"].get<std::string>()] = change["value"];
    if (present) c.shapes = c.fact("shapes"), c.shapes.merge_patch(change["shapes"]);
    // Keys that the reference derives from the changed key when it writes config.json.
    const std::string key = change["key"];
    if (key == "num_key_value_heads" && change["value"].is_null()) changed["num_key_value_heads"] = nullptr;
    if (key == "num_attention_heads" && c.config_json.value("num_key_value_heads", nlohmann::json()) == c.config_json[key])
      changed["num_key_value_heads"] = nullptr;
    if (derived_layers &&
        (key == "use_sliding_window" || key == "sliding_window" || key == "max_window_layers" || key == "num_hidden_layers"))
      changed.erase("layer_types");
    const Config json = Config::parse(changed.dump(), "config.json");
    EXPECT_CLOSE(DecoderCase::logits(c.network(json), c.ids), c.golden.values(std::to_string(i++)), limit);
  }
}

// Each position gets the same bits, however the text is divided.
inline void expect_same_bits_in_pieces(const char* source_file, const char* name, Backend& device, ReadConfig read,
                                       Present present = nullptr) {
  const DecoderCase c(source_file, name, device, read, present);
  const parts::Decoder net = c.network(c.config());
  const std::vector<float> whole = DecoderCase::logits(net, c.ids);
  for (const int64_t step : {1, 2, 3, 7, 16}) EXPECT_TRUE(DecoderCase::logits(net, c.ids, step) == whole) << "pieces of " << step;
}

}  // namespace hearth::models
