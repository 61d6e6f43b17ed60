#include "models/diffusion/control.h"

#include <algorithm>
#include <tuple>

#include "core/on_host.h"
#include "media/editing/resample.h"
#include "ops/pointwise.h"
#include "ops/shape_ops.h"

namespace hearth::models::diffusion {
namespace {

// Pixels, resized like diffusers' VaeImageProcessor does, → [1, H, W, 3] in 0 … 1.
Tensor control_image(const Pixels& image, std::array<int64_t, 2> height_and_width, Backend& host) {
  const auto [H, W] = height_and_width;
  return written_on_host(host, {1, H, W, 3}, DType::f32, [&, H = H, W = W](Tensor& y) {
    const bool fits = image.width == W && image.height == H;
    const std::vector<float> values = to_floats(fits ? image : resize(image, W, H, Filter::lanczos), PixelRange::zero_to_one);
    std::ranges::copy(values, y.data<float>());
  });
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

bool ControlModel::acts(const ControlSettings& s, int64_t call, int64_t calls, int64_t step, int64_t steps) const {
  const auto [i, n] = calls > 0 ? std::pair(call, calls) : std::pair(step, steps);
  return double(i) / double(n) >= s.start && double(i + 1) / double(n) <= s.end;
}

std::vector<RunControl> in_fixed_order(std::vector<RunControl> controls) {
  std::erase_if(controls, [](const RunControl& c) { return c.settings.scale == 0; });
  const auto key = [](const RunControl& c) {
    const RunControl::Image& image = c.images.front();
    return std::tie(c.member, c.settings, image.mode, image.pixels.width, image.pixels.height, image.pixels.rgb);
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

ActiveControls::ActiveControls(std::span<const RunControl> controls, const Holding& networks, std::array<int64_t, 2> height_and_width,
                               Backend& host, Backend& device)
    : controls_(controls) {
  for (const RunControl& control : controls) {
    networks_.push_back(networks.of(control.member).any(0));
    std::vector<ControlInput> inputs;
    for (const RunControl::Image& image : control.images)
      inputs.push_back({control_image(image.pixels, height_and_width, host).to(device), image.mode, image.weight});
    prepared_.push_back(control.model->prepare(networks_.back(), inputs));
  }
}

TensorLists ActiveControls::operator()(const Moment& m, const Tensor& x, float timestep, const Conditioning& given,
                                       int64_t negative) const {
  std::vector<ControlOutput> outputs;
  const int64_t n = x.size(0);
  for (size_t k = 0; k < controls_.size(); ++k) {
    const RunControl& control = controls_[k];
    if (!control.model->acts(control.settings, m.call, m.calls, m.step, m.steps)) continue;
    const bool spares = negative > 0 && control.model->spares_negative(control.settings);
    if (spares && negative == n) continue;
    const auto output = [&](const Tensor& latents, const Conditioning& conditions) {
      return (*control.model)(networks_[k], prepared_[k], control.settings, latents, timestep, conditions);
    };
    outputs.push_back(spares ? output(x.slice(0, negative, n), part_of(given, negative, n)) : output(x, given));
    if (spares) pad_front(outputs.back().tensors, negative);
  }
  return outputs.empty() ? TensorLists() : summed(outputs);
}

}  // namespace hearth::models::diffusion
