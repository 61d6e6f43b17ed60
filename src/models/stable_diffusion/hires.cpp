#include "models/stable_diffusion/hires.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "core/error.h"
#include "media/resample.h"
#include "ops/shape_ops.h"

namespace hearth::models::stable_diffusion {
namespace {

constexpr std::array<Upscaler, 10> upscalers{{{"latent", true},
                                              {"latent-antialiased", true},
                                              {"latent-bicubic", true},
                                              {"latent-bicubic-antialiased", true},
                                              {"latent-nearest", true},
                                              {"latent-nearest-exact", true},
                                              {"nearest", false},
                                              {"bilinear", false},
                                              {"bicubic", false},
                                              {"lanczos", false}}};

Filter filter_of(std::string_view upscaler) {
  if (upscaler.ends_with("nearest") || upscaler.ends_with("nearest-exact")) return Filter::nearest;
  if (upscaler.find("bicubic") != upscaler.npos) return Filter::bicubic;
  return upscaler == "lanczos" ? Filter::lanczos : Filter::bilinear;
}

// From [H, W] to [height, width].
std::vector<float> larger(const std::vector<float>& x, int64_t H, int64_t W, int64_t height, int64_t width, std::string_view upscaler) {
  if (upscaler == "latent-bicubic") return interpolate_bicubic(x, W, H, width, height);
  return resize(x, W, H, width, height, filter_of(upscaler));
}

}  // namespace

const Upscaler& find_upscaler(std::string_view name) {
  const auto found = std::ranges::find(upscalers, name, &Upscaler::name);
  if (found != upscalers.end()) return *found;
  std::string known;
  for (const Upscaler& u : upscalers) known += (known.empty() ? "" : ", ") + std::string(u.name);
  fail<UsageError>("hires: upscaler '{}' is unknown; known: {}", name, known);
}

Tensor upscaled_latents(const Tensor& z, int64_t height, int64_t width, std::string_view upscaler) {
  const auto [B, H, W, C] = z.dims<4>();
  if (height < H || width < W) fail<ShapeError>("hires: latents {} to {}×{}, needed not smaller", z.shape(), height, width);
  if (upscaler == "latent-nearest") return ops::resize_nearest(z, height, width);
  const Shape shape{B, C, height, width};
  if (!z.backend().computes()) return ops::to_channels_last(Tensor::empty(z.backend(), shape));
  const std::vector<float> planes = ops::to_channels_first(z).to_vector();
  std::vector<float> out;
  for (auto plane = planes.begin(); plane != planes.end(); plane += H * W) {
    const std::vector<float> one = larger({plane, plane + H * W}, H, W, height, width, upscaler);
    out.insert(out.end(), one.begin(), one.end());
  }
  return ops::to_channels_last(Tensor::from(z.backend(), shape, out));
}

ImageRequest first_pass(const ImageRequest& request) {
  ImageRequest first = request;
  first.hires.reset();
  first.decode = false, first.last = false;
  return first;
}

MemoryPlan of_first_pass(const MemoryPlan& plan) {
  MemoryPlan first = plan;
  first.release = !plan.everything;
  return first;
}

ImageRequest second_pass(const StableDiffusionConfig& config, const ImageRequest& request, Backend& device) {
  const ImageRequest::Hires& hires = *request.hires;
  if (!(hires.scale >= 1 && hires.scale <= 64)) fail<UsageError>("hires: a scale of {}, needed 1 to 64", hires.scale);
  if (hires.steps < 0) fail<UsageError>("hires: {} steps, needed 1 at least, or 0 for as many as in the first pass", hires.steps);
  if (!request.edit.mask.values.empty()) fail<UnsupportedError>("hires: a second pass draws all of the picture: not with a mask");
  if (const Beside beside = beside_of(config); beside == Beside::picture || beside == Beside::mask_and_picture)
    fail<UnsupportedError>("hires: a second pass does not go with a model that sees a picture beside the latents");
  if (request.noise) fail<UnsupportedError>("hires: noise that is given is for one pass; needed a seed");
  if (!request.sigmas.empty()) fail<UnsupportedError>("hires: sigmas that are given are for one pass; needed a schedule");
  if (request.stop_after > 0 || request.resume) fail<UnsupportedError>("hires: two passes cannot be stopped and resumed");
  const Resolved first = resolve(config, first_pass(request), device);
  const int64_t factor = config.vae.factor();
  const auto side = [&](int64_t of_first) { return int64_t(double(of_first) * hires.scale) / factor * factor; };
  ImageRequest second = request;
  second.hires.reset();
  second.width = side(first.width), second.height = side(first.height);
  if (hires.steps > 0) second.steps = hires.steps;
  second.steps_before = request.steps;
  second.edit = {.strength = hires.strength, .all_steps = true, .depth = request.edit.depth};
  if (find_upscaler(hires.upscaler).of_latents)
    second.edit.latents = Tensor::empty(device, {request.batch, *second.height / factor, *second.width / factor, first.latents[3]});
  else second.edit.pictures.assign(size_t(request.batch), {.width = *second.width, .height = *second.height, .rgb = {}});
  return second;
}

Resolved resolve_twice(const StableDiffusionConfig& config, const ImageRequest& request, Backend& device) {
  const Resolved first = resolve(config, first_pass(request), device);
  Resolved second = resolve(config, second_pass(config, request, device), device);
  second.steps = first.steps;
  second.first_pass = {first.width, first.height};
  second.network_calls = first.network_calls > 0 && second.network_calls > 0 ? first.network_calls + second.network_calls : 0;
  second.strength = first.strength;  // what is told of the second pass is told apart
  return second;
}

ImageResult run_twice(const StableDiffusionConfig& config, const ImageRequest& request, const MemoryPlan& plan, Backend& device,
                      Networks& networks, const OnProgress& progress) {
  const ImageRequest one = first_pass(request);
  ImageResult first = run(config, one, resolve(config, one, device), of_first_pass(plan), device, networks, progress);

  ImageRequest two = second_pass(config, request, device);
  const std::string_view upscaler = request.hires->upscaler;
  const auto start = std::chrono::steady_clock::now();
  if (two.edit.latents) {
    two.edit.latents = upscaled_latents(first.latents, two.edit.latents.size(1), two.edit.latents.size(2), upscaler);
  } else {
    networks.load_vae(progress);
    for (int64_t b = 0; b < request.batch; ++b) {
      const Tensor latents = first.latents.slice(0, b, b + 1);
      const Tensor picture = plan.tile ? networks.vae->decode_in_tiles(latents, *plan.tile) : networks.vae->decode(latents);
      Pixels& bigger = two.edit.pictures[size_t(b)];
      if (!device.computes()) continue;
      bigger = resize(to_pixels(picture.view({picture.size(1), picture.size(2), picture.size(3)}), PixelRange::minus_one_to_one),
                      bigger.width, bigger.height, filter_of(upscaler));
    }
  }
  const double between = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  first.latents = {};

  ImageResult second = run(config, two, resolve(config, two, device), plan, device, networks, progress);
  second.step_seconds.insert(second.step_seconds.begin(), first.step_seconds.begin(), first.step_seconds.end());
  second.load_seconds += first.load_seconds;
  second.encode_seconds += first.encode_seconds + between;
  second.sample_seconds += first.sample_seconds;
  for (const auto& [component, largest] : first.largest) second.largest[component] = std::max(second.largest[component], largest);
  return second;
}

}  // namespace hearth::models::stable_diffusion
