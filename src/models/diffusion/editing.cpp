#include "models/diffusion/editing.h"

#include <algorithm>
#include <cmath>

#include "core/on_host.h"
#include "media/editing/resample.h"
#include "ops/shape_ops.h"
#include "sampling/compat/a1111_times.h"

namespace hearth::models::diffusion {
namespace {

using sampling::Compat;

bool of_diffusers(Compat c) { return c == Compat::hearth || c == Compat::diffusers; }

// Pixels → [1, H, W, 3] in −1 … 1, set to 0 (gray) where the mask is 128 or more.
Tensor image_tensor(const Pixels& image, const PixelMask* hidden, Backend& host) {
  return written_on_host(host, {1, image.height, image.width, 3}, DType::f32, [&](Tensor& y) {
    float* const values = y.data<float>();
    std::ranges::copy(to_floats(image, PixelRange::minus_one_to_one), values);
    if (hidden)
      for (size_t i = 0; i < hidden->values.size(); ++i)
        if (hidden->values[i] >= 128) std::fill_n(values + 3 * i, 3, 0.0f);
  });
}

Tensor batched(const Tensor& x, int64_t B) { return x.size(0) == B ? x : ops::repeat_batch(x, B / x.size(0)); }

// One mask value per f × f pixels: that of the corner, as in nearest-neighbor resizing, or the mean of the middle four,
// as in bilinear resizing.
std::vector<float> on_grid(const PixelMask& mask, int64_t h, int64_t w, bool bilinear) {
  std::vector<float> grid;
  const int64_t f = mask.height / h;
  const auto at = [&](int64_t y, int64_t x) { return float(mask.values[size_t(y * mask.width + x)]) / 255.0f; };
  for (int64_t y = 0; y < h; ++y)
    for (int64_t x = 0; x < w; ++x) {
      const int64_t a = f * y + (f - 1) / 2, b = f * x + (f - 1) / 2, next = f > 1 ? 1 : 0;
      grid.push_back(bilinear ? 0.25f * (at(a, b) + at(a, b + next) + at(a + next, b) + at(a + next, b + next)) : at(f * y, f * x));
    }
  return grid;
}

void check_size(const PixelMask& mask, int64_t width, int64_t height) {
  if (mask.width != width || mask.height != height)
    fail<UsageError>("edit: the mask is {}×{}, the image {}×{}, expected equal sizes", mask.width, mask.height, width, height);
}

bool is_inpainting(Beside beside) { return beside == Beside::mask_and_image || beside == Beside::image_and_mask; }

// Whether the run needs the image's own latents, or the reference's pipeline draws them.
bool needs_latents(Beside beside, const EditPlan& plan) {
  return !plan.from_noise || (!plan.control_fills && beside != Beside::mask_and_image && beside != Beside::image);
}

// Draws of encoder posteriors that precede the initial noise: the reference's pipeline for inpainting with a control image draws the masked
// image's, which it does not use, then the control image's, then the image's.
int64_t draws_before_noise(const ImageEdit& edit, bool image) {
  const bool masked = edit.starts() && !edit.mask.values.empty();
  return (edit.control ? 1 + int64_t(masked) : 0) + int64_t(image);
}

sampling::EncodingDraws draws_of(const ImageEdit& edit, bool image) {
  const bool masked = edit.starts() && !edit.mask.values.empty();
  sampling::EncodingDraws draws{.before = draws_before_noise(edit, image), .after = masked && !edit.control ? 1 : 0};
  if (edit.control) draws.of_batch = int64_t(masked);
  return draws;
}

double default_strength(const Facts& model, Compat compat, bool masked) {
  const Strengths& s = compat == Compat::diffusers ? model.reference_strengths : model.strengths;
  return masked ? s.mask : s.image;
}

}  // namespace

EditPlan plan_edit(const Facts& model, const ImageTask& task, const sampling::Sampler& sampler, int64_t width, int64_t height,
                   bool control_fills) {
  const ImageEdit& edit = task.edit;
  const bool masked = !edit.mask.values.empty(), peers = !of_diffusers(task.request.compat);
  const Beside beside = model.beside;
  EditPlan p{.part = {.steps = task.request.steps}};
  if (is_inpainting(beside) && !(edit.starts() && masked))
    fail<UsageError>("generate: this is an inpainting model, expected --init-image and --mask");
  if (beside == Beside::image && !edit.starts()) fail<UsageError>("generate: this is an instruction editing model, expected --init-image");
  if (beside == Beside::depth && !edit.depth) fail<UsageError>("generate: this model is conditioned on a depth map, expected --depth-map");
  if (beside != Beside::depth && edit.depth) fail<UsageError>("edit: this model does not support a depth map, expected none");
  if (beside == Beside::control && !edit.control)
    fail<UsageError>("generate: this model is conditioned on a control image, expected --control-image");
  if (beside != Beside::control && edit.control) fail<UsageError>("edit: this model does not support a control image, expected none");
  if (edit.control && model.codec.draws) p.encodings = draws_of(edit, false);
  if (!edit.starts()) {
    if (masked) fail<UsageError>("edit: a mask without an image, expected --init-image");
    if (edit.strength) fail<UsageError>("edit: a strength of {} without an image, expected --init-image", *edit.strength);
    return p;
  }
  for (const Pixels& image : edit.images)
    if (image.width != width || image.height != height)
      fail<UsageError>("edit: the image is {}×{}, the run {}×{}, expected equal sizes", image.width, image.height, width, height);
  if (edit.images.size() > 1 && int64_t(edit.images.size()) != task.request.batch_size)
    fail<UsageError>("edit: {} images for a batch of {}, expected one image or one per image of the batch", edit.images.size(),
                     task.request.batch_size);
  if (masked) check_size(edit.mask, width, height);
  if (edit.fill != ImageEdit::Fill::image && !masked) fail<UsageError>("edit: a fill without a mask: expected --mask");

  // The reference's instruction editing starts from noise; in A1111 and ComfyUI it starts like any image-to-image run.
  if (beside == Beside::image && !peers) {
    if (edit.strength)
      fail<UsageError>("edit: a strength of {}, but instruction editing starts from noise, expected no strength", *edit.strength);
    if (masked) fail<UnsupportedError>("edit: a mask for instruction editing is supported only with --compat a1111 and comfyui");
    return p;
  }
  const double strength = edit.strength.value_or(default_strength(model, task.request.compat, masked));
  p.strength = strength;
  p.part = sampling::part_of_run(task.request.compat, task.request.steps, strength,
                                 edit.all_steps          ? sampling::Steps::all_steps
                                 : model.rounds_calls_up ? sampling::Steps::by_program_rounded_up
                                                         : sampling::Steps::by_program);
  p.from_noise = !peers && masked && strength == 1;
  p.control_fills = control_fills && masked && beside == Beside::nothing;
  p.keeps = masked && (!(is_inpainting(beside) || p.control_fills) || peers);
  if (p.keeps && sampler.ends_itself && !peers)
    fail<UnsupportedError>(
        "edit: sampler '{}' has no steps after which the unmasked part can be restored, expected --compat a1111 or comfyui", sampler.name);
  const bool drawn = p.part.skipped < p.part.steps;  // without steps there is no noise, and the image does not change
  if (drawn && model.codec.draws && !edit.latents) p.encodings = draws_of(edit, needs_latents(beside, p));
  if (p.control_fills) p.encodings.after = 0;  // they see the posterior's mode
  return p;
}

sampling::Schedule begun_on_the_way(EditPlan& plan, const ImageTask& task, const sampling::Sampler& sampler,
                                    const sampling::Schedule& whole) {
  if (plan.from_noise) return whole;
  plan.by_times = task.request.compat == Compat::a1111 && whole.path.family == sampling::Family::preserving;
  if (plan.by_times) {
    const int64_t times = plan.part.steps - plan.part.skipped - 1;
    const int64_t steps = plan.part.steps + (task.request.discard_penultimate ? 1 : 0);
    const sampling::Rest rest = sampler.a1111_levels == sampling::A1111Levels::times ? sampling::a1111_even_rest(whole, steps, times)
                                                                                     : sampling::rest_by_times(whole, times);
    plan.start = rest.start;
    return rest.schedule;
  }
  sampling::Schedule rest = sampling::without_first(whole, plan.part.skipped);
  if (task.edit.starts()) rest.ends.reset();                      // A1111 uses the ends of the remaining schedule
  if (plan.part.skipped >= plan.part.steps) rest.steps.clear();   // PLMS has one call more than steps
  if (!of_diffusers(task.request.compat)) rest.left_out.clear();  // ComfyUI's samplers receive a shorter list
  plan.start = sampling::start_of(task.request.compat, whole, rest, plan.part.skipped);
  return rest;
}

EncodedImage EncodedImage::slice(int64_t begin, int64_t end) const {
  const auto cut = [&](const Tensor& t) { return t ? t.slice(0, begin, end) : t; };
  return {cut(z), cut(noise), cut(mask), cut(beside), cut(to_fill)};
}

Tensor latent_mask(const PixelMask& mask, Compat compat, int64_t h, int64_t w, Backend& host) {
  return written_on_host(host, {1, h, w, 1}, DType::f32, [&](Tensor& y) {
    std::vector<float> grid;
    if (compat == Compat::a1111) grid = to_floats(resize(mask, w, h, Filter::bicubic), PixelRange::zero_to_one);
    else grid = on_grid(mask, h, w, compat == Compat::comfyui);
    if (compat != Compat::comfyui)
      for (float& v : grid) v = v >= 0.5f ? 1 : 0;
    std::ranges::copy(grid, y.data<float>());
  });
}

Tensor mask_pixels(const PixelMask& mask, Compat compat, int64_t h, int64_t w, Backend& host) {
  const int64_t f = mask.height / h;
  return written_on_host(host, {1, h, w, f * f}, DType::f32, [&](Tensor& y) {
    float* value = y.data<float>();
    for (int64_t row = 0; row < h; ++row)
      for (int64_t column = 0; column < w; ++column)
        for (int64_t i = 0; i < f * f; ++i) {
          const uint8_t level = mask.values[size_t((row * f + i / f) * mask.width + column * f + i % f)];
          *value++ = compat == Compat::comfyui ? float(level) / 255.0f : level >= 128 ? 1.0f : 0.0f;
        }
  });
}

Tensor depth_channel(const DepthMap& depth, int64_t h, int64_t w, Backend& host) {
  return written_on_host(host, {1, h, w, 1}, DType::f32, [&](Tensor& y) {
    const std::vector<float> values = interpolate_bicubic(depth.values, depth.width, depth.height, w, h);
    const auto [low, high] = std::ranges::minmax(values);
    if (!(high > low)) fail<UsageError>("edit: the depth map is {} everywhere, expected different depths", low);
    std::ranges::transform(values, y.data<float>(), [low = low, high = high](float v) { return 2 * (v - low) / (high - low) - 1; });
  });
}

EncodedImage encode_image(const Facts& model, const ImageTask& task, const EditPlan& plan, const sampling::NoiseRequest& draws,
                          const std::array<int64_t, 4>& latents, const HostedCodec& codec, Backend& host) {
  const ImageEdit& edit = task.edit;
  const int64_t B = latents[0], h = latents[1], w = latents[2], C = latents[3];
  const bool masked = !edit.mask.values.empty();
  const Beside beside = model.beside;
  // Latents of each image: drawn from its posterior, or the mean if the program or the run draws nothing.
  int64_t drawn = plan.encodings.controls;
  const auto encoded = [&](std::span<const Pixels> images, const PixelMask* hidden, bool draw) {
    std::vector<Tensor> means, logvars;
    for (const Pixels& image : images) {
      const parts::Posterior p = codec.encode(image_tensor(image, hidden, host));
      means.push_back(p.mean);
      if (p.logvar) logvars.push_back(p.logvar);
    }
    parts::Posterior all{ops::concat(means, 0), logvars.empty() ? Tensor() : ops::concat(logvars, 0)};
    Tensor noise;
    if (draw) noise = sampling::encoding_noise(task.request.compat, draws, host, {B, h, w, C}, drawn++);
    if (!noise) return batched(codec.to_model(all.mode()), B);
    const int64_t n = std::max(noise.size(0), all.mean.size(0));
    all = {batched(all.mean, n), batched(all.logvar, n)};
    return batched(codec.to_model(all.sample(batched(noise, n))), B);
  };

  EncodedImage out;
  if (edit.control) {
    const Pixels control = resize(*edit.control, w * codec.config.factor, h * codec.config.factor, Filter::lanczos);
    if (masked) ++drawn;  // draws_before_noise()
    out.beside = encoded({&control, 1}, nullptr, plan.encodings.before > drawn);
  }
  if (!edit.starts()) return out;
  const bool drawn_before = plan.encodings.before > drawn;
  if (edit.latents) out.z = edit.latents;
  else if (needs_latents(beside, plan)) out.z = encoded(edit.images, nullptr, drawn_before);
  if (masked) out.mask = batched(latent_mask(edit.mask, task.request.compat, h, w, host), B);
  // The mask as an input is 0 or 1 in all programs; ComfyUI rounds the mean of four pixels to even.
  const auto mask_and_image = [&] {
    Tensor input_mask = latent_mask(edit.mask, task.request.compat == Compat::comfyui ? Compat::comfyui : Compat::hearth, h, w, host);
    unless_dry(host, [&] {
      for (float& v : std::span(input_mask.data<float>(), size_t(input_mask.numel()))) v = std::nearbyint(v);
    });
    return ops::concat({batched(input_mask, B), encoded(edit.images, &edit.mask, plan.encodings.after > 0)}, 3);
  };
  if (beside == Beside::mask_and_image) out.beside = mask_and_image();
  if (plan.control_fills) out.to_fill = mask_and_image();
  if (beside == Beside::image_and_mask)
    out.beside = ops::concat(
        {encoded(edit.images, &edit.mask, plan.encodings.after > 0), batched(mask_pixels(edit.mask, task.request.compat, h, w, host), B)},
        3);
  if (beside == Beside::image) {
    std::vector<Tensor> means;
    for (const Pixels& image : edit.images) {
      const parts::RawLatents mean = codec.encode(image_tensor(image, nullptr, host)).mode();
      means.push_back(model.image_beside_is_scaled ? codec.to_model(mean) : mean.z);
    }
    out.beside = batched(ops::concat(means, 0), B);
  }
  return out;
}

}  // namespace hearth::models::diffusion
