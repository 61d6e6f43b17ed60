#include "support/supported.h"

#include <gtest/gtest-spi.h>

#include "backends/backends.h"

namespace hearth {
namespace {

// The only test result that is reported while f runs.
template <class F> testing::TestPartResult report_of(F f) {
  using Reporter = testing::ScopedFakeTestPartResultReporter;
  testing::TestPartResultArray all;
  {
    const Reporter reporter(Reporter::INTERCEPT_ONLY_CURRENT_THREAD, &all);
    f();
  }
  EXPECT_EQ(all.size(), 1);
  return all.GetTestPartResult(0);
}

TEST(Supported, only_a_refusal_that_names_the_backend_is_skipped) {
  const auto cpu = make_backend({.name = "cpu", .threads = 1}), reference = make_backend({.name = "reference", .threads = 1});
  const auto refuses = [](const char* message) { return [=] { fail<UnsupportedError>("{}", message); }; };
  EXPECT_TRUE(test::supported(*cpu, [] {}));
  bool had = true;
  const auto skipped = report_of([&] { had = test::supported(*cpu, refuses("pool: the backend cpu does not have this op")); });
  EXPECT_FALSE(had);
  EXPECT_TRUE(skipped.skipped());
  EXPECT_NE(std::string(skipped.message()).find("pool: the backend cpu does not have this op"), std::string::npos);

  EXPECT_THROW(test::supported(*cpu, refuses("pool: not today")), UnsupportedError);
  EXPECT_THROW(test::supported(*cpu, refuses("pool: the backend cpus does not have this op")), UnsupportedError);
  EXPECT_THROW(test::supported(*cpu, refuses("pool: the backend reference does not have this op")), UnsupportedError);
  EXPECT_THROW(test::supported(*reference, refuses("pool: the backend reference does not have this op")), UnsupportedError);
  EXPECT_THROW(test::supported(*cpu, [] { fail<ShapeError>("pool: the backend cpu does not have this op"); }), ShapeError);
  EXPECT_TRUE(report_of([&] { test::supported(*cpu, [] { EXPECT_EQ(1, 2); }); }).failed());
}

}  // namespace
}  // namespace hearth
