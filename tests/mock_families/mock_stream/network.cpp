#include "mock_stream/network.h"

#include <cmath>
#include <numeric>

#include "nn/timestep_embedding.h"
#include "ops/attention.h"
#include "ops/pointwise.h"
#include "ops/shape_ops.h"

namespace hearth::models::mock_stream {

ByteEncoderConfig ByteEncoderConfig::from(const Config& c) {
  const ByteEncoderConfig config{.width = c.integer("width")};
  c.finish();
  return config;
}

ByteEncoder::ByteEncoder(const Scope& w, const ByteEncoderConfig& c)
    : bytes(w / "bytes", 256, c.width), norm(w / "norm", c.width), out(w / "out", c.width, c.width) {}

Tensor ByteEncoder::operator()(std::string_view text) const {
  std::vector<int32_t> ids;
  for (const char c : text.empty() ? std::string_view("\0", 1) : text) ids.push_back(uint8_t(c));
  const Tensor x = bytes(ids).view({1, int64_t(ids.size()), bytes.table.size(1)});
  return out(norm(x), {.activation = Activation::silu, .residual = x});
}

TransformerConfig TransformerConfig::from(const Config& c) {
  const TransformerConfig config{.channels = c.integer("channels"),
                                 .text_width = c.integer("text_width"),
                                 .pooled_width = c.integer("pooled_width"),
                                 .width = c.integer("width"),
                                 .heads = c.integer("heads"),
                                 .layers = c.integer("layers"),
                                 .sample_size = c.integer("sample_size"),
                                 .reads_references = c.boolean("reads_references", false)};
  c.finish();
  return config;
}

StreamBlock::StreamBlock(const Scope& w, const TransformerConfig& c)
    : norm1(w / "norm1", c.width),
      q(w / "q", c.width, c.width),
      k(w / "k", c.width, c.width),
      v(w / "v", c.width, c.width),
      out(w / "out", c.width, c.width),
      norm2(w / "norm2", c.width),
      up(w / "up", c.width, 4 * c.width),
      down(w / "down", 4 * c.width, c.width),
      heads(c.heads) {}

Tensor StreamBlock::operator()(const Tensor& h) const {
  const auto [B, T, W] = h.dims<3>();
  const int64_t D = W / heads;
  const Tensor x = norm1(h, Stored::inner);
  const auto split = [&, B = B, T = T](const Tensor& t) { return t.view({B, T, heads, D}); };
  const Tensor y =
      ops::attention(split(q(x, nn::inner)), split(k(x, nn::inner)), split(v(x, nn::inner)), {.scale = 1.0f / std::sqrt(float(D))});
  const Tensor attended = out(y.view({B, T, W}), {.residual = h});
  return down(up(norm2(attended, Stored::inner), {.activation = Activation::gelu, .stored = Stored::inner}), {.residual = attended});
}

StreamTransformer::StreamTransformer(const Scope& w, const TransformerConfig& c)
    : config(c),
      embed_x(w / "embed_x", c.channels, c.width),
      embed_text(w / "embed_text", c.text_width, c.width),
      embed_time(w / "embed_time", c.width, c.width),
      embed_pooled(w / "embed_pooled", c.pooled_width, c.width),
      blocks(w / "blocks", c.layers, [c](const Scope& block) { return StreamBlock(block, c); }),
      norm(w / "norm", c.width),
      out(w / "out", c.width, c.channels) {}

Tensor StreamTransformer::operator()(const Tensor& x, float timestep, const Tensor& text, std::span<const int64_t> lengths,
                                     const Tensor& pooled, std::span<const Tensor> references) const {
  const auto [B, h, w, C] = x.dims<4>();
  Backend& backend = x.backend();
  const std::vector<float> times(size_t(B), timestep);
  const Tensor time = embed_time(nn::embed_timesteps(backend, times, {.channels = config.width}), {.activation = Activation::silu});
  const auto places_of = [&](int64_t count, float first) {
    std::vector<float> places;
    places.resize(size_t(count));
    std::iota(places.begin(), places.end(), first);
    return nn::embed_timesteps(backend, places, {.channels = config.width}).view({1, count, config.width});
  };
  const Tensor place = places_of(h * w, 0);
  std::vector<Tensor> others;  // tokens of reference images, behind those of the image
  for (size_t i = 0; i < references.size(); ++i) {
    const int64_t count = references[i].numel() / C;
    others.push_back(embed_x(references[i].view({1, count, C}), {.residual = places_of(count, 1000.0f * float(i + 1))}));
  }
  const Tensor given = embed_pooled(pooled, {.residual = time});  // [B, W]
  std::vector<Tensor> streams;
  for (int64_t b = 0; b < B; ++b) {
    const Tensor words = embed_text(text.slice(0, b, b + 1).slice(1, 0, lengths[size_t(b)]));
    const Tensor image =
        embed_x(ops::contiguous(x.slice(0, b, b + 1)).view({1, h * w, C}), {.per_image = given.slice(0, b, b + 1), .residual = place});
    std::vector<Tensor> tokens = {words, image};
    tokens.insert(tokens.end(), others.begin(), others.end());
    streams.push_back(ops::concat(tokens, 1));
  }
  for (const StreamBlock& block : blocks)
    for (Tensor& stream : streams) stream = block(stream);
  std::vector<Tensor> answers;
  for (int64_t b = 0; b < B; ++b) {
    const Tensor& stream = streams[size_t(b)];
    const int64_t L = lengths[size_t(b)];
    answers.push_back(out(norm(ops::contiguous(stream.slice(1, L, L + h * w)))).view({1, h, w, C}));
  }
  return answers.size() == 1 ? answers[0] : ops::concat(answers, 0);
}

}  // namespace hearth::models::mock_stream
