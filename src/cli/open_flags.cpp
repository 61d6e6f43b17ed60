#include "cli/open_flags.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/say.h"
#include "core/error.h"

namespace hearth::cli {
namespace {

const std::vector<std::string> precisions = {"f32", "bf16", "f16", "auto"};

Embedding parse_embedding(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == text.npos || std::filesystem::exists(text)) return {.file = text};
  if (equals == 0) fail<UsageError>("the name in '{}' is missing", text);
  return {.file = text.substr(equals + 1), .name = text.substr(0, equals)};
}

}  // namespace

void OpenFlags::add_place(Flags& flags) {
  flags.text("--variant", "NAME", "Open the files *.NAME.safetensors of the checkpoint, e.g. fp16", variant, "those without a variant");
  flags.choice("--device", "", "What computes", device, {.names = names_of(list_backends())});
  flags.add("-t,--threads", "N", "Processor threads", threads == 0 ? "all processors" : std::to_string(threads),
            [this](const std::string& t) { threads = int(parse_integer(t, 1, 1024)); });
  flags.choice("--precision", "", "Type of the weights (auto: as stored, 16 bits as bf16 with AMX)", precision, {.names = precisions});
}

void OpenFlags::add_parts(Flags& flags) {
  flags.text("--vae", "PATH", "Another autoencoder: a file that holds one, in any layout, or a folder", vae, "the checkpoint's own");
  flags.text("--unet", "PATH", "Another UNet, likewise", unet, "the checkpoint's own");
  flags.text("--text-encoder", "PATH", "Another text encoder, likewise", text_encoder, "the checkpoint's own");
  flags.text("--text-encoder-2", "PATH", "Another second text encoder, likewise", text_encoder_2, "the checkpoint's own");
  flags.text("--config", "DIR", "Of a single file: a diffusers folder whose configurations are to hold; weights need not be there", config,
             "built-in ones of the published model with its geometry");
  flags.toggle("--ema", "Of a single file: the UNet's averaged weights (model_ema)", ema);
}

void OpenFlags::add_components(Flags& flags) {
  flags.choice("--unet-precision", "", "The same for the UNet alone", unet_precision, {.names = precisions}, "--precision");
  flags.choice("--vae-precision", "", "The same for the autoencoder alone", vae_precision, {.names = precisions}, "--precision");
  flags.choice("--text-precision", "", "The same for the text encoder alone", text_precision, {.names = precisions}, "--precision");
}

void OpenFlags::add_session(Flags& flags) {
  flags.toggle("--pin-threads", "Bind each thread to a processor of its own", pin);
  flags.text("--cache", "DIR", "Keep the weights there as they are packed for this processor, to open them faster the next time", cache,
             "not kept");
}

OpenOptions OpenFlags::options() const {
  OpenOptions options{.unet = unet,
                      .vae = vae,
                      .text_encoder = text_encoder,
                      .text_encoder_2 = text_encoder_2,
                      .config = config,
                      .ema = ema,
                      .variant = variant,
                      .device = device,
                      .threads = threads,
                      .precision = precision_of(precision),
                      .cancel = &cancelled};
  options.cache = cache;
  options.refiner = refiner;
  options.preview_decoder = preview_decoder;
  options.pin_threads = pin;
  options.warn = [](const std::string& line) { say(line); };
  if (!unet_precision.empty()) options.denoiser_precision = precision_of(unet_precision);
  if (!vae_precision.empty()) options.vae_precision = precision_of(vae_precision);
  if (!text_precision.empty()) options.text_precision = precision_of(text_precision);
  return options;
}

void add_embeddings(Flags& flags, std::vector<Embedding>& embeddings) {
  flags.add_each("--embedding", "[NAME=]FILE",
                 "Textual inversion, .safetensors or .pt: prompts name it NAME, or embedding:NAME in ComfyUI's syntax",
                 "none; NAME is the file's name without its ending",
                 [&embeddings](const std::string& t) { embeddings.push_back(parse_embedding(t)); });
}

std::vector<std::string> names_of(const std::vector<Named>& table) {
  std::vector<std::string> names;
  for (const Named& entry : table) names.push_back(entry.name);
  return names;
}

Flags::Choice choice_of(const std::vector<Named>& table) {
  Flags::Choice choice{.names = names_of(table), .any_spelling = true};
  for (const Named& entry : table) choice.aliases.insert(choice.aliases.end(), entry.aliases.begin(), entry.aliases.end());
  return choice;
}

Precision precision_of(const std::string& name) {
  if (name == "f32") return Precision::f32;
  if (name == "bf16") return Precision::bf16;
  if (name == "f16") return Precision::f16;
  return Precision::automatic;
}

}  // namespace hearth::cli
