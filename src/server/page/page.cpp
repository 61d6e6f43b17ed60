// The web page: GET / and the files that it loads, from memory.
#include <zlib.h>

#include <algorithm>

#include "core/error.h"
#include "server/api/routes.h"
#include "server/page/page_files.h"

namespace hearth::server {
namespace {

constexpr std::string_view policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string_view type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  fail<Error>("page: {} has no known type", name);
}

std::string gzipped(std::string_view text) {
  z_stream z{};
  constexpr int gzip_window = 15 + 16;  // the largest window, with gzip's header
  if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    fail<Error>("page: zlib does not start");
  std::string made(deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = uInt(text.size());
  z.next_out = reinterpret_cast<Bytef*>(made.data());
  z.avail_out = uInt(made.size());
  const int code = deflate(&z, Z_FINISH);
  made.resize(z.total_out);
  deflateEnd(&z);
  if (code != Z_STREAM_END) fail<Error>("page: zlib does not compress");
  return made;
}

// The parts of a list such as Accept-Encoding, "gzip;q=0.5, br", without parameters; those with q=0 are left out.
bool lists(std::string_view header, std::string_view wanted) {
  while (!header.empty()) {
    std::string_view part = header.substr(0, header.find(','));
    header.remove_prefix(std::min(header.size(), part.size() + 1));
    part.remove_prefix(std::min(part.find_first_not_of(" \t"), part.size()));
    const std::string_view name = part.substr(0, part.find_first_of("; \t"));
    const size_t q = part.find("q=");
    const bool refused = q != part.npos && part.substr(q + 2).find_first_not_of("0. \t") == part.npos;
    if (name == wanted && !refused) return true;
  }
  return false;
}

struct Served {
  std::string_view type, text;
  std::string tag, zipped, zipped_tag;
};

void serve_file(const Served& file, const http::Request& request, const http::Responder& to) {
  const bool zip = lists(request.headers.get("accept-encoding"), "gzip");
  const std::string& tag = zip ? file.zipped_tag : file.tag;
  http::HeaderList headers{{"ETag", tag},
                           {"Cache-Control", "no-cache"},  // kept, and asked for again with its tag: a new version shows at once
                           {"Vary", "Accept-Encoding"},
                           {"Content-Security-Policy", std::string(policy)},
                           {"X-Content-Type-Options", "nosniff"},
                           {"Referrer-Policy", "no-referrer"},
                           {"Cross-Origin-Opener-Policy", "same-origin"},
                           {"Cross-Origin-Resource-Policy", "same-origin"}};
  const std::string_view known = request.headers.get("if-none-match");
  if (known == "*" || lists(known, tag) || lists(known, "W/" + tag)) {
    to.respond(304, "", "", headers);
    return;
  }
  if (zip) headers.emplace_back("Content-Encoding", "gzip");
  to.respond(200, file.type, zip ? file.zipped : std::string(file.text), headers);
}

}  // namespace

void add_page(http::Routes& routes, ServerState&) {
  for (const PageFile& file : page_files()) {
    const auto served = std::make_shared<Served>(Served{.type = type_of(file.name),
                                                        .text = file.text,
                                                        .tag = fmt::format("\"{}\"", file.hash),
                                                        .zipped = gzipped(file.text),
                                                        .zipped_tag = fmt::format("\"{}-gzip\"", file.hash)});
    const std::string path = file.name == "index.html" ? "/" : fmt::format("/page/{}", file.name);
    // Without a key: the page asks for one when an API wants it.
    routes.add("GET", path, [served](const http::Request& request, const http::Responder& to) { serve_file(*served, request, to); },
               {.open = true, .at_once = true});
  }
}

}  // namespace hearth::server
