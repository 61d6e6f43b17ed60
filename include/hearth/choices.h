// What a request chooses among few, and the names by which flags, reports and metadata call it.
#pragma once

#include <span>
#include <string_view>

namespace hearth {

// Whose conventions a run follows: noise, levels and start are as this program has them (sampling/compat/compat.h). "" is hearth's own.
enum class Compat { hearth, diffusers, comfyui, a1111 };  // "", "diffusers", "comfyui", "a1111"

// Where noise is drawn: PyTorch's CPU generator, or A1111's Philox.
enum class Rng { cpu, nv };  // "cpu", "nv"

// How prompts are read; text/prompt/README.md says what each of them does.
enum class PromptSyntax { plain, a1111, comfyui };  // "plain", "a1111", "comfyui"

// A1111's four ways with weights: `none` takes brackets as text, `ignore` leaves the weights out, `no_norm` does without restoring the
// mean.
enum class Emphasis { original, no_norm, ignore, none };  // "original", "no-norm", "ignore", "none"

// An image of another shape than the run: both sides as they must be; filled, the rest cut away; or whole, its edges going on.
enum class ResizeMode { stretch, crop, fill };  // "stretch", "crop", "fill"

// What stands under a mask at first: the image itself, the colors around it, noise, or nothing (latents of 0).
enum class InpaintFill { original, fill, noise, nothing };  // "original", "fill", "latent-noise", "latent-nothing"

// Whether the autoencoder decodes in tiles that overlap and are blended, as diffusers does: less memory, not quite the same image.
// automatic: only where the memory limit asks for it.
enum class VaeTiling { automatic, on, off };  // "auto", "on", "off"

std::string_view name_of(Compat value);
std::string_view name_of(Rng value);
std::string_view name_of(PromptSyntax value);
std::string_view name_of(Emphasis value);
std::string_view name_of(ResizeMode value);
std::string_view name_of(InpaintFill value);
std::string_view name_of(VaeTiling value);

// Of one of the types above: the names of all values, in their order; and the value that a name stands for. UsageError lists those that
// there are.
template <class Choice> std::span<const std::string_view> choice_names();
template <class Choice> Choice choice_named(std::string_view name);

}  // namespace hearth
