#include "media/metadata/xmp.h"

#include <fmt/format.h>

#include <charconv>

#include "core/text/utf8.h"

namespace hearth {
namespace {

struct Entity {
  std::string_view name;
  char character;
};
constexpr Entity entities[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};

// "amp" → "&", "#65" and "#x41" → "A"; empty for anything that is not an entity.
std::string character_of(std::string_view entity) {
  for (const Entity& e : entities)
    if (e.name == entity) return std::string(1, e.character);
  if (!entity.starts_with('#')) return "";
  const bool hexadecimal = entity.starts_with("#x");
  entity.remove_prefix(hexadecimal ? 2 : 1);
  uint32_t point = 0;
  const auto [end, error] = std::from_chars(entity.data(), entity.data() + entity.size(), point, hexadecimal ? 16 : 10);
  if (error != std::errc() || end != entity.data() + entity.size()) return "";
  return is_character(point) ? encode_utf8(std::u32string(1, char32_t(point))) : "";
}

std::string unescape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t plain = std::min(text.find('&'), text.size());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    const size_t end = text.find(';');
    const std::string character = text.empty() || end == text.npos || end > 10 ? "" : character_of(text.substr(1, end - 1));
    if (character.empty() && !text.empty()) {  // a bare &
      out += '&';
      text.remove_prefix(1);
    } else if (!text.empty()) {
      out += character;
      text.remove_prefix(end + 1);
    }
  }
  return out;
}

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else out += c;
  }
  return out;
}

}  // namespace

std::optional<std::string> xmp_text(std::string_view packet, std::string_view name) {
  const std::string tail = fmt::format(":{}>", name);
  for (size_t at = packet.find(tail); at != packet.npos; at = packet.find(tail, at + 1)) {
    const size_t open = packet.substr(0, at).rfind('<');
    if (open == packet.npos || packet.substr(open, at - open).find_first_of("/> ") != packet.npos) continue;
    const std::string_view prefix = packet.substr(open + 1, at - open - 1);
    const size_t begin = at + tail.size(), end = packet.find(fmt::format("</{}{}", prefix, tail), begin);
    if (end == packet.npos) return std::nullopt;
    return unescape(packet.substr(begin, end - begin));
  }
  return std::nullopt;
}

std::optional<int64_t> xmp_orientation(std::string_view packet) {
  constexpr std::string_view name = "tiff:Orientation";
  for (size_t at = packet.find(name); at != packet.npos; at = packet.find(name, at + 1)) {
    std::string_view rest = packet.substr(at + name.size());
    if (rest.starts_with("=\"")) rest.remove_prefix(2);
    else if (rest.starts_with('>')) rest.remove_prefix(1);
    else continue;
    if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') return rest[0] - '0';
  }
  return std::nullopt;
}

std::string write_xmp(std::string_view name, std::string_view text) {
  return fmt::format(
      "<?xpacket begin=\"\uFEFF\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>\n"
      "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">"
      "<rdf:Description rdf:about=\"\" "
      "xmlns:hearth=\"urn:hearth:xmp:1\"><hearth:{0}>{1}</hearth:{0}></rdf:Description></rdf:RDF></x:xmpmeta>\n"
      "<?xpacket end=\"w\"?>",
      name, escape(text));
}

}  // namespace hearth
