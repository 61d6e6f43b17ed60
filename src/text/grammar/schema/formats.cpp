#include "text/grammar/schema/formats.h"

#include <map>
#include <mutex>
#include <string>

#include "text/grammar/regex.h"

namespace hearth::text::grammar::schema {
namespace {

std::string group(const std::string& pattern) { return "(?:" + pattern + ")"; }

// RFC 3339, with the days that a month has.
std::string date() {
  const std::string year = "(?:[1-9]\\d{3}|0[1-9]\\d{2}|00[1-9]\\d|000[1-9])";
  const std::string leap = "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)";
  const std::string day28 = "(?:0[1-9]|1\\d|2[0-8])";
  return group(year + "-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-" + day28 + ")|" + leap +
               "-02-29");
}

std::string time() {
  const std::string hour = "(?:[01]\\d|2[0-3])", minute = "[0-5]\\d";
  return hour + ":" + minute + ":" + minute + "(?:\\.\\d{1,9})?(?:Z|[+-]" + hour + ":" + minute + ")";
}

// RFC 3339, appendix A.
std::string duration() {
  const std::string n = "\\d{1,9}", time = "T(?:" + n + "H(?:" + n + "M(?:" + n + "S)?)?|" + n + "M(?:" + n + "S)?|" + n + "S)";
  const std::string date = "(?:" + n + "Y(?:" + n + "M(?:" + n + "D)?)?|" + n + "M(?:" + n + "D)?|" + n + "D)";
  return "P(?:" + n + "W|" + date + group(time) + "?|" + time + ")";
}

std::string label(int longest) { return "[A-Za-z0-9](?:[A-Za-z0-9-]{0," + std::to_string(longest - 2) + "}[A-Za-z0-9])?"; }

// RFC 1123: labels of up to 63 characters, 253 together.
std::string hostname(int min_dots) { return group(group(label(63) + "\\.") + "{" + std::to_string(min_dots) + ",3}" + label(61)); }

std::string email() {
  const std::string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,31}";
  return atom + "(?:\\." + atom + ")?@" + hostname(1);
}

std::string ipv4() {
  const std::string byte = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
  return group(byte + "\\.") + "{3}" + byte;
}

// RFC 4291, §2.2.
std::string ipv6() {
  const std::string h = "[0-9A-Fa-f]{1,4}", last = "(?:" + h + ":" + h + "|" + ipv4() + ")";
  std::string all = group(h + ":") + "{6}" + last;
  for (int before = 0; before <= 7; ++before) {
    // "::" stands for at least one group: at most 7 others, of which `before` are in front of it.
    const std::string front = before == 0 ? "" : h + group(":" + h) + "{" + std::to_string(before - 1) + "}";
    const int rest = 7 - before;
    std::string back = "";
    if (rest >= 1) back = h;
    if (rest >= 2) back = group(group(h + ":") + "{0," + std::to_string(rest - 2) + "}" + last + "|" + h);
    all += "|" + front + "::" + (back.empty() ? "" : group(back) + "?");
  }
  return all;
}

std::string uuid() {
  const std::string h = "[0-9A-Fa-f]";
  return h + "{8}-" + h + "{4}-" + h + "{4}-" + h + "{4}-" + h + "{12}";
}

// RFC 3986 without IPv6 hosts.
std::string uri_rest(const std::string& authority_prefix, const std::string& scheme) {
  const std::string pchar = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})", text = "(?:" + pchar + "|[/?])";
  const std::string tail = "(?:\\?" + text + "*)?(?:#" + text + "*)?";
  const std::string user = "(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})+@)?",
                    host = "(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+";
  const std::string authority = authority_prefix + user + host + "(?::\\d{1,5})?(?:/" + pchar + "*)*" + tail;
  return scheme + group(authority + "|/?" + pchar + "+(?:/" + pchar + "*)*" + tail);
}
std::string uri() { return uri_rest("//", "[A-Za-z][A-Za-z0-9+.-]*:"); }

std::string json_pointer() { return "(?:/(?:[^/~]|~[01])*)*"; }

std::map<std::string, std::string, std::less<>> make_patterns() {
  return {{"date", date()},
          {"time", time()},
          {"date-time", date() + "T" + time()},
          {"duration", duration()},
          {"email", email()},
          {"hostname", hostname(0)},
          {"ipv4", ipv4()},
          {"ipv6", ipv6()},
          {"uuid", uuid()},
          {"uri", uri()},
          {"json-pointer", json_pointer()}};
}

const std::map<std::string, std::string, std::less<>>& patterns() {
  static const auto all = make_patterns();
  return all;
}

}  // namespace

const Automaton* format_texts(std::string_view name) {
  static std::map<std::string, Automaton, std::less<>> made;
  static std::mutex mutex;
  const auto pattern = patterns().find(name);
  if (pattern == patterns().end()) return nullptr;
  const std::lock_guard lock(mutex);
  auto found = made.find(name);
  if (found == made.end()) {
    found = made.emplace(name, automaton_of(regex(pattern->second, RegexMatch::whole), 50'000, "schema: a format")).first;
  }
  return &found->second;
}

std::vector<std::string_view> format_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, pattern] : patterns()) names.push_back(name);
  return names;
}

}  // namespace hearth::text::grammar::schema
