#include "cli/editing_flags.h"

#include "core/error.h"

namespace hearth::cli {
namespace {

// "10,0,20,0"
std::array<int64_t, 4> parse_margins(const std::string& text) {
  const std::vector<int32_t> numbers = parse_ids(text);
  if (numbers.size() != 4) fail<UsageError>("'{}' has {} numbers, needed four: left,top,right,bottom", text, numbers.size());
  std::array<int64_t, 4> margins{};
  std::copy(numbers.begin(), numbers.end(), margins.begin());
  return margins;
}

double parse_part(const std::string& text) {
  const double part = parse_number(text);
  if (part < 0 || part > 1) fail<UsageError>("{}, needed 0 to 1", text);
  return part;
}

}  // namespace

void EditingFlags::add_to(Flags& flags) {
  flags.text("-i,--init-image", "FILE", "Start from this picture, PNG, JPEG or WebP; without -W and -H the run has its size", picture,
             "from noise");
  flags.add("--strength,--denoise", "X", "How much of the run is done on the picture, 0 to 1",
            "0.8, with a mask 1; of a refiner alone 0.3; with --compat diffusers the pipeline's",
            [this](const std::string& t) { edit.strength = parse_part(t); });
  flags.choice("--resize-mode", "", "Into a size of another shape: both sides stretched; cropped; or filled up by its edges", resize,
               {.names = {"stretch", "crop", "fill"}});
  flags.text("--mask", "FILE", "Paint only where this picture is white, of the same size as the other", mask, "everywhere");
  flags.toggle("--mask-from-alpha", "Paint where the picture is transparent", edit.mask_from_alpha);
  flags.toggle("--mask-invert", "Paint where the mask is black instead", edit.mask_invert);
  flags.add("--mask-blur", "X", "Blur the mask: standard deviation in pixels", "0",
            [this](const std::string& t) { edit.mask_blur = parse_number(t); });
  flags.choice("--inpaint-fill", "", "Under the mask at first: the picture, the colours around it, noise, or nothing", fill,
               {.names = {"original", "fill", "noise", "nothing"}}, "original; with --outpaint fill");
  flags.toggle("--only-masked", "Draw the masked region alone, in the run's size, and put it back into the picture", edit.only_masked);
  flags.integer("--mask-padding", "Pixels around that region which are seen with it", edit.mask_padding, {.low = 0});
  flags.add("--outpaint", "L,T,R,B", "Paint so many pixels beyond the left, top, right and bottom of the picture", "none",
            [this](const std::string& t) { edit.outpaint = parse_margins(t); });
  flags.text("--depth-map", "FILE", "For models that are told it: how near things are, the nearer the lighter", depth_map, "none");
  flags.number("--image-guidance", "Models that edit as they are told: how near they stay to the picture, 1 and more", edit.image_guidance,
               "1.5");
  flags.add("--hires", "SCALE", "A second pass on the picture made larger, 1 to 64", "none", [this](const std::string& t) {
    hires.scale = parse_number(t);
    second = true;
  });
  flags.add("--hires-upscaler", "NAME",
            "How it is made larger: latent, latent-antialiased, latent-bicubic, latent-bicubic-antialiased, latent-nearest, "
            "latent-nearest-exact; "
            "or decoded: nearest, bilinear, bicubic, lanczos",
            hires.upscaler, [this](const std::string& t) { hires.upscaler = t, second_detail = true; });
  flags.add("--hires-steps", "N", "Steps of the second pass, all of which are done", "those of the first", [this](const std::string& t) {
    hires.steps = parse_integer(t, 1, 1 << 20);
    second_detail = true;
  });
  flags.add("--hires-strength", "X", "How far back in the noise the second pass begins, 0 to 1", fmt::format("{}", hires.strength),
            [this](const std::string& t) { hires.strength = parse_part(t), second_detail = true; });
  flags.add("--variation-seed", "N", "The seed whose noise --variation-strength goes towards", "random",
            [this](const std::string& t) { variation.seed = parse_seed(t); });
  flags.add("--variation-strength", "X", "How far the noise lies on the way to that of --variation-seed, 0 to 1", "0",
            [this](const std::string& t) { variation.strength = parse_part(t); });
}

void EditingFlags::apply(Request& request) const {
  if (variation.seed && variation.strength == 0) fail<UsageError>("--variation-seed: without --variation-strength it has no effect");
  if (second_detail && !second) fail<UsageError>("--hires: needed by the other flags of a second pass");
  if (second) request.hires = hires;
  request.variation = variation;
  request.edit = edit;
  if (!picture.empty()) request.edit.picture = Image::load(picture), request.edit.picture_name = picture;
  if (!mask.empty()) request.edit.mask = Image::load(mask), request.edit.mask_name = mask;
  if (!depth_map.empty()) request.edit.depth_map = Image::load(depth_map), request.edit.depth_map_name = depth_map;
  if (resize == "crop") request.edit.resize = ResizeMode::crop;
  if (resize == "fill") request.edit.resize = ResizeMode::fill;
  if (fill == "original") request.edit.fill = InpaintFill::original;
  if (fill == "fill") request.edit.fill = InpaintFill::fill;
  if (fill == "noise") request.edit.fill = InpaintFill::noise;
  if (fill == "nothing") request.edit.fill = InpaintFill::nothing;
}

}  // namespace hearth::cli
