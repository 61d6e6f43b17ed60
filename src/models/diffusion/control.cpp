#include "models/diffusion/control.h"

#include <algorithm>
#include <tuple>

#include "core/on_host.h"
#include "media/editing/resample.h"
#include "ops/pointwise.h"
#include "ops/shape_ops.h"

namespace hearth::models::diffusion {
namespace {

// Images and masks are resized as diffusers' VaeImageProcessor does.
template <class Picture> Picture of_size(const Picture& image, int64_t W, int64_t H) {
  return image.width == W && image.height == H ? image : resize(image, W, H, Filter::lanczos);
}

// → [1, H, W, 3] in 0 … 1
Tensor control_image(const Pixels& image, std::array<int64_t, 2> height_and_width, Backend& host) {
  const auto [H, W] = height_and_width;
  return written_on_host(host, {1, H, W, 3}, DType::f32, [&, H = H, W = W](Tensor& y) {
    std::ranges::copy(to_floats(of_size(image, W, H), PixelRange::zero_to_one), y.data<float>());
  });
}

bool covers(const PixelMask& mask, int64_t i) { return mask.values[size_t(i)] >= 128; }

// The mask at every f-th pixel: [1, h, w, 1], 1 where it covers the image.
Tensor control_mask(const PixelMask& mask, std::array<int64_t, 2> height_and_width, int64_t f, Backend& host) {
  const auto [H, W] = height_and_width;
  return written_on_host(host, {1, H / f, W / f, 1}, DType::f32, [&, H = H, W = W](Tensor& y) {
    const PixelMask whole = of_size(mask, W, H);
    float* value = y.data<float>();
    for (int64_t row = 0; row < H / f; ++row)
      for (int64_t column = 0; column < W / f; ++column) *value++ = covers(whole, row * f * W + column * f) ? 1 : 0;
  });
}

// What the autoencoder receives of a control's image, [1, H, W, 3]; black where a mask covers it.
Tensor autoencoder_input(const RunControl& control, int64_t W, int64_t H, Backend& host) {
  const RunControl::Image& image = control.images.at(0);
  return written_on_host(host, {1, H, W, 3}, DType::f32, [&](Tensor& y) {
    const std::vector<float> values =
        control.model->for_autoencoder(to_floats(of_size(image.pixels, W, H), PixelRange::zero_to_one), image.mode);
    std::ranges::copy(values, y.data<float>());
    if (image.mask.values.empty()) return;
    const PixelMask mask = of_size(image.mask, W, H);
    for (int64_t i = 0; i < H * W; ++i)
      if (covers(mask, i)) std::fill_n(y.data<float>() + 3 * i, 3, -1.0f);
  });
}

// For the number of a draw: the place among the controls that draw.
std::vector<size_t> in_order_of_draws(std::span<const RunControl> controls, sampling::Compat compat) {
  std::vector<size_t> order;
  for (size_t k = 0; k < controls.size(); ++k)
    if (controls[k].model->draws()) order.push_back(k);
  if (compat == sampling::Compat::diffusers) std::ranges::sort(order, {}, [&](size_t k) { return controls[k].requested; });
  return order;
}

Conditioning part_of(const Conditioning& all, int64_t begin, int64_t end) {
  Conditioning part;
  for (const auto& [name, x] : all.tensors)
    if (x) part.tensors[name] = x.slice(0, begin, end);
  for (const auto& [name, lengths] : all.lengths) part.lengths[name] = {lengths.begin() + begin, lengths.begin() + end};
  return part;
}

// Zeros for the first images of the batch.
void pad_front(TensorLists& lists, int64_t images) {
  for (auto& [name, tensors] : lists)
    for (Tensor& x : tensors) {
      std::vector<int64_t> shape(x.shape().begin(), x.shape().end());
      shape[0] = images;
      x = ops::concat({Tensor::zeros(x.backend(), Shape(std::span<const int64_t>(shape))), x}, 0);
    }
}

// The first `images` of the batch, twice.
void repeat_front(TensorLists& lists, int64_t images) {
  for (auto& [name, tensors] : lists)
    for (Tensor& x : tensors) x = ops::concat({x.slice(0, 0, images), x}, 0);
}

// Terms of a sum: tensors of one shape, or [B, H, W, C] and [B, 1, 1, C].
struct Terms {
  std::vector<Tensor> tensors;
  std::vector<float> factors;

  void add(const Tensor& x, float factor) { tensors.push_back(x), factors.push_back(factor); }
  bool of_one_shape() const {
    return std::ranges::all_of(tensors, [&](const Tensor& x) { return x.shape() == tensors[0].shape(); });
  }
  Tensor sum() const {
    if (of_one_shape()) return tensors.size() == 1 && factors[0] == 1 ? tensors[0] : ops::linear_combination(tensors, factors);
    Terms whole, single;
    for (size_t k = 0; k < tensors.size(); ++k) (tensors[k].size(1) * tensors[k].size(2) == 1 ? single : whole).add(tensors[k], factors[k]);
    const Tensor shift = single.sum();
    return ops::affine(whole.sum(), {}, shift.view({shift.size(0), shift.size(3)}));
  }
};

// Σ factor · tensor over all outputs that have it, in their order.
TensorLists summed(std::span<const ControlOutput> outputs) {
  std::map<std::string, std::vector<Terms>, std::less<>> terms;
  for (const ControlOutput& output : outputs)
    for (const auto& [name, tensors] : output.tensors) {
      std::vector<Terms>& sums = terms[name];
      sums.resize(std::max(sums.size(), tensors.size()));
      for (size_t i = 0; i < tensors.size(); ++i) sums[i].add(tensors[i], output.factors.at(name)[i]);
    }
  TensorLists all;
  for (const auto& [name, sums] : terms)
    for (const Terms& one : sums) all[name].push_back(one.sum());
  return all;
}

}  // namespace

std::vector<float> ControlModel::for_autoencoder(std::vector<float> pixels, const std::string&) const {
  for (float& v : pixels) v = 2 * v - 1;
  return pixels;
}

bool ControlModel::acts(const ControlSettings& s, int64_t call, int64_t calls, int64_t step, int64_t steps) const {
  const auto [i, n] = calls > 0 ? std::pair(call, calls) : std::pair(step, steps);
  return double(i) / double(n) >= s.start && double(i + 1) / double(n) <= s.end;
}

std::vector<RunControl> in_fixed_order(std::vector<RunControl> controls) {
  std::erase_if(controls, [](const RunControl& c) { return c.settings.scale == 0; });
  const auto key = [](const RunControl& c) {
    const RunControl::Image& image = c.images.front();
    return std::tie(c.member, c.settings, image.mode, image.pixels.width, image.pixels.height, image.pixels.rgb, image.mask.values);
  };
  std::ranges::sort(controls, [&](const RunControl& a, const RunControl& b) { return key(a) < key(b); });
  std::ranges::stable_sort(controls, {}, &RunControl::file);
  std::vector<RunControl> all;
  for (RunControl& c : controls) {
    const auto together = [&](const RunControl& other) {
      const ControlSettings &a = other.settings, &b = c.settings;
      return c.model->fuses() && other.member == c.member && a.start == b.start && a.end == b.end && a.guess == b.guess;
    };
    const auto found = std::ranges::find_if(all, together);
    if (found == all.end()) {
      c.images[0].weight = c.settings.scale;
      all.push_back(std::move(c));
      continue;
    }
    c.images[0].weight = c.settings.scale;
    found->images.push_back(std::move(c.images[0]));
  }
  for (RunControl& c : all)  // several images are weighted among each other, one by the network's scale
    if (c.images.size() > 1) c.settings.scale = 1;
    else c.images[0].weight = 1;
  return all;
}

int64_t draws_of(std::span<const RunControl> controls) {
  return std::ranges::count_if(controls, [](const RunControl& c) { return c.model->draws(); });
}

std::vector<Tensor> encode_controls(std::span<const RunControl> controls, sampling::Compat compat, const sampling::NoiseRequest& draws,
                                    const std::array<int64_t, 4>& latents, const HostedCodec& codec, Backend& host) {
  const auto [B, h, w, C] = latents;
  const std::vector<size_t> order = in_order_of_draws(controls, compat);
  std::vector<Tensor> all;
  for (size_t k = 0; k < controls.size(); ++k) {
    Tensor& z = all.emplace_back();
    if (controls[k].model->sight() == ControlSight::pixels) continue;
    const int64_t factor = codec.config.factor;
    parts::Posterior p = codec.encode(autoencoder_input(controls[k], w * factor, h * factor, host));
    z = p.mode().z;
    const auto number = std::ranges::find(order, k) - order.begin();
    if (!p.logvar || number == std::ssize(order)) continue;
    const Tensor noise = sampling::encoding_noise(compat, draws, host, {B, h, w, C}, number);
    if (!noise) continue;
    if (const int64_t n = noise.size(0); n > 1) p = {ops::repeat_batch(p.mean, n), ops::repeat_batch(p.logvar, n)};
    z = p.sample(noise).z;
  }
  return all;
}

ActiveControls::ActiveControls(std::span<const RunControl> controls, std::span<const Tensor> encoded, const Tensor& to_fill,
                               const Holding& networks, std::array<int64_t, 2> height_and_width, int64_t latent_factor, Backend& host,
                               Backend& device)
    : controls_(controls) {
  for (size_t k = 0; k < controls.size(); ++k) {
    const RunControl& control = controls[k];
    networks_.push_back(networks.of(control.member).any(0));
    std::vector<ControlInput> inputs;
    for (const RunControl::Image& image : control.images) {
      ControlInput& input = inputs.emplace_back(ControlInput{.mode = image.mode, .weight = image.weight});
      if (encoded[k]) input.latents = encoded[k].to(device);
      else input.image = control_image(image.pixels, height_and_width, host).to(device);
      if (to_fill && control.model->fills()) input.to_fill = to_fill.to(device);
      if (!image.mask.values.empty()) input.mask = control_mask(image.mask, height_and_width, latent_factor, host).to(device);
    }
    prepared_.push_back(control.model->prepare(networks_.back(), inputs));
  }
}

ActiveControls ActiveControls::slice(int64_t begin, int64_t end) const {
  ActiveControls some = *this;
  for (TensorLists& lists : some.prepared_)
    for (auto& [name, tensors] : lists)
      for (Tensor& x : tensors)
        if (x && x.size(0) > 1) x = x.slice(0, begin, end);
  return some;
}

TensorLists ActiveControls::operator()(const Moment& m, const ControlCall& call, int64_t negative, const Conditioning& prompt) const {
  std::vector<ControlOutput> outputs;
  const int64_t n = call.x.size(0);
  for (size_t k = 0; k < controls_.size(); ++k) {
    const RunControl& control = controls_[k];
    if (!control.model->acts(control.settings, m.call, m.calls, m.step, m.steps)) continue;
    const bool spares = negative > 0 && control.model->spares_negative(control.settings);
    if (spares && negative == n) continue;
    const auto output = [&](const Tensor& latents, const Conditioning& conditions) {
      return (*control.model)(networks_[k], prepared_[k], control.settings,
                              {.x = latents, .timestep = call.timestep, .given = conditions, .embedded_guidance = call.embedded_guidance});
    };
    const bool copies = negative > 0 && !spares && control.model->sees_prompt_only();
    if (copies && negative == n) outputs.push_back(output(call.x, repeated(prompt, n)));
    else if (spares || copies) outputs.push_back(output(call.x.slice(0, negative, n), part_of(call.given, negative, n)));
    else outputs.push_back(output(call.x, call.given));
    if (spares) pad_front(outputs.back().tensors, negative);
    else if (copies && negative < n) repeat_front(outputs.back().tensors, negative);
  }
  return outputs.empty() ? TensorLists() : summed(outputs);
}

}  // namespace hearth::models::diffusion
