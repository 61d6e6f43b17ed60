#include "api/image/editing.h"

#include <algorithm>

#include "core/error.h"
#include "core/files/sha256.h"
#include "media/editing/control_image.h"
#include "media/editing/fit.h"
#include "media/editing/mask.h"

namespace hearth::api {
namespace {

constexpr int64_t most_pixels = ImageLimits().pixels;

Pixels pixels_of(const Image& image, std::string_view what) {
  if (image.width < 1 || image.height < 1 || image.rgb.size() != size_t(3 * image.width * image.height))
    fail<UsageError>("{}: {} bytes for {}×{} pixels, expected 3 per pixel", what, image.rgb.size(), image.width, image.height);
  return {.width = image.width, .height = image.height, .rgb = image.rgb};
}

void check_without_image(const Editing& e) {
  const auto refuse = [](bool is_there, std::string_view what) {
    if (is_there) fail<UsageError>("edit: {} without an image, expected --init-image", what);
  };
  refuse(e.mask.has_value(), "a mask");
  refuse(e.mask_from_alpha, "a mask from transparency");
  refuse(e.outpaint != std::array<int64_t, 4>{}, "outpainting");
  refuse(e.strength.has_value(), "a strength");
}

void check_without_mask(const Editing& e) {
  const auto refuse = [](bool is_there, std::string_view what) {
    if (is_there) fail<UsageError>("edit: {} without a mask, expected --mask, --mask-from-alpha or --outpaint", what);
  };
  refuse(e.mask_invert, "inverting");
  refuse(e.mask_blur != 0, "a blur");
  refuse(e.fill.has_value(), "a fill");
  refuse(e.only_masked, "--only-masked");
}

// An image that describes the whole result cannot follow a change of its geometry.
void check_geometry(const Editing& e, std::string_view flag) {
  if (e.only_masked || e.outpaint != std::array<int64_t, 4>{} || e.resize != ResizeMode::stretch)
    fail<UnsupportedError>("edit: {} cannot be combined with --only-masked, --outpaint or --resize-mode", flag);
}

// White is regenerated. nullopt if the request has no mask.
std::optional<PixelMask> mask_of(const Editing& e, const Pixels& image) {
  if (e.mask && e.mask_from_alpha) fail<UsageError>("edit: --mask and --mask-from-alpha are both given, expected one of them");
  std::optional<PixelMask> mask;
  if (e.mask) mask = luma(pixels_of(*e.mask, "mask"));
  if (e.mask_from_alpha) {
    if (e.image->alpha.size() != size_t(image.width * image.height))
      fail<UsageError>("edit: the image has no transparency, expected some for --mask-from-alpha");
    mask = inverted({.width = image.width, .height = image.height, .values = e.image->alpha});
  }
  if (mask && (mask->width != image.width || mask->height != image.height))
    fail<UsageError>("edit: the mask is {}×{}, the image {}×{}, expected equal sizes", mask->width, mask->height, image.width,
                     image.height);
  return mask;
}

Fit fit_of(ResizeMode mode) { return mode == ResizeMode::crop ? Fit::crop : mode == ResizeMode::fill ? Fit::fill : Fit::stretch; }

// The requested side, else the image's, rounded down to a multiple of `factor`.
int64_t side(const std::optional<int64_t>& requested, int64_t own, int64_t factor) {
  return requested ? *requested : std::max(own / factor, int64_t(1)) * factor;
}

// Extends the canvas and masks the new border.
void extend(Pixels& image, std::optional<PixelMask>& mask, const std::array<int64_t, 4>& by) {
  const auto [left, top, right, bottom] = by;
  for (const int64_t margin : by)
    if (margin < 0 || margin > most_pixels) fail<UsageError>("outpaint: a margin of {} pixels, expected 0 to {}", margin, most_pixels);
  const int64_t W = left + image.width + right, H = top + image.height + bottom;
  if (W > most_pixels / H) fail<UsageError>("outpaint: {}×{} pixels, expected at most {}", W, H, most_pixels);
  const Margins margins{.left = left, .top = top, .right = right, .bottom = bottom};
  if (!mask) mask = PixelMask{.width = image.width, .height = image.height, .values = std::vector<uint8_t>(image.rgb.size() / 3)};
  mask = extended(*mask, margins, 255);
  image = extended(image, margins, {128, 128, 128});
}

}  // namespace

std::optional<Canvas> prepare_canvas(const Request& r, int64_t factor) {
  const Editing& e = r.edit;
  if (!e.image) {
    check_without_image(e);
    check_without_mask(e);
    return std::nullopt;
  }
  Pixels image = pixels_of(*e.image, "image");
  std::optional<PixelMask> mask = mask_of(e, image);
  const bool extends = e.outpaint != std::array<int64_t, 4>{};
  if (mask && e.mask_invert) mask = inverted(std::move(*mask));
  if (extends) extend(image, mask, e.outpaint);
  if (!mask) check_without_mask(e);

  Canvas c{.width = side(r.width, image.width, factor), .height = side(r.height, image.height, factor)};
  if (c.width < 1 || c.height < 1 || c.width > most_pixels / c.height)
    fail<UsageError>("edit: {}×{} pixels, expected 1 to {}", c.width, c.height, most_pixels);
  const bool as_it_is = c.width == image.width && c.height == image.height;
  if (!as_it_is && !(r.width && r.height) && !e.only_masked)
    c.warnings.push_back(fmt::format("the image is {}×{}, the run {}×{}", image.width, image.height, c.width, c.height));
  c.edit.strength = e.strength;
  if (!mask) {
    c.edit.images = {as_it_is ? image : fitted(image, c.width, c.height, fit_of(e.resize))};
    return c;
  }

  if (e.mask_blur != 0) mask = gaussian_blur(*mask, e.mask_blur);
  const InpaintFill fill = e.fill.value_or(extends ? InpaintFill::fill : InpaintFill::original);
  if (fill == InpaintFill::noise) c.edit.fill = models::ImageEdit::Fill::noise;
  if (fill == InpaintFill::nothing) c.edit.fill = models::ImageEdit::Fill::nothing;
  if (e.only_masked) {
    if (r.deep_color) fail<UnsupportedError>("edit: 16-bit output cannot be combined with --only-masked, which resizes in 8 bits");
    const auto region = masked_region(*mask);
    if (!region) fail<UsageError>("edit: the mask is black everywhere, expected white pixels for --only-masked");
    c.region = grown(*region, e.mask_padding, *mask, c.width, c.height);
    c.original = image, c.mask = *mask;
    image = fitted(cropped(image, *c.region), c.width, c.height, Fit::fill);
    mask = fitted(cropped(*mask, *c.region), c.width, c.height, Fit::fill);
  } else if (!as_it_is) {
    image = fitted(image, c.width, c.height, fit_of(e.resize));
    mask = fitted(*mask, c.width, c.height, fit_of(e.resize));
  }
  if (!e.only_masked) {
    c.original = image, c.mask = *mask;
    if (r.compat == Compat::a1111)  // A1111 doubles the mask for its overlay
      for (uint8_t& v : c.mask.values) v = uint8_t(std::min(2 * int(v), 255));
  }
  // diffusers and ComfyUI do not paste into the original unless the run covers a region only.
  c.puts_back = e.only_masked || r.compat == Compat::hearth || r.compat == Compat::a1111;
  c.edit.images = {fill == InpaintFill::fill ? filled_from_around(image, *mask) : image};
  c.edit.mask = std::move(*mask);
  return c;
}

std::optional<Pixels> control_of(const Request& r) {
  if (!r.edit.control_image) return std::nullopt;
  Pixels pixels = pixels_of(*r.edit.control_image, "control image");
  check_geometry(r.edit, "--control-image");
  return pixels;
}

std::optional<models::DepthMap> depth_of(const Request& r) {
  const Editing& e = r.edit;
  if (!e.depth_map) return std::nullopt;
  const Image& image = *e.depth_map;
  const Pixels pixels = pixels_of(image, "depth map");
  check_geometry(e, "--depth-map");
  models::DepthMap depth{.width = image.width, .height = image.height, .values = {}};
  depth.values.reserve(pixels.rgb.size() / 3);
  const bool deep = image.rgb16.size() == pixels.rgb.size();
  for (size_t i = 0; i < pixels.rgb.size(); i += 3) {
    const auto level = [&](size_t c) { return deep ? double(image.rgb16[i + c]) : double(pixels.rgb[i + c]); };
    depth.values.push_back(float((19595 * level(0) + 38470 * level(1) + 7471 * level(2)) / 65536));  // ITU-R 601 luma
  }
  return depth;
}

std::vector<Pixels> references_of(const Request& r) {
  std::vector<Pixels> images;
  for (const Reference& reference : r.references) images.push_back(pixels_of(reference.image, "reference image"));
  return images;
}

std::vector<models::ControlTask> controls_of(const Request& r) {
  std::vector<models::ControlTask> controls;
  for (const Control& control : r.controls) {
    if (control.path.empty()) fail<UsageError>("control: no network is given, expected a path");
    controls.push_back(
        {.control = control, .image = control_image(pixels_of(control.image, "control image"), control.preprocess), .mask = {}});
    if (control.mask) controls.back().mask = luma(pixels_of(*control.mask, "mask of a control image"));
    controls.back().control.image = {}, controls.back().control.mask.reset();
    check_geometry(r.edit, "--control");
  }
  return controls;
}

std::vector<models::ImagePromptTask> image_prompts_of(const Request& r) {
  std::vector<models::ImagePromptTask> prompts;
  for (const ImagePrompt& prompt : r.image_prompts) {
    if (prompt.path.empty()) fail<UsageError>("image prompt: no adapter is given, expected a path");
    models::ImagePromptTask task{.prompt = prompt, .image = {}, .mask = {}};
    if (prompt.image.width > 0 || prompt.face.empty()) task.image = pixels_of(prompt.image, "image prompt");
    if (prompt.mask) task.mask = pixels_of(*prompt.mask, "mask of an image prompt");
    task.prompt.image = {}, task.prompt.mask.reset();
    prompts.push_back(std::move(task));
  }
  return prompts;
}

Pixels Canvas::put_back(const Pixels& painted) const {
  if (!puts_back) return painted;
  return region ? pasted(painted, original, mask, *region) : pasted(painted, original, mask);
}

DeepPixels Canvas::put_back(const DeepPixels& painted) const {
  if (!puts_back) return painted;
  DeepPixels out = painted;
  for (size_t i = 0; i < out.rgb.size(); ++i) {
    const uint32_t m = mask.values[i / 3], kept = 257u * original.rgb[i];
    out.rgb[i] = uint16_t((painted.rgb[i] * m + kept * (255 - m) + 127) / 255);
  }
  return out;
}

std::string sum_of(const Image& image) {
  const std::string head = fmt::format("{}x{}:", image.width, image.height);
  Sha256 sum;
  sum.add(head);
  for (const std::vector<uint8_t>* levels : {&image.rgb, &image.alpha})
    sum.add({reinterpret_cast<const char*>(levels->data()), levels->size()});
  return sum.hex();
}

}  // namespace hearth::api
