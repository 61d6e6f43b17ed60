#include "server/http/multipart.h"

#include <gtest/gtest.h>

#include <random>

#include "support/complaint.h"

namespace hearth::http {
namespace {

using test::complaint_of;

const std::string type = "multipart/form-data; boundary=\"XyZ\"";

TEST(Multipart, FieldsAndFiles) {
  const std::string binary("\x89PNG\r\n\0\r\n--Xy\r\n", 16);
  const std::string body =
      "ignored\r\n--XyZ\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\na cat\r\nwith a hat\r\n"
      "--XyZ  \r\ncontent-type: image/png\r\ncontent-disposition: form-data; name=image; filename=\"../a \\\"b\\\".png\"\r\n\r\n" +
      binary + "\r\n--XyZ\r\nContent-Disposition: form-data; name=\"empty\"\r\n\r\n\r\n--XyZ--\r\nignored";
  const auto parts = parse_multipart(type, body);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].name, "prompt");
  EXPECT_EQ(parts[0].content, "a cat\r\nwith a hat");
  EXPECT_EQ(parts[0].file_name, "");
  EXPECT_EQ(parts[1].name, "image");
  EXPECT_EQ(parts[1].file_name, "../a \"b\".png");
  EXPECT_EQ(parts[1].content_type, "image/png");
  EXPECT_EQ(parts[1].content, binary);
  EXPECT_EQ(parts[2].name, "empty");
  EXPECT_EQ(parts[2].content, "");
}

TEST(Multipart, HeaderParameters) {
  EXPECT_EQ(header_parameter("form-data; name=\"a;b\"; filename=\"C:\\dir\\x.png\"", "filename"), "C:\\dir\\x.png");
  EXPECT_EQ(header_parameter("form-data; name=\"a;b\"", "name"), "a;b");
  EXPECT_EQ(header_parameter("form-data; flag; NAME = token ; x=y", "name"), "token");
  EXPECT_EQ(header_parameter("form-data; name", "name"), "");
  EXPECT_EQ(header_parameter("form-data; name=\"open", "name"), "open");
  EXPECT_EQ(header_parameter("name=x", "name"), "");
}

TEST(Multipart, RefusesWhatIsMalformed) {
  const auto complaint = [](const std::string& body, const MultipartLimits& limits = {}) {
    return complaint_of([&] { parse_multipart(type, body, limits); });
  };
  const std::string part = "--XyZ\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n";
  EXPECT_EQ(complaint(part + "--XyZ--"), "");
  EXPECT_EQ(complaint(""), "UsageError: multipart: the body does not contain its boundary");
  EXPECT_EQ(complaint(part), "UsageError: multipart: the body ends before its closing boundary");
  EXPECT_EQ(complaint(part + "--XyZ"), "UsageError: multipart: the body ends before its closing boundary");
  EXPECT_EQ(complaint(part + "--XyZabc\r\n"), "UsageError: multipart: a boundary is followed by other text");
  EXPECT_EQ(complaint("--XyZ\r\n\r\nx\r\n--XyZ--"), "UsageError: multipart: a part has no 'Content-Disposition: form-data' with a name");
  EXPECT_EQ(complaint("--XyZ\r\nno colon\r\n\r\nx\r\n--XyZ--"), "UsageError: multipart: a part's header has a line without ':'");
  EXPECT_EQ(complaint("--XyZ\r\nContent-Transfer-Encoding: base64\r\n\r\nx\r\n--XyZ--"),
            "UsageError: multipart: Content-Transfer-Encoding 'base64' is not supported, expected binary");
  EXPECT_EQ(complaint(part + part + part + "--XyZ--", {.parts = 2}),
            "UsageError: multipart: the body has too many parts, expected at most 2");
  EXPECT_EQ(complaint("--XyZ\r\nA: " + std::string(200, 'x') + "\r\n\r\nx\r\n--XyZ--", {.header_bytes = 100}),
            "UsageError: multipart: a part's header does not end within 100 bytes");
  EXPECT_EQ(complaint_of([&] { parse_multipart("application/json", part); }),
            "UsageError: multipart: the Content-Type is 'application/json', expected multipart/form-data");
  EXPECT_EQ(complaint_of([&] { parse_multipart("multipart/form-data", part); }),
            "UsageError: multipart: the boundary has 0 characters, expected 1 to 70");
}

// Damaged bodies are refused or parsed, and parts always lie inside the body.
TEST(Multipart, SurvivesDamage) {
  const std::string sound =
      "--XyZ\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nvalue\r\n--XyZ\r\nContent-Type: image/png\r\n"
      "Content-Disposition: form-data; name=\"b\"; filename=\"f\\\"\"\r\n\r\n\r\n--XyZ--\r\n";
  std::mt19937 random(1);
  size_t refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string body = sound;
    for (int edits = 1 + int(random() % 3); edits > 0; --edits) {
      const size_t at = random() % (body.size() + 1);
      switch (random() % 4) {
        case 0: body.erase(at, random() % 8); break;
        case 1: body.insert(at, sound, random() % sound.size(), random() % 12); break;
        case 2: body.resize(at); break;
        default:
          if (at < body.size()) body[at] = "\r\n-\":;=X\\ "[random() % 11];
      }
    }
    try {
      for (const Part& part : parse_multipart(type, body)) {
        if (part.content.empty()) continue;
        EXPECT_GE(part.content.data(), body.data());
        EXPECT_LE(part.content.data() + part.content.size(), body.data() + body.size());
      }
    } catch (const UsageError&) { ++refused; }
  }
  EXPECT_GT(refused, 5'000u);
  EXPECT_LT(refused, 19'900u);
}

}  // namespace
}  // namespace hearth::http
