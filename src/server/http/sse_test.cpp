#include "server/http/sse.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace hearth::http {
namespace {

TEST(Sse, Data) {
  EXPECT_EQ(sse_data("{\"a\":1}"), "data: {\"a\":1}\n\n");
  EXPECT_EQ(sse_data("[DONE]"), "data: [DONE]\n\n");
  EXPECT_EQ(sse_data(""), "data: \n\n");
  EXPECT_EQ(sse_data("a\nb\r\nc\rd\n"), "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n");
}

TEST(Sse, EventsAndComments) {
  EXPECT_EQ(sse_event("message_start", "{}"), "event: message_start\ndata: {}\n\n");
  EXPECT_THROW(sse_event("a\ndata: forged", "{}"), Error);
  EXPECT_EQ(sse_comment("ping"), ": ping\n\n");
  EXPECT_EQ(sse_comment("a\n\ndata: forged"), ": a  data: forged\n\n");
}

}  // namespace
}  // namespace hearth::http
