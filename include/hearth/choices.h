// Enumerated settings of a request, and their names in flags, reports and metadata.
#pragma once

#include <span>
#include <string_view>

namespace hearth {

// The program whose noise, noise schedule and starting point a run reproduces (sampling/compat/compat.h).
enum class Compat { hearth, diffusers, comfyui, a1111 };  // "", "diffusers", "comfyui", "a1111"

// Noise generator: PyTorch's CPU generator, or A1111's Philox.
enum class Rng { cpu, nv };  // "cpu", "nv"

// How prompts are parsed; text/prompt/README.md describes each syntax.
enum class PromptSyntax { plain, a1111, comfyui };  // "plain", "a1111", "comfyui"

// How weights act in A1111's syntax: `none` treats brackets as text, `ignore` drops the weights, `no_norm` does not restore the mean.
enum class Emphasis { original, no_norm, ignore, none };  // "original", "no-norm", "ignore", "none"

// How an image of another aspect ratio is resized: stretched, cropped, or fitted in with its edges extended.
enum class ResizeMode { stretch, crop, fill };  // "stretch", "crop", "fill"

// Initial content of the masked area: the image, a fill from the colors around it, noise, or latents of 0.
enum class InpaintFill { original, fill, noise, nothing };  // "original", "fill", "latent-noise", "latent-nothing"

// Whether the VAE decodes in overlapping, blended tiles, as in diffusers: needs less memory, changes the image slightly.
// automatic: only if the memory limit requires it.
enum class VaeTiling { automatic, on, off };  // "auto", "on", "off"

std::string_view name_of(Compat value);
std::string_view name_of(Rng value);
std::string_view name_of(PromptSyntax value);
std::string_view name_of(Emphasis value);
std::string_view name_of(ResizeMode value);
std::string_view name_of(InpaintFill value);
std::string_view name_of(VaeTiling value);

// The names of all values of one of the types above, in their order, and the value with a given name. UsageError for an unknown name lists
// the valid ones.
template <class Choice> std::span<const std::string_view> choice_names();
template <class Choice> Choice choice_named(std::string_view name);

}  // namespace hearth
