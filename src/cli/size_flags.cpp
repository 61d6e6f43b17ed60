#include "cli/size_flags.h"

#include "core/error.h"

namespace hearth::cli {
namespace {

SizeConditions::Pair parse_pair(const std::string& text, std::string_view between, std::string_view form) {
  const size_t at = text.find_first_of(between);
  if (at == text.npos) fail<UsageError>("'{}' is not of the form {}", text, form);
  constexpr int64_t most = int64_t(1) << 20;
  return {parse_integer(text.substr(0, at), 0, most), parse_integer(text.substr(at + 1), 0, most)};
}

}  // namespace

SizeConditions::Pair parse_size_pair(const std::string& text) { return parse_pair(text, "xX", "WxH"); }
SizeConditions::Pair parse_point(const std::string& text) { return parse_pair(text, ",", "X,Y"); }

void add_size_flags(Flags& flags, SizeConditions& sizes) {
  const auto pair = [&](const char* name, const char* type, const char* help, const char* unset, std::optional<SizeConditions::Pair>& value,
                        SizeConditions::Pair (*parse)(const std::string&)) {
    flags.add(name, type, help, unset, [&value, parse](const std::string& t) { value = parse(t); });
  };
  pair("--original-size", "WxH", "Stable Diffusion XL: size of the picture before it was scaled", "the picture's", sizes.original_size,
       parse_size_pair);
  pair("--crop", "X,Y", "XL: where it was cut out, from the left and top", "0,0", sizes.crop, parse_point);
  pair("--target-size", "WxH", "XL: size that it was to have", "the picture's", sizes.target_size, parse_size_pair);
  pair("--negative-original-size", "WxH", "XL: the same for the negative prompt; goes with --negative-target-size", "--original-size",
       sizes.negative_original_size, parse_size_pair);
  pair("--negative-crop", "X,Y", "XL: the same for the negative prompt", "that of the prompt; 0,0 with a negative size",
       sizes.negative_crop, parse_point);
  pair("--negative-target-size", "WxH", "XL: the same for the negative prompt", "--target-size", sizes.negative_target_size,
       parse_size_pair);
  flags.number("--aesthetic-score", "XL's refiner: how beautiful the picture is to be, 1 to 10", sizes.aesthetic_score, "6");
  flags.number("--negative-aesthetic-score", "The same for the negative prompt", sizes.negative_aesthetic_score, "2.5");
}

}  // namespace hearth::cli
