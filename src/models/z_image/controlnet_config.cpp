#include "models/z_image/controlnet_config.h"

#include <algorithm>

#include "core/error.h"
#include "parts/config_reading.h"
#include "weights/layout/sizes.h"
#include "weights/stored_numbers.h"

namespace hearth::models::z_image {
namespace {

constexpr const char* first_projection = "control_noise_refiner.0.before_proj.weight";

// Numbers of blocks after which a network adds: they rise and are below `count`.
void check_places(const std::vector<int64_t>& places, int64_t count, const std::string& where, std::string_view key) {
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i] < 0 || places[i] >= count || (i > 0 && places[i] <= places[i - 1]))
      fail<WeightError>("{}: '{}' contains {}, expected rising numbers from 0 to {}", where, key, places[i], count - 1);
}

void check(const ControlNetConfig& n, const std::string& where) {
  const TransformerConfig &own = n.blocks, &model = n.transformer;
  if (own.width != model.width || own.heads != model.heads)
    fail<WeightError>("{}: is for a transformer with width {} in {} heads; the model's has width {} in {} heads", where, own.width,
                      own.heads, model.width, model.heads);
  if (n.channels != model.channels && n.channels != 2 * model.channels + 1)
    fail<WeightError>("{}: sees {} channels; the model's latents have {}, expected those, or with a mask and an image {}", where,
                      n.channels, model.channels, 2 * model.channels + 1);
  if (n.places.empty() || n.places[0] != 0)
    fail<WeightError>("{}: 'control_layers_places' begins with {}, expected 0", where,
                      n.places.empty() ? "nothing" : std::to_string(n.places[0]));
  check_places(n.places, model.layers, where, "control_layers_places");
  if (n.refiner == ControlRefiner::blocks) return;
  check_places(n.refiner_places, model.refiner_layers, where, "control_refiner_layers_places");
  const auto hints = n.refiner == ControlRefiner::control_layers ? std::ssize(n.places) : std::ptrdiff_t(own.refiner_layers);
  if (std::ssize(n.refiner_places) > hints)
    fail<WeightError>("{}: 'control_refiner_layers_places' has {} numbers for {} blocks", where, n.refiner_places.size(), hints);
}

void only_one(const Config& c, std::string_view key, int64_t value) {
  const std::vector<int64_t> given = c.integers(key, std::vector<int64_t>{value});
  if (given.size() != 1 || given[0] != value)
    fail<UnsupportedError>("{}: '{}' = {} is not supported, expected [{}]", c.where(), key, c.dump(key), value);
}

}  // namespace

ControlNetConfig ControlNetConfig::from(const Config& c, const TransformerConfig& model) {
  c.only("_class_name", {"ZImageControlNetModel"});
  parts::refuse_null(
      c, {"control_layers_places", "control_in_dim", "dim", "n_refiner_layers", "n_heads", "n_kv_heads", "norm_eps", "qk_norm"});
  for (const char* key : {"control_layers_places", "control_in_dim"})  // the reference has no default
    if (!c.has(key)) fail<WeightError>("{}: lacks '{}'", c.where(), key);
  ControlNetConfig n{.transformer = model, .blocks = model};
  only_one(c, "all_patch_size", TransformerConfig::patch);
  only_one(c, "all_f_patch_size", 1);
  n.channels = parts::positive_integer(c, "control_in_dim", 0);
  n.places = c.integers("control_layers_places", std::vector<int64_t>());
  if (!parts::is_null(c, "add_control_noise_refiner") && c.has("add_control_noise_refiner")) {
    c.only("add_control_noise_refiner", {"control_layers", "control_noise_refiner"});
    n.refiner =
        c.text("add_control_noise_refiner", "") == "control_layers" ? ControlRefiner::control_layers : ControlRefiner::control_blocks;
  }
  c.no_effect({"add_control_noise_refiner", "control_refiner_layers_places"});
  if (n.refiner != ControlRefiner::blocks) {
    parts::refuse_null(c, {"control_refiner_layers_places"});
    if (!c.has("control_refiner_layers_places")) fail<WeightError>("{}: lacks 'control_refiner_layers_places'", c.where());
    n.refiner_places = c.integers("control_refiner_layers_places", std::vector<int64_t>());
  }
  n.blocks.width = parts::positive_integer(c, "dim", 3840);
  n.blocks.heads = parts::positive_integer(c, "n_heads", 30);
  if (const int64_t groups = parts::positive_integer(c, "n_kv_heads", 30); c.has("n_kv_heads") && groups != n.blocks.heads)
    fail<UnsupportedError>("{}: 'n_kv_heads' = {} is not supported, expected 'n_heads' = {}", c.where(), groups, n.blocks.heads);
  n.blocks.refiner_layers = parts::positive_integer(c, "n_refiner_layers", 2);
  n.blocks.eps = c.number("norm_eps", 1e-5);
  n.blocks.qk_norm = c.boolean("qk_norm", true);
  c.finish();
  check(n, c.where());
  return n;
}

ControlNetConfig ControlNetConfig::of_tensors(const TensorSource& official, const TransformerConfig& model) {
  const TensorList tensors = official.list();
  const std::string where = official.describe();
  const auto axis = [&](const std::string& name, int i) { return axis_of(tensors, name, i); };
  const auto count = [&](const char* blocks) {
    int64_t n = 0;
    while (tensors.contains(fmt::format("{}.{}.attention_norm1.weight", blocks, n))) ++n;
    return n;
  };
  ControlNetConfig n{.transformer = model, .blocks = model};
  n.channels = axis("control_all_x_embedder.2-1.weight", 1) / 4;
  n.blocks.width = axis("control_all_x_embedder.2-1.weight", 0);
  n.blocks.qk_norm = tensors.contains("control_layers.0.attention.norm_q.weight");
  if (const int64_t head = axis("control_layers.0.attention.norm_q.weight", 0); head > 0) n.blocks.heads = n.blocks.width / head;
  n.blocks.refiner_layers = count("control_noise_refiner");
  if (n.channels > model.channels) {
    n.refiner = ControlRefiner::control_layers;
    for (int64_t i = 0; i < model.refiner_layers; ++i) n.refiner_places.push_back(i);
    if (tensors.contains(first_projection)) {  // in files of 2.0 it was never trained
      const std::vector<double> values = stored_numbers(official, first_projection);
      if (values.empty())
        fail<UnsupportedError>("{}: '{}' is stored as {}, expected f32, f16 or bf16, by which versions 2.0 and 2.1 differ", where,
                               first_projection, name_of(tensors.at(first_projection).dtype));
      if (std::ranges::any_of(values, [](double v) { return v != 0; })) n.refiner = ControlRefiner::control_blocks;
    }
  }
  const int64_t layers = count("control_layers");
  if (layers < 1 || model.layers % layers != 0)
    fail<WeightError>("{}: has {} control layers and no config.json, expected a number that divides the {} of the transformer", where,
                      layers, model.layers);
  for (int64_t i = 0; i < layers; ++i) n.places.push_back(i * (model.layers / layers));
  check(n, where);
  return n;
}

}  // namespace hearth::models::z_image
