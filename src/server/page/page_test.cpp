// The page as files: what the server sends, without a browser.
#include <zlib.h>

#include "server/live_server_test.h"
#include "server/page/page_files.h"

namespace hearth::server::test {
namespace {

std::string unzipped(std::string bytes) {
  z_stream z{};
  std::string text(1 << 20, '\0');
  z.next_in = reinterpret_cast<Bytef*>(bytes.data());
  z.avail_in = uInt(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(text.data());
  z.avail_out = uInt(text.size());
  EXPECT_EQ(inflateInit2(&z, 15 + 16), Z_OK);
  EXPECT_EQ(inflate(&z, Z_FINISH), Z_STREAM_END);
  text.resize(z.total_out);
  inflateEnd(&z);
  return text;
}

TEST(PageFiles, are_small_and_load_nothing_from_elsewhere) {
  size_t bytes = 0;
  for (const PageFile& file : page_files()) {
    bytes += file.text.size();
    for (const char* unsafe : {"url(", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"})
      EXPECT_EQ(file.text.find(unsafe), file.text.npos) << file.name << ": " << unsafe;
  }
  EXPECT_LT(bytes, 300'000u);
  EXPECT_GT(bytes, 50'000u);
}

TEST(Page, is_sent_with_a_strict_policy) {
  for (const auto& [path, type] : {std::pair("/", "text/html; charset=utf-8"),
                                   {"/page/chat.js", "text/javascript; charset=utf-8"},
                                   {"/page/base.css", "text/css; charset=utf-8"},
                                   {"/page/icon.svg", "image/svg+xml"}}) {
    const Response r = live_server().get(path);
    EXPECT_EQ(r.status, 200) << path;
    EXPECT_EQ(r.content_type, type);
    EXPECT_EQ(r.headers.at("x-content-type-options"), "nosniff");
    EXPECT_EQ(r.headers.at("referrer-policy"), "no-referrer");
    EXPECT_EQ(r.headers.at("cache-control"), "no-cache");
    const std::string policy = r.headers.at("content-security-policy");
    EXPECT_TRUE(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';")) << policy;
    EXPECT_EQ(policy.find("unsafe"), policy.npos);
    EXPECT_EQ(policy.find("http"), policy.npos);
  }
  EXPECT_EQ(live_server().get("/page/nothing.js").status, 404);
}

TEST(Page, is_compressed_for_who_takes_it_and_sent_once) {
  const Response plain = live_server().get("/page/chat.js");
  EXPECT_FALSE(plain.headers.contains("content-encoding"));
  const Response zipped = live_server().get("/page/chat.js", {"Accept-Encoding: br, gzip;q=0.8"});
  EXPECT_EQ(zipped.headers.at("content-encoding"), "gzip");
  EXPECT_LT(zipped.body.size(), plain.body.size() / 2);
  EXPECT_EQ(unzipped(zipped.body), plain.body);
  EXPECT_FALSE(live_server().get("/page/chat.js", {"Accept-Encoding: gzip;q=0"}).headers.contains("content-encoding"));
  EXPECT_NE(zipped.headers.at("etag"), plain.headers.at("etag"));
  for (const std::string& known : {plain.headers.at("etag"), "\"x\", W/" + plain.headers.at("etag"), std::string("*")}) {
    const Response again = live_server().get("/page/chat.js", {"If-None-Match: " + known});
    EXPECT_EQ(again.status, 304) << known;
    EXPECT_EQ(again.body, "");
  }
  EXPECT_EQ(live_server().get("/page/chat.js", {"If-None-Match: \"x\""}).status, 200);
}

TEST(Page, needs_no_key) {
  ServeOptions options;
  options.http.api_keys = {"secret"};
  const LiveServer server(options);
  EXPECT_EQ(server.get("/").status, 200);
  EXPECT_EQ(server.get("/page/main.js").status, 200);
  EXPECT_EQ(server.get("/v1/models").status, 401);
}

}  // namespace
}  // namespace hearth::server::test
