#include <algorithm>
#include <vector>

#include "text/clip/html_entities.h"

namespace hearth::text {

namespace {

struct Entity {
  std::string_view name, characters;
};

std::vector<Entity> read_table() {
  std::vector<Entity> entities;
  entities.reserve(html_entity_count);
  for (std::string_view rest = html_entity_table; !rest.empty();) {
    const size_t space = rest.find(' ');
    const size_t end = rest.find('\n', space + 2);  // a character may itself be a newline
    entities.push_back({rest.substr(0, space), rest.substr(space + 1, end - space - 1)});
    rest.remove_prefix(end + 1);
  }
  return entities;
}

}  // namespace

std::string_view html_entity(std::string_view name) {
  static const std::vector<Entity> entities = read_table();
  const auto it = std::lower_bound(entities.begin(), entities.end(), name, [](const Entity& e, std::string_view n) { return e.name < n; });
  return it == entities.end() || it->name != name ? std::string_view() : it->characters;
}

}  // namespace hearth::text
