#include "core/error.h"
#include "hearth/hearth.h"
#include "media/png.h"
#include "media/recipe.h"

namespace hearth {

void Image::save(const std::filesystem::path& png) const {
  std::vector<PngText> texts;
  if (!parameters.empty()) texts.push_back({std::string(parameters_keyword), parameters});
  if (!json.empty()) texts.push_back({std::string(recipe_keyword), json});
  write_png(png, {.width = width, .height = height, .rgb = rgb}, texts);
}

Image Image::load(const std::filesystem::path& png) {
  Png read = read_png(png);
  Image image{.width = read.image.width, .height = read.image.height, .rgb = std::move(read.image.rgb)};
  for (PngText& text : read.texts) {
    if (text.keyword == parameters_keyword) image.parameters = std::move(text.text);
    else if (text.keyword == recipe_keyword) image.json = std::move(text.text);
  }
  return image;
}

}  // namespace hearth
