#include "hearth/choices.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/error.h"

namespace hearth {
namespace {

template <class Choice> struct Table {};
template <> struct Table<Compat> {
  static constexpr std::string_view what = "compat";
  static constexpr std::array<std::string_view, 4> names{"", "diffusers", "comfyui", "a1111"};
};
template <> struct Table<Rng> {
  static constexpr std::string_view what = "noise source";
  static constexpr std::array<std::string_view, 2> names{"cpu", "nv"};
};
template <> struct Table<PromptSyntax> {
  static constexpr std::string_view what = "prompt syntax";
  static constexpr std::array<std::string_view, 3> names{"plain", "a1111", "comfyui"};
};
template <> struct Table<Emphasis> {
  static constexpr std::string_view what = "emphasis";
  static constexpr std::array<std::string_view, 4> names{"original", "no-norm", "ignore", "none"};
};
template <> struct Table<ResizeMode> {
  static constexpr std::string_view what = "resize mode";
  static constexpr std::array<std::string_view, 3> names{"stretch", "crop", "fill"};
};
template <> struct Table<InpaintFill> {
  static constexpr std::string_view what = "inpaint fill";
  static constexpr std::array<std::string_view, 4> names{"original", "fill", "latent-noise", "latent-nothing"};
};
template <> struct Table<VaeTiling> {
  static constexpr std::string_view what = "tiling";
  static constexpr std::array<std::string_view, 3> names{"auto", "on", "off"};
};

template <class Choice> std::string_view name_in_table(Choice value) { return Table<Choice>::names[size_t(value)]; }

}  // namespace

std::string_view name_of(Compat value) { return name_in_table(value); }
std::string_view name_of(Rng value) { return name_in_table(value); }
std::string_view name_of(PromptSyntax value) { return name_in_table(value); }
std::string_view name_of(Emphasis value) { return name_in_table(value); }
std::string_view name_of(ResizeMode value) { return name_in_table(value); }
std::string_view name_of(InpaintFill value) { return name_in_table(value); }
std::string_view name_of(VaeTiling value) { return name_in_table(value); }

template <class Choice> std::span<const std::string_view> choice_names() { return Table<Choice>::names; }

template <class Choice> Choice choice_named(std::string_view name) {
  const auto& names = Table<Choice>::names;
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    const size_t unnamed = names[0].empty() ? 1 : 0;
    fail<UsageError>("{} '{}' is unknown, expected {}", Table<Choice>::what, name, fmt::join(names.begin() + unnamed, names.end(), ", "));
  }
  return Choice(found - names.begin());
}

template std::span<const std::string_view> choice_names<Compat>();
template std::span<const std::string_view> choice_names<Rng>();
template std::span<const std::string_view> choice_names<PromptSyntax>();
template std::span<const std::string_view> choice_names<Emphasis>();
template std::span<const std::string_view> choice_names<ResizeMode>();
template std::span<const std::string_view> choice_names<InpaintFill>();
template std::span<const std::string_view> choice_names<VaeTiling>();
template Compat choice_named<Compat>(std::string_view);
template Rng choice_named<Rng>(std::string_view);
template PromptSyntax choice_named<PromptSyntax>(std::string_view);
template Emphasis choice_named<Emphasis>(std::string_view);
template ResizeMode choice_named<ResizeMode>(std::string_view);
template InpaintFill choice_named<InpaintFill>(std::string_view);
template VaeTiling choice_named<VaeTiling>(std::string_view);

}  // namespace hearth
