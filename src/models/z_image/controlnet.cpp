#include "models/z_image/controlnet.h"

#include "core/observe.h"

namespace hearth::models::z_image {
namespace {

struct Row {
  std::vector<Tensor> hints;  // after_proj of each block
  Tensor last;                // the stream after the last one
};

// Control blocks on the stream `control`, beside `x`.
Row through(const Blocks<ControlBlock>& blocks, const Tensor& control, const Tensor& x, const Tensor& time, const Tensor& table) {
  Row row{.last = control};
  for (const ControlBlock& block : blocks) {
    const std::string& path = block.block.path;
    if (block.before_proj) row.last = in_block(path + ".before_proj", [&] { return (*block.before_proj)(row.last, {.residual = x}); });
    row.last = block.block(row.last, time, table);
    row.hints.push_back(in_block(path + ".after_proj", [&] { return block.after_proj(row.last, {.out = DType::f32}); }));
  }
  return row;
}

}  // namespace

ControlBlock::ControlBlock(const Scope& w, const TransformerConfig& c, bool first)
    : after_proj(w / "after_proj", c.width, c.width), block(w, c, true) {
  if (first) before_proj.emplace(w / "before_proj", c.width, c.width);
}

ControlNet::ControlNet(const Scope& w, const ControlNetConfig& c)
    : config(c),
      stem(w, c.transformer),
      control_embedder(w / "control_all_x_embedder" / "2-1", 4 * c.channels, c.blocks.width),
      control_layers(w / "control_layers", int64_t(c.places.size()),
                     [b = c.blocks](const Scope& block, int64_t i) { return ControlBlock(block, b, i == 0); }) {
  const Scope own = w / "control_noise_refiner";
  if (c.refiner == ControlRefiner::blocks)
    refiner = Blocks<Block>(own, c.blocks.refiner_layers, [b = c.blocks](const Scope& block) { return Block(block, b, true); });
  if (c.refiner == ControlRefiner::control_blocks)
    control_refiner = Blocks<ControlBlock>(own, c.blocks.refiner_layers,
                                           [b = c.blocks](const Scope& block, int64_t i) { return ControlBlock(block, b, i == 0); });
}

Tensor ControlNet::hint(const Tensor& seen) const {
  return in_block("control_all_x_embedder.2-1", [&] { return padded(control_embedder(pack(seen), {.out = DType::f32}), stem.x_pad); });
}

AddedAfterLayers ControlNet::operator()(const Tensor& x, std::span<const float> times, const Tensor& states, const Tensor& hint,
                                        float scale) const {
  stem.check(x, times, states);
  const int64_t n = x.size(0);
  const Tensor time = stem.time(x, times);
  const RotaryTables tables = stem.tables(x, states);
  Tensor image = stem.image_tokens(x);
  if (hint.rank() != 3 || n % hint.size(0) != 0 || hint.size(1) != image.size(1) || hint.size(2) != image.size(2))
    fail<ShapeError>("controlnet: the hint is {}, expected {} or one that the batch repeats", hint.shape(), image.shape());
  Tensor control = hint.size(0) == n ? hint : ops::repeat_batch(hint, n / hint.size(0));
  std::vector<Tensor> to_refiner;
  if (config.refiner != ControlRefiner::blocks) {
    Row row =
        through(config.refiner == ControlRefiner::control_layers ? control_layers : control_refiner, control, image, time, tables.image);
    control = row.last, to_refiner = std::move(row.hints);
  }
  int64_t layer = 0;
  for (const Block& block : stem.noise_refiner) {
    image = block(image, time, tables.image);
    for (size_t k = 0; k < config.refiner_places.size(); ++k)
      if (config.refiner_places[k] == layer) image = ops::linear_combination({image, to_refiner[k]}, {1, scale});
    ++layer;
  }
  to_refiner.clear();
  for (const Block& block : refiner) control = block(control, time, tables.image);
  const Tensor text = stem.text_tokens(states, tables);
  Row row = through(control_layers, ops::concat({control, text}, 1), ops::concat({image, text}, 1), time,
                    ops::concat({tables.image, tables.text}, 1));
  AddedAfterLayers all;
  for (size_t i = 0; i < row.hints.size(); ++i) all.emplace(config.places[i], std::move(row.hints[i]));
  return all;
}

}  // namespace hearth::models::z_image
