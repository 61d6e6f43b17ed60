#include "cli/generate_flags.h"

#include "cli/debug_flag.h"
#include "core/error.h"

namespace hearth::cli {

void GenerateFlags::add_to(Flags& flags) {
  add_settings(flags, request);

  flags.group("Model");
  flags.path("-m,--model", "Checkpoint: a folder in the diffusers layout, or a single file (.safetensors, .ckpt)", open.model,
             "the demo model");
  open.add_parts(flags);
  flags.text("--refiner", "PATH", "A second checkpoint, a refiner, that does the last steps", open.refiner, "none");
  open.add_place(flags);
  open.add_components(flags);
  open.add_session(flags);
  flags.add("--memory-limit", "SIZE",
            "Most memory that the run may take, as 3G, 2500M or 2.6GB: networks are loaded one after another, then the image decoded "
            "in tiles, where it needs that; refused where nothing helps",
            "none", [this](const std::string& t) { memory_limit = parse_size(t); });

  flags.group("Output");
  flags.text("-o,--output", "FILE", "The image, .png, .jpg, .jpeg or .webp", output);
  flags.add("--quality", "N", "Of a JPEG, 1 to 100, or a WebP, 0 to 100 or the word lossless", "90", [this](const std::string& t) {
    if (t == "lossless") save.lossless = true;
    else save.quality = int(parse_integer(t, 0, 100));
  });
  flags.add("--chroma", "NAME", "Resolution of a JPEG's colours, 4:2:0 or 4:4:4", "4:2:0", [this](const std::string& t) {
    save.jpeg_chroma = check_word(t, std::vector<std::string>{"4:2:0", "4:4:4"}) == "4:4:4" ? JpegChroma::full : JpegChroma::half;
  });
  flags.add("--png-bits", "N", "Bits of each colour of a PNG, 8 or 16", "8", [this](const std::string& t) {
    save.png_bits = int(parse_integer(t, 1, 16));
    request.deep_colour = save.png_bits == 16;
  });
  flags.integer("--batch-count", "Batches drawn one after another", batch_count);
  flags.text("--save-latents", "FILE",
             "Write safetensors of all images: noise, and latents before division by the autoencoder's scaling factor", save_latents,
             "not written");
  flags.text("--preview", "FILE", "Show the running image in this file, as far as its latents tell; of a batch numbered like --output",
             preview, "not shown");
  flags.text("--preview-decoder", "PATH", "Make previews with this small autoencoder, TAESD or TAESDXL: its decoder's file, or a folder",
             open.preview_decoder, "a colour for each latent pixel");
  flags.integer("--preview-every", "Steps between two previews", request.preview.every);
  flags.toggle("--json", "Print one JSON object on stdout: files, seeds, warnings, and a report of every batch", json);
  add_debug(flags, request.debug);

  flags.group("A run in parts");
  flags.text("--noise", "FILE",
             "The first noise, instead of the seed's: safetensors, key noise, standard normal, [images, channels, height/8, width/8]",
             noise, "drawn from the seed");
  flags.add("--stop-after", "K", "Stop after K sampler steps; --save-latents then holds what --resume goes on from", "at the end",
            [this](const std::string& t) { request.stop_after = parse_integer(t, 1, 1 << 20); });
  flags.text("--resume", "FILE", "Go on from a file of --stop-after, with the same flags: the image is that of the whole run", resume,
             "from the first step");
}

void GenerateFlags::settle(const Flags& flags) {
  if (!flags.given("--prompt")) fail<UsageError>("generate: --prompt is missing; --prompt \"\" draws without one");
  if (flags.given("--variation-seed") && request.variation.strength == 0)
    fail<UsageError>("--variation-seed: without --variation-strength it has no effect");
  if (!request.sigmas.empty()) {
    const auto made = int64_t(request.sigmas.size()) - 1;
    if (flags.given("--steps") && request.steps != made) fail<UsageError>("--steps: {}, but --sigmas makes {}", request.steps, made);
    request.steps = made;
  }
  if (request.stop_after > 0 && save_latents.empty())
    fail<UsageError>("--stop-after: what --resume needs would be lost; --save-latents names the file for it");
  if ((request.stop_after > 0 || !resume.empty()) && batch_count > 1)
    fail<UsageError>("--batch-count: {} batches cannot be stopped and resumed, needed 1", batch_count);
  if (preview.empty() && !open.preview_decoder.empty()) fail<UsageError>("--preview-decoder: acts with --preview only");
  constexpr int64_t most = 1 << 20;  // each is a name in memory and a place that is tried
  if (request.batch_size > most / batch_count)
    fail<UsageError>("--batch-size: {} times --batch-count {} is too many pictures, needed at most {}", request.batch_size, batch_count,
                     most);
}

}  // namespace hearth::cli
