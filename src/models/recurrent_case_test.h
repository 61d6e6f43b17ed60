// Shared by the tests of decoder families with recurrent states.
#pragma once

#include <cmath>

#include "backends/backends.h"
#include "core/on_host.h"
#include "core/quantized/blocks.h"
#include "models/decoder_case_test.h"
#include "parts/decoder/recurrent_state.h"

namespace hearth::models {

inline std::vector<int32_t> repeated(const std::vector<int32_t>& ids, int64_t count) {
  std::vector<int32_t> text;
  for (int64_t i = 0; i < count; ++i) text.push_back(ids[size_t(i) % ids.size()]);
  return text;
}

// A text that was shortened, or moved through a file, continues with the same bits; it takes at most the memory of the plan, and that only
// with its checkpoint.
inline void expect_recurrent_state(const char* source_file, const char* name, Backend& device, ReadConfig read, Present present = nullptr) {
  const DecoderCase c(source_file, name, device, read, present);
  const parts::Decoder net = c.network(c.config());
  constexpr int64_t spacing = parts::RecurrentState::spacing, length = spacing + 40;
  const std::vector<int32_t> ids = repeated(c.ids, length);
  const int64_t V = net.trunk.config.vocabulary;
  const auto feed = [&](parts::DecoderState& state, int64_t until) {
    std::vector<float> all;
    while (state.length < until) {
      const int64_t count = state.piece(until - state.length);
      const Tensor hidden = net.hidden(std::span(ids).subspan(size_t(state.length), size_t(count)), state, until);
      const std::vector<float> part = net.head(hidden).to_vector();
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  };
  parts::DecoderState state = net.trunk.start(length, DType::f32);
  const int64_t most = net.trunk.state_bytes(length, DType::f32), empty = state.bytes();
  EXPECT_LT(empty, most);
  const std::vector<float> whole = feed(state, length);
  EXPECT_EQ(state.bytes(), most);
  const auto rest = [&](int64_t from) { return std::vector<float>(whole.begin() + from * V, whole.end()); };
  EXPECT_EQ(state.shorten(length - 1), spacing);
  EXPECT_TRUE(feed(state, length) == rest(spacing));
  EXPECT_EQ(state.shorten(spacing - 1), 0);
  EXPECT_EQ(state.bytes(), empty);
  EXPECT_TRUE(feed(state, length) == whole);

  parts::DecoderState some = net.trunk.start(length, DType::f32), other = net.trunk.start(length + 9, DType::f32);
  feed(some, 27);
  EXPECT_TRUE(other.load(27, length, some.save()));
  EXPECT_TRUE(feed(other, length) == rest(27));
}

// Weights by name, those whose name contains `part` multiplied by a factor.
class PartlyScaledSource : public parts::ScaledSource {
 public:
  PartlyScaledSource(std::string part, float factor) : ScaledSource(1), part_(std::move(part)), factor_(factor) {}
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    std::vector<float> values = seeded_values(name, wanted);
    if (name.find(part_) != name.npos)
      for (float& v : values) v *= factor_;
    return Tensor::from(backend, wanted, values);
  }

 private:
  std::string part_;
  float factor_;
};

// Weights by name; the matrices of linear layers, if their rows are whole blocks, as this block type. Names that end with `decays` hold
// −exp of their values.
class StoredSource : public parts::ScaledSource {
 public:
  StoredSource(std::optional<DType> blocks, std::string decays) : ScaledSource(1), blocks_(blocks), decays_(std::move(decays)) {}
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    std::vector<float> values = seeded_values(name, wanted);
    if (!decays_.empty() && name.ends_with(decays_))
      for (float& v : values) v = -std::exp(v);
    const bool fits = wanted.rank() == 2 && name.ends_with(".weight") && blocks_ && wanted[1] % block_of(*blocks_).values == 0;
    if (!fits) return Tensor::from(backend, wanted, values);
    ++blocked;
    return written_on_host(backend, wanted, *blocks_, [&](Tensor& x) {
      encode_blocks(*blocks_, values.data(), std::ssize(values), static_cast<std::byte*>(x.raw()));
    });
  }
  int blocked = 0;  // matrices that were read as blocks

 private:
  std::optional<DType> blocks_;
  std::string decays_;
};

// A text of 4096 tokens has finite logits, with weights of each type. config: of a network with matrices whose rows are blocks of 256. On
// the backend that this machine would use; the other paths are compared with it by tests of shorter texts.
inline void expect_finite(ReadConfig read, const char* config, const std::string& decays = {}) {
  const std::unique_ptr<Backend> device = make_backend({.threads = 2});
  struct Row {
    DType type;
    int64_t least = 0;  // matrices of this type
  };
  constexpr Row rows[] = {{DType::f32}, {DType::f16}, {DType::bf16}, {DType::q8_0, 5}, {DType::q4_k, 5}};
  constexpr int64_t length = 4096;
  const Config json = Config::parse(config, "config.json");
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(name_of(row.type)));
    const bool blocks = is_blocked(row.type);
    const auto source = std::make_shared<StoredSource>(blocks ? std::optional(row.type) : std::nullopt, decays);
    WeightTypes types{.hold = blocks ? std::nullopt : std::optional(row.type)};
    if (blocks) types.compact_factors = DType::i16;
    Weights w(source, *device, {.types = types, .ignore = {"lm_head.weight"}});
    const parts::Decoder net(Scope(w), read(json));
    EXPECT_GE(source->blocked, row.least);
    parts::DecoderState state = net.trunk.start(length, DType::f32);
    const std::vector<int32_t> ids = repeated({3, 14, 15, 9, 26, 5, 35, 8, 9, 7, 9, 32, 3}, length);
    while (state.length < length) {
      const int64_t count = state.piece(length - state.length);
      const Tensor hidden = net.hidden(std::span(ids).subspan(size_t(state.length), size_t(count)), state, length);
      EXPECT_EQ(count_non_finite(net.head(hidden)), 0) << "before token " << state.length;
    }
  }
}

}  // namespace hearth::models
