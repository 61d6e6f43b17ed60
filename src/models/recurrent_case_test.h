// Shared by the tests of decoder families with recurrent states.
#pragma once

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

// A long text with weights of each type gives finite logits.
inline void expect_finite(const char* source_file, const char* name, Backend& device, ReadConfig read, int64_t length,
                          Present present = nullptr) {
  const DecoderCase c(source_file, name, device, read, present);
  const std::vector<int32_t> ids = repeated(c.ids, length);
  for (const DType hold : {DType::f32, DType::f16, DType::bf16}) {
    SCOPED_TRACE(std::string(name_of(hold)));
    const std::shared_ptr<TensorSource> source =
        present ? present(c.shapes, c.config()) : std::make_shared<parts::ScaledSource>(c.fact("factor").get<float>());
    Weights w(source, device, {.types = {.hold = hold}, .ignore = {"lm_head.weight"}});
    const parts::Decoder net(Scope(w), read(c.config()));
    parts::DecoderState state = net.trunk.start(length, DType::f32);
    while (state.length < length) {
      const int64_t count = state.piece(length - state.length);
      EXPECT_EQ(count_non_finite(net.head(net.hidden(std::span(ids).subspan(size_t(state.length), size_t(count)), state, length))), 0);
    }
  }
}

}  // namespace hearth::models
