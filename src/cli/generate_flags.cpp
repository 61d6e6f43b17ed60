#include "cli/generate_flags.h"

#include "cli/debug_flag.h"
#include "core/error.h"
#include "hearth/preprocess.h"

namespace hearth::cli {

void GenerateFlags::add_to(Flags& flags) {
  flags.group("Model");
  open.add_model(flags);
  open.add_variant(flags);
  open.add_components(flags);
  open.add_added_components(flags);
  flags.text("--refiner", "PATH", "Refiner checkpoint that runs the last steps, from --refiner-start on", open.refiner, "none");

  add_settings(flags, request);
  flags.group("Image");
  flags.integer("--batch-count", "Number of batches, run one after another; raise it for more images without more memory", batch_count)
      .also("-b");
  flags.group("Sampling");
  flags.text(
      "--noise", "FILE",
      "Initial noise in place of the seed's: safetensors with a standard normal tensor `noise`, [images, channels, height/8, width/8]",
      noise, "drawn from the seed");
  flags.add("--stop-after", "N", "Stop after this step and save what --resume needs to --save-latents", "the last step",
            [this](const std::string& t) { request.stop_after = parse_integer(t, 1, 1 << 20); });
  flags.text("--resume", "FILE", "Resume the run that --stop-after saved to this file; pass the same flags again", resume,
             "start at the first step");

  flags.group("Adapters");
  flags
      .text("--control-preprocess", "HOW",
            "Make the control images of the images in --control: canny:LOW:HIGH, threshold:LEVEL, blur:SIGMA, tile:FACTOR, invert, "
            "shuffle:SEED or lineart; a control's own preprocess=HOW comes first",
            control_preprocess, "the images are control images")
      .completes(list_preprocessors());
  flags.text("--save-control", "FILE", "Also write the control images; several are numbered as for --output", save_control, "not written");

  flags.group("Memory and performance");
  flags.add(
      "--memory-limit", "SIZE",
      "Keep the process below this size, such as 3G or 2500M: if needed, components load one at a time, the VAE decodes in tiles, and "
      "networks load block by block while they compute; the run is rejected if that is not enough",
      "no limit", [this](const std::string& t) { memory_limit = parse_size(t); });
  open.add_device(flags);
  open.add_component_precisions_and_devices(flags);
  open.add_session(flags);

  flags.group("Output");
  flags.text("-o,--output", "FILE", "Image file to write: .png, .jpg, .jpeg or .webp", output).in_basic_help();
  flags.add("--quality", "N", "Quality of a JPEG (1 to 100) or WebP (0 to 100, or lossless)", "90", [this](const std::string& t) {
    if (t == "lossless") save.lossless = true;
    else save.quality = int(parse_integer(t, 0, 100));
  });
  flags
      .add("--chroma-subsampling", "4:2:0|4:4:4", "Chroma subsampling of a JPEG; 4:4:4 keeps sharp color edges", "4:2:0",
           [this](const std::string& t) {
             save.jpeg_chroma = check_word(t, std::vector<std::string>{"4:2:0", "4:4:4"}) == "4:4:4" ? JpegChroma::full : JpegChroma::half;
           })
      .also("--chroma");
  flags.add("--png-bits", "8|16", "Bits per channel of a PNG", "8", [this](const std::string& t) {
    save.png_bits = int(parse_integer(t, 1, 16));
    request.deep_color = save.png_bits == 16;
  });
  flags.text("--save-latents", "FILE",
             "Also write safetensors with the initial noise and the final latents, before division by the VAE's scaling factor",
             save_latents, "not written");
  flags.text("--preview", "FILE", "Write previews of the image to this file during the run; batches are numbered as for --output", preview,
             "no preview");
  flags.text("--preview-decoder", "PATH", "Decode previews with this small autoencoder, a file or folder: TAESD, TAESDXL, TAESD3, TAEF1",
             open.preview_decoder, "a linear map from latents to colors");
  flags.integer("--preview-every", "Steps between previews", request.preview.every).also("--preview-interval");
  add_json(flags, "files, seeds, warnings, and a report of each batch", json);
  add_debug(flags, request.debug);
}

void GenerateFlags::check(const Flags& flags) {
  if (!flags.given("--prompt")) fail<UsageError>("generate: --prompt is missing; --prompt \"\" generates without one");
  if (flags.given("--variation-seed") && request.variation.strength == 0)
    fail<UsageError>("--variation-seed: has no effect without --variation-strength");
  if (!request.sigmas.empty()) {
    const auto steps = int64_t(request.sigmas.size()) - 1;
    if (flags.given("--steps") && request.steps != steps)
      fail<UsageError>("--steps: {} contradicts --sigmas, which makes {} steps", request.steps, steps);
    request.steps = steps;
  }
  if (request.stop_after > 0 && save_latents.empty())
    fail<UsageError>("--stop-after: expected --save-latents FILE, where the state for --resume is saved");
  if ((request.stop_after > 0 || !resume.empty()) && batch_count > 1)
    fail<UsageError>("--batch-count: {} batches cannot be stopped and resumed, expected 1", batch_count);
  for (const ComponentInfo& c : list_components())
    if (c.role == ComponentRole::image_encoder && !c.adds.empty() && !open.paths[c.flag].empty() && request.references.empty()) {
      if (c.flag != "--image-encoder") fail<UsageError>("{}: has no effect without --reference", c.flag);
      if (request.image_prompts.empty()) fail<UsageError>("{}: has no effect without --reference or --ip-adapter", c.flag);
    }
  for (const auto& [flag, value] : {std::pair("--control-preprocess", control_preprocess), {"--save-control", save_control}})
    if (!value.empty() && request.controls.empty()) fail<UsageError>("{}: has no effect without --control", flag);
  for (Control& control : request.controls)
    if (control.preprocess.empty()) control.preprocess = control_preprocess;
  if (preview.empty() && !open.preview_decoder.empty()) fail<UsageError>("--preview-decoder: has no effect without --preview");
  constexpr int64_t most = 1 << 20;  // each needs a name in memory and a check that it can be written
  if (request.batch_size > most / batch_count)
    fail<UsageError>("--batch-size: {} times --batch-count {} is too many images, expected at most {}", request.batch_size, batch_count,
                     most);
}

}  // namespace hearth::cli
