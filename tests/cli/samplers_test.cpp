// hearth samplers plot.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "hearth/hearth.h"

namespace hearth::test {
namespace {

using Json = nlohmann::json;

using Arguments = std::vector<std::string>;

class SamplersTest : public CommandTest {
 protected:
  Ended plot(const Arguments& more) const {
    Arguments arguments{"samplers", "plot"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  Image plotted(const char* name) const { return Image::load(folder / name); }
};

TEST_F(SamplersTest, measured_orders_are_the_documented_ones) {
  const Ended r = plot({"--order-plot", "orders.png", "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  const Json orders = Json::parse(r.out)["orders"];
  EXPECT_EQ(orders.size(), 12u);
  for (const Json& row : orders) {
    const double claimed = row["order"], observed = row["observed"];
    EXPECT_GT(observed, claimed - 0.3) << row["sampler"];
    EXPECT_LT(observed, claimed + 1.5) << row["sampler"];
    EXPECT_EQ(row["calls"].size(), 7u);
  }
  const Image image = plotted("orders.png");
  EXPECT_EQ(image.width, 960);
  EXPECT_EQ(Json::parse(image.json)["orders"], orders);
}

TEST_F(SamplersTest, the_error_falls_with_denoiser_calls) {
  const Ended r = plot({"-p", "a red house", "-W", "64", "-H", "64", "--samplers", "euler,dpmpp_2m,heun", "--steps", "6,12,24",
                        "--reference-steps", "60", "--convergence-plot", "c.png", "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  const Json rows = Json::parse(r.out)["convergence"];
  ASSERT_EQ(rows.size(), 9u);
  for (size_t i = 0; i < 9; ++i) {
    const Json& row = rows[i];
    EXPECT_EQ(row["sampler"], i < 3 ? "euler" : i < 6 ? "dpmpp_2m" : "heun");
    EXPECT_EQ(row["calls"].get<int>(),
              row["steps"].get<int>() * (i < 6 ? 1 : 2));  // heun makes two calls in its last step too, which ends above 0
    if (i % 3 > 0) { EXPECT_LT(row["error"].get<double>(), 0.7 * rows[i - 1]["error"].get<double>()) << row.dump(); }
  }
  EXPECT_EQ(plotted("c.png").width, 960);
}

TEST_F(SamplersTest, the_contact_sheet_holds_the_images) {
  const Ended r = plot({"-p", "a red house", "-W", "64", "-H", "72", "--seed", "5", "--samplers", "euler,lms", "--steps", "2,3",
                        "--contact-sheet", "s.png"});
  ASSERT_EQ(r.code, 0) << r.err;
  const Image sheet = plotted("s.png");
  ASSERT_EQ(
      run({"generate", "-p", "a red house", "-W", "64", "-H", "72", "--seed", "5", "--sampler", "lms", "--steps", "2", "-o", "one.png"})
          .code,
      0);
  const Image one = plotted("one.png");
  const int64_t left = sheet.width - 2 * (64 + 4), top = sheet.height - (72 + 4);  // below the other sampler, in the first column
  for (int64_t y = 0; y < 72; ++y)
    for (int64_t x = 0; x < 64; ++x)
      for (int64_t c = 0; c < 3; ++c)
        ASSERT_EQ(sheet.rgb[size_t(3 * ((top + y) * sheet.width + left + x) + c)], one.rgb[size_t(3 * (y * 64 + x) + c)]) << x << ' ' << y;
  const Json cells = Json::parse(sheet.json)["contact_sheet"];
  ASSERT_EQ(cells.size(), 4u);
  EXPECT_EQ(cells[2], (Json{{"sampler", "lms"}, {"steps", 2}, {"calls", 2}}));
  ASSERT_EQ(
      plot({"-p", "", "-W", "64", "-H", "72", "--samplers", "euler", "--steps", "1", "--thumbnail-width", "32", "--contact-sheet", "t.png"})
          .code,
      0);
  EXPECT_EQ(plotted("t.png").height, 24 + 36 + 4);
}

TEST_F(SamplersTest, errors_are_one_line) {
  const auto refused = [&](const Arguments& more) {
    const Ended r = plot(more);
    EXPECT_EQ(r.code, 2) << r.err;
    EXPECT_EQ(std::ranges::count(r.err.substr(r.err.rfind("hearth: ")), '\n'), 1) << r.err;
    return r.err;
  };
  const auto says = [](const std::string& line, const char* part) { return line.find(part) != line.npos; };
  EXPECT_TRUE(says(refused({}), "nothing to plot, expected --contact-sheet, --convergence-plot or --order-plot"));
  EXPECT_TRUE(says(refused({"--contact-sheet", "a.png"}), "--prompt is missing"));
  EXPECT_TRUE(says(refused({"--order-plot", "a.gif"}), "has an unsupported extension, expected .png"));
  EXPECT_TRUE(says(refused({"--order-plot", "a.png", "--samplers", "lcm"}), "sampler 'lcm' does not solve the ODE"));
  EXPECT_TRUE(says(refused({"--order-plot", "a.png", "--samplers", "oiler"}), "euler"));
  EXPECT_TRUE(says(refused({"-p", "x", "--convergence-plot", "a.png", "--samplers", "plms"}), "sampler 'plms' does not solve the ODE"));
  EXPECT_TRUE(says(refused({"-p", "x", "--convergence-plot", "a.png", "--steps", "4,2"}), "expected increasing numbers"));
  EXPECT_TRUE(says(refused({"-p", "x", "--convergence-plot", "a.png", "--steps", "2.5"}), "2.5"));
  EXPECT_TRUE(says(refused({"-p", "x", "--convergence-plot", "a.png", "--reference-steps", "8"}), "the reference solution has 8 steps"));
  EXPECT_TRUE(says(refused({"-p", "x", "--contact-sheet", "a.png", "--thumbnail-width", "4000", "--steps", "1", "--samplers", "euler", "-W",
                            "64", "-H", "64"}),
                   "cells of 4000 pixels"));
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(run({"samplers"}).code, 2);
}

}  // namespace
}  // namespace hearth::test
