#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/image/editing.h"
#include "api/settings/a1111.h"
#include "api/settings/members.h"
#include "api/settings/rerun_arguments.h"
#include "api/settings/table.h"
#include "core/text/utf8.h"
#include "hearth/rerun.h"

namespace hearth::api {
namespace {

Row image_row(Setting setting, std::optional<Image> Editing::*member, std::string Editing::*name) {
  setting.type = "FILE";
  return {.setting = std::move(setting),
          .set =
              [=](Request& r, const std::string& text) {
                r.edit.*member = Image::load(text);
                r.edit.*name = text;
              },
          .value = [=](const Request& r) { return r.edit.*member ? json_of(r.edit.*name) : no_value(); },
          .image = [=](const Request& r) -> const std::optional<Image>& { return r.edit.*member; },
          .reporting = {.report = Report::among_flags}};
}

Row references() {
  return {.setting = {.name = "references",
                      .flags = "--reference",
                      .type = "FILE",
                      .help = "Image that the model looks at besides the prompt: to edit it, or as an image prompt; repeat it for several",
                      .default_text = "none",
                      .group = group::to_image,
                      .repeatable = true},
          .form = Form::files,
          .set = [](Request& r, const std::string& text) { r.references.push_back({.image = Image::load(text), .name = text}); },
          .value =
              [](const Request& r) {
                Json names = Json::array();
                for (const Reference& reference : r.references) names.push_back(valid_utf8(reference.name));
                return names.empty() ? no_value() : names;
              },
          .reporting = {.keep = Keep::given,
                        .order = 4,
                        .metadata_value =
                            [](const Request& r) {
                              Json files = Json::array();
                              for (const Reference& reference : r.references)
                                files.push_back({{"file", valid_utf8(reference.name)}, {"sha256", sum_of(reference.image)}});
                              return files;
                            },
                        .rerun = rerun_references},
          .of_caller = true};
}

// Controls or image prompts as typed.
template <class Given> Json texts_of(const std::vector<Given>& all) {
  Json texts = Json::array();
  for (const Given& given : all) texts.push_back(valid_utf8(to_text(given)));
  return texts.empty() ? no_value() : texts;
}

// One of them in metadata.
template <class Given> Json stored(const Given& given) {
  Json one{{"file", valid_utf8(to_text(given))}};
  if (given.image.width > 0) one["image"] = valid_utf8(given.image_name), one["image_sha256"] = sum_of(given.image);
  if (given.mask) one["mask"] = valid_utf8(given.mask_name), one["mask_sha256"] = sum_of(*given.mask);
  return one;
}

Row controls() {
  return {
      .setting = {.name = "controls",
                  .flags = "--control",
                  .type = "KEY=VALUE[,KEY=VALUE]",
                  .help =
                      "Steer the image by a ControlNet or T2I-Adapter: path=PATH,image=FILE and, if needed, scale=X, start=F and end=F "
                      "(shares of the steps), mode=NAME (of a union), mask=FILE (of one that fills), guess=on, preprocess=HOW; repeat it "
                      "for several",
                  .default_text = "none",
                  .group = group::adapters,
                  .repeatable = true},
      .form = Form::files,
      .set = [](Request& r, const std::string& text) { r.controls.push_back(parse_control(text)); },
      .value = [](const Request& r) { return texts_of(r.controls); },
      .reporting = {.keep = Keep::given,
                    .order = 5,
                    .metadata_value =
                        [](const Request& r) {
                          Json list = Json::array();
                          for (const Control& control : r.controls) list.push_back(stored(control));
                          return list;
                        },
                    .rerun = rerun_controls},
      .of_caller = true};
}

Row image_prompts() {
  return {
      .setting = {.name = "image_prompts",
                  .flags = "--ip-adapter",
                  .type = "KEY=VALUE[,KEY=VALUE]",
                  .help =
                      "Let an image act as a prompt, by an IP-Adapter: path=PATH,image=FILE and, if needed, scale=X, mask=FILE (white "
                      "where it acts), faceid=FILE (a face's vector, of FaceID), shortcut=on (of FaceID Plus v2); repeat it for several. "
                      "It needs --image-encoder if it sees an image",
                  .default_text = "none",
                  .group = group::adapters,
                  .repeatable = true},
      .form = Form::files,
      .set = [](Request& r, const std::string& text) { r.image_prompts.push_back(parse_image_prompt(text)); },
      .value = [](const Request& r) { return texts_of(r.image_prompts); },
      .reporting = {.keep = Keep::given,
                    .order = 5,
                    .metadata_value =
                        [](const Request& r) {
                          Json list = Json::array();
                          for (const ImagePrompt& prompt : r.image_prompts) {
                            list.push_back(stored(prompt));
                            if (!prompt.face_name.empty())
                              list.back()["face"] = valid_utf8(prompt.face_name), list.back()["face_sha256"] = file_sum(prompt.face_name);
                          }
                          return list;
                        },
                    .rerun = rerun_image_prompts},
      .of_caller = true};
}

Row hires() {
  return {.setting = {.name = "hires",
                      .flags = "--hires",
                      .aliases = {"--hires-scale"},
                      .type = "SCALE",
                      .help = "Run a hires pass: enlarge the result of the first pass by this factor, 1 to 64, and denoise it again; adds "
                              "detail to large images",
                      .default_text = "no hires pass",
                      .group = group::to_image},
          .form = Form::number,
          .set = [](Request& r, const std::string& text) { r.hires = Hires{.scale = read<double>(text, {})}; },
          .value = [](const Request& r) { return r.hires ? json_of(r.hires->scale) : no_value(); },
          .reporting = {.report = Report::among_flags, .a1111 = "Hires upscale"}};
}

}  // namespace

std::vector<Row> editing_rows() {
  const Reporting flag{.report = Report::among_flags};
  const auto as_a1111 = [](std::string_view name) { return Reporting{.report = Report::among_flags, .a1111 = name}; };
  const auto edit = [](auto Editing::*member) { return at(&Request::edit, member); };
  const auto pass = [](auto Hires::*member) { return at(&Request::hires, member); };
  return {
      row({.name = "discard_penultimate",
           .flags = "--discard-penultimate",
           .aliases = {"--discard-penultimate-sigma", "--discard-next-to-last-sigma"},
           .help = "Discard the next-to-last noise level, as A1111 does with \"Always discard next-to-last sigma\"",
           .group = group::sampling},
          at(&Request::discard_penultimate),
          {.report = Report::among_flags,
           .a1111 = "Discard penultimate sigma",
           .a1111_value = [](const Request& r) { return r.discard_penultimate ? "True" : ""; }}),
      image_row({.name = "init_image",
                 .flags = "-i,--init-image",
                 .aliases = {"--init-img"},
                 .help = "Start from this image (PNG, JPEG or WebP); without -W and -H the result has its size",
                 .default_text = "start from noise",
                 .group = group::to_image},
                &Editing::image, &Editing::image_name),
      row({.name = "strength",
           .flags = "--strength",
           .aliases = {"--denoise", "--denoising-strength"},
           .help = "How much the image may change, 0 to 1: the share of the noise schedule that runs",
           .default_text = "0.8, with a mask 1, for a refiner alone 0.3; with --compat diffusers that of the pipeline",
           .group = group::to_image,
           .minimum = 0,
           .maximum = 1},
          edit(&Editing::strength), as_a1111("Denoising strength")),
      row({.name = "resize_mode",
           .flags = "--resize-mode",
           .help = "How the image fits a size of another aspect ratio: stretch it, crop it, or fill up the rest from its edges",
           .group = group::to_image},
          edit(&Editing::resize), flag),
      image_row({.name = "mask",
                 .flags = "--mask",
                 .help = "Inpainting: regenerate only where this image is white; it has the size of --init-image",
                 .default_text = "no mask",
                 .group = group::to_image},
                &Editing::mask, &Editing::mask_name),
      row({.name = "mask_from_alpha",
           .flags = "--mask-from-alpha",
           .help = "Inpainting: regenerate where --init-image is transparent",
           .group = group::to_image},
          edit(&Editing::mask_from_alpha), flag),
      row({.name = "mask_invert",
           .flags = "--mask-invert",
           .aliases = {"--invert-mask"},
           .help = "Regenerate where the mask is black instead",
           .group = group::to_image},
          edit(&Editing::mask_invert), flag),
      row({.name = "mask_blur",
           .flags = "--mask-blur",
           .help = "Blur the mask with this standard deviation in pixels, for soft transitions",
           .group = group::to_image},
          edit(&Editing::mask_blur), as_a1111("Mask blur")),
      with_value_aliases(
          row({.name = "inpaint_fill",
               .flags = "--inpaint-fill",
               .aliases = {"--inpainting-fill", "--masked-content"},
               .help = "What is under the mask at the start: the original image, a fill from the colors around it, latent noise, or latent "
                       "zeros",
               .default_text = "original; with --outpaint fill",
               .group = group::to_image},
              edit(&Editing::fill), {.report = Report::among_flags, .a1111 = "Masked content", .a1111_value = a1111_inpaint_fill}),
          {{"noise", "latent-noise"}, {"nothing", "latent-nothing"}}),
      row({.name = "only_masked",
           .flags = "--only-masked",
           .aliases = {"--inpaint-only-masked"},
           .help = "Inpaint the masked region alone at full size and paste it back; gives small regions more detail",
           .group = group::to_image},
          edit(&Editing::only_masked),
          {.report = Report::among_flags,
           .a1111 = "Inpaint area",
           .a1111_value = [](const Request& r) { return r.edit.only_masked ? "Only masked" : ""; }}),
      row({.name = "mask_padding",
           .flags = "--mask-padding",
           .aliases = {"--only-masked-padding"},
           .help = "Pixels of context around that region",
           .group = group::to_image,
           .minimum = 0},
          edit(&Editing::mask_padding), as_a1111("Masked area padding")),
      row({.name = "outpaint",
           .flags = "--outpaint",
           .type = "L,T,R,B",
           .help = "Extend the image by this many pixels on the left, top, right and bottom",
           .default_text = "none",
           .group = group::to_image},
          edit(&Editing::outpaint), flag),
      image_row({.name = "depth_map",
                 .flags = "--depth-map",
                 .help = "Depth map for depth-to-image models: the lighter, the nearer",
                 .default_text = "none",
                 .group = group::to_image},
                &Editing::depth_map, &Editing::depth_map_name),
      image_row({.name = "control_image",
                 .flags = "--control-image",
                 .help = "Image that models with a control input follow: edges, a depth map; stretched to the image's size",
                 .default_text = "none",
                 .group = group::to_image},
                &Editing::control_image, &Editing::control_image_name),
      row({.name = "image_guidance",
           .flags = "--image-guidance",
           .aliases = {"--image-guidance-scale", "--image-cfg-scale", "--img-cfg-scale"},
           .help = "Image guidance scale of InstructPix2Pix models, at least 1: how closely the result follows the image",
           .default_text = "1.5",
           .group = group::to_image},
          edit(&Editing::image_guidance), as_a1111("Image CFG scale")),
      references(),
      controls(),
      image_prompts(),
      hires(),
      row({.name = "hires_upscaler",
           .flags = "--hires-upscaler",
           .type = "NAME",
           .help = "Upscaler of the hires pass. On latents: latent, latent-antialiased, latent-bicubic, latent-bicubic-antialiased, "
                   "latent-nearest, latent-nearest-exact; on the decoded image: nearest, bilinear, bicubic, lanczos",
           .default_text = Hires().upscaler,
           .group = group::to_image},
          pass(&Hires::upscaler), as_a1111("Hires upscaler"), "--hires"),
      row({.name = "hires_steps",
           .flags = "--hires-steps",
           .help = "Denoising steps of the hires pass",
           .default_text = "those of the first pass",
           .group = group::to_image,
           .minimum = 1,
           .maximum = most_steps},
          pass(&Hires::steps), {.report = Report::among_flags, .omitted_value = {{"0"}}, .a1111 = "Hires steps"}, "--hires"),
      row({.name = "hires_strength",
           .flags = "--hires-strength",
           .aliases = {"--hires-denoising-strength"},
           .help = "How much the hires pass may change the image, 0 to 1",
           .default_text = fmt::format("{}", Hires().strength),
           .group = group::to_image,
           .minimum = 0,
           .maximum = 1},
          pass(&Hires::strength), as_a1111("Denoising strength"), "--hires"),
      row({.name = "vae_tiling",
           .flags = "--vae-tiling",
           .help = "VAE encode and decode in overlapping tiles: needs less memory, changes the image slightly",
           .default_text = "auto: only if --memory-limit requires it",
           .group = group::memory},
          at(&Request::vae_tiling), flag),
      row({.name = "vae_tile_size",
           .flags = "--vae-tile-size",
           .help = "Side of a tile in pixels, a multiple of 32",
           .default_text = "the size that the VAE was trained on",
           .group = group::memory,
           .minimum = 1},
          at(&Request::vae_tile), flag),
  };
}

}  // namespace hearth::api
