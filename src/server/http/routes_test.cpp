#include "server/http/routes.h"

#include <gtest/gtest.h>

#include "server/http/uri.h"
#include "support/complaint.h"

namespace hearth::http {
namespace {

using Params = std::map<std::string, std::string, std::less<>>;

Handler nothing() {
  return [](const Request&, const Responder&) {};
}

TEST(Routes, TheMostSpecificPatternWins) {
  Routes routes;
  for (const char* pattern : {"/{all*}", "/v1/models/{id*}", "/v1/models/{id}", "/v1/models", "/v1/models/best", "/v1/{x}/best", "/"})
    routes.add("GET", pattern, nothing());
  const auto found = [&](const char* path) {
    const auto match = routes.find("GET", path);
    return std::make_pair(match.route ? match.route->pattern : "", match.params);
  };
  EXPECT_EQ(found("/v1/models"), std::make_pair(std::string("/v1/models"), Params{}));
  EXPECT_EQ(found("/v1/models/best"), std::make_pair(std::string("/v1/models/best"), Params{}));
  EXPECT_EQ(found("/v1/models/b%65st"), std::make_pair(std::string("/v1/models/best"), Params{}));
  EXPECT_EQ(found("/v1/models/other"), std::make_pair(std::string("/v1/models/{id}"), Params{{"id", "other"}}));
  EXPECT_EQ(found("/v1/models/org/name"), std::make_pair(std::string("/v1/models/{id*}"), Params{{"id", "org/name"}}));
  EXPECT_EQ(found("/v1/models/org%2Fname"), std::make_pair(std::string("/v1/models/{id}"), Params{{"id", "org/name"}}));
  EXPECT_EQ(found("/v1/voices/best"), std::make_pair(std::string("/v1/{x}/best"), Params{{"x", "voices"}}));
  EXPECT_EQ(found("/v1/models/"), std::make_pair(std::string("/{all*}"), Params{{"all", "v1/models/"}}));
  EXPECT_EQ(found("/"), std::make_pair(std::string("/"), Params{}));
}

TEST(Routes, MethodsOfAPath) {
  Routes routes;
  routes.add("GET", "/a/{x}", nothing());
  routes.add("POST", "/a/b", nothing());
  routes.add("DELETE", "/a/b", nothing());
  EXPECT_EQ(routes.find("GET", "/a/b").route->pattern, "/a/{x}");
  EXPECT_EQ(routes.find("HEAD", "/a/b").route->method, "GET");
  EXPECT_EQ(routes.find("PUT", "/a/b").route, nullptr);
  EXPECT_EQ(routes.find("PUT", "/a/b").allowed, (std::vector<std::string>{"DELETE", "GET", "HEAD", "OPTIONS", "POST"}));
  EXPECT_EQ(routes.find("PUT", "/a/c").allowed, (std::vector<std::string>{"GET", "HEAD", "OPTIONS"}));
  EXPECT_TRUE(routes.find("GET", "/b").allowed.empty());
  EXPECT_TRUE(routes.find("GET", "/a/b/").allowed.empty());
  EXPECT_TRUE(routes.find("GET", "*").allowed.empty());
}

TEST(Routes, RefusesMalformedPatterns) {
  Routes routes;
  const auto complaint = [&](const char* method, const char* pattern) {
    return test::complaint_of([&] { routes.add(method, pattern, nothing()); });
  };
  EXPECT_EQ(complaint("GET", "/a"), "");
  EXPECT_EQ(complaint("GET", "/a"), "UsageError: route GET /a: exists already");
  EXPECT_EQ(complaint("GET", "a"), "UsageError: route GET a: a pattern starts with '/'");
  EXPECT_EQ(complaint("GET", "/{a*}/b"), "UsageError: route GET /{a*}/b: {name*} must be the last segment");
  EXPECT_EQ(complaint("GET", "/x{a}"), "UsageError: route GET /x{a}: a segment is a word, {name} or {name*}");
  EXPECT_NE(complaint("HEAD", "/b").find("expected another method"), std::string::npos);
}

TEST(Uri, Targets) {
  const auto target = parse_target("/a%20b/c?x=1&y=a%26b+c&x=2&flag&=v#fragment");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/a%20b/c");
  EXPECT_EQ(target->query, (Params{{"x", "1"}, {"y", "a&b c"}, {"flag", ""}, {"", "v"}}));
  EXPECT_EQ(parse_target("http://host:80/a?b=c")->path, "/a");
  EXPECT_EQ(parse_target("https://host")->path, "/");
  EXPECT_EQ(parse_target("http://host?q=1")->path, "/");
}

TEST(Uri, RefusesBadEscapes) {
  for (const char* bad : {"", "a", "host:443", "/%", "/%1", "/%zz", "/%00", "/a?x=%", "/a?%00=1"}) EXPECT_FALSE(parse_target(bad)) << bad;
  EXPECT_EQ(percent_decode("%41+%2b%2B"), "A+++");
  EXPECT_EQ(percent_decode("a+b", true), "a b");
}

}  // namespace
}  // namespace hearth::http
