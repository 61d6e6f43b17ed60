#include "media/canvas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>
#include <span>

#include "media/chart.h"
#include "media/font.h"
#include "support/complaint.h"

namespace hearth {
namespace {

constexpr Color white{255, 255, 255}, red{200, 10, 30};

bool is(const Pixels& p, int64_t x, int64_t y, Color c) {
  const uint8_t* pixel = &p.rgb[size_t(3 * (y * p.width + x))];
  return pixel[0] == c.red && pixel[1] == c.green && pixel[2] == c.blue;
}

std::string as_text(const Pixels& p) {
  std::string rows;
  for (int64_t y = 0; y < p.height; ++y) {
    for (int64_t x = 0; x < p.width; ++x) rows += is(p, x, y, white) ? '.' : '#';
    rows += '\n';
  }
  return rows;
}

TEST(Canvas, writes_text) {
  Canvas canvas(12, 9, white);
  canvas.text(0, 0, "g1", red);
  EXPECT_EQ(as_text(canvas.pixels),
            "........#...\n"
            ".......##...\n"
            ".####.#.#...\n"
            "#...#...#...\n"
            "#...#...#...\n"
            ".####...#...\n"
            "....#.#####.\n"
            ".###........\n"
            "............\n");
  EXPECT_EQ(text_width("g1"), 11);
  EXPECT_EQ(text_width("g1", 2), 22);
  EXPECT_EQ(text_width(""), 0);
}

TEST(Canvas, writes_upwards_and_larger) {
  Canvas canvas(8, 6, white);
  canvas.text_upwards(0, 6, "L", red);
  EXPECT_EQ(as_text(canvas.pixels),
            "........\n"
            "......#.\n"
            "......#.\n"
            "......#.\n"
            "......#.\n"
            "#######.\n");
  Canvas large(10, 16, white), small(5, 8, white);
  large.text(0, 0, "R", red, 2), small.text(0, 0, "R", red);
  for (int64_t y = 0; y < 16; ++y)
    for (int64_t x = 0; x < 10; ++x) EXPECT_EQ(is(large.pixels, x, y, red), is(small.pixels, x / 2, y / 2, red));
}

TEST(Canvas, every_character_has_a_distinct_glyph) {
  std::set<std::string> seen;
  for (char c = ' '; c <= '~'; ++c) {
    Canvas canvas(glyph_columns, glyph_rows, white);
    canvas.text(0, 0, std::string(1, c), red);
    EXPECT_TRUE(seen.insert(as_text(canvas.pixels)).second) << c;
  }
  Canvas foreign(5, 8, white), question(5, 8, white);
  foreign.text(0, 0, "\xe9", red), question.text(0, 0, "?", red);
  EXPECT_EQ(foreign.pixels, question.pixels);
}

TEST(Canvas, draws_lines_discs_and_images_and_nothing_outside) {
  Canvas canvas(9, 9, white);
  canvas.line(1, 4, 7, 4, 1, red);
  for (int64_t x = 0; x < 9; ++x)
    for (int64_t y = 0; y < 9; ++y) EXPECT_EQ(is(canvas.pixels, x, y, red), y == 4 && x >= 1 && x <= 7) << x << ' ' << y;
  Canvas round(9, 9, white);
  round.disc(4, 4, 3, red);
  EXPECT_TRUE(is(round.pixels, 4, 4, red) && is(round.pixels, 4, 2, red) && is(round.pixels, 0, 4, white) && is(round.pixels, 1, 1, white));
  EXPECT_FALSE(is(round.pixels, 4, 1, red) || is(round.pixels, 4, 1, white));  // its edge is antialiased
  Canvas sheet(4, 4, white);
  sheet.image(2, -1, Canvas(3, 3, red).pixels);
  EXPECT_EQ(as_text(sheet.pixels), "..##\n..##\n....\n....\n");
  sheet.line(-100, -100, 100, 100, 3, red), sheet.fill(-5, -5, 2, 2, red);
}

Chart chart() {
  return {.title = "error", .x_label = "calls", .y_label = "error", .curves = {{"euler", {10, 20, 40}, {1e-1, 5e-2, 2.5e-2}}}};
}

// Points are placed by their logarithms: of three values that halve each time, the second is in the middle, in both directions.
TEST(Chart, axes_are_logarithmic) {
  Chart line = chart();
  const Pixels one = draw(line);
  EXPECT_EQ(one.width, 960);
  EXPECT_EQ(one.height, 600);
  const auto marks = [](const Pixels& p, Color c) {  // centers of complete discs
    std::vector<std::pair<int64_t, int64_t>> found;
    for (int64_t y = 3; y + 3 < p.height; ++y)
      for (int64_t x = 3; x + 3 < p.width; ++x) {
        bool all = true;
        for (int64_t d = -2; d <= 2; ++d) all = all && is(p, x + d, y, c) && is(p, x, y + d, c);
        if (all && (found.empty() || std::abs(found.back().first - x) + std::abs(found.back().second - y) > 3)) found.emplace_back(x, y);
      }
    return found;
  };
  const auto places = marks(one, {31, 119, 180});
  ASSERT_GE(places.size(), 3u);
  auto points = places;
  std::erase_if(points, [](const auto& p) { return p.first > 880; });  // the mark next to the name
  ASSERT_EQ(points.size(), 3u);
  EXPECT_NEAR(points[0].first + points[2].first, 2 * points[1].first, 3);
  EXPECT_NEAR(points[0].second + points[2].second, 2 * points[1].second, 3);
  EXPECT_LT(points[0].first, points[2].first);
  EXPECT_LT(points[0].second, points[2].second);  // smaller errors are lower
}

// The bounding box of the differences of two images, including its last row and column.
struct Box {
  int64_t left = INT64_MAX, top = INT64_MAX, right = -1, bottom = -1;
  bool operator==(const Box&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Box& b) { return out << b.left << ',' << b.top << " to " << b.right << ',' << b.bottom; }

Box difference(const Pixels& a, const Pixels& b) {
  Box box;
  for (int64_t y = 0; y < a.height; ++y)
    for (int64_t x = 0; x < a.width; ++x)
      if (!std::ranges::equal(std::span(a.rgb).subspan(size_t(3 * (y * a.width + x)), 3),
                              std::span(b.rgb).subspan(size_t(3 * (y * a.width + x)), 3)))
        box = {std::min(box.left, x), std::min(box.top, y), std::max(box.right, x), std::max(box.bottom, y)};
  return box;
}

// The plot spans 70 … 875 × 40 … 544, with the names of the curves next to it. HH fills 11 × 7 pixels.
TEST(Chart, labels_stand_in_the_middle_of_their_axes) {
  Chart bare = chart();
  bare.title = bare.x_label = bare.y_label = "";
  const Pixels without = draw(bare);
  const auto ink = [&](std::string Chart::*label) {
    Chart with = bare;
    with.*label = "HH";
    return difference(draw(with), without);
  };
  EXPECT_EQ(ink(&Chart::title), (Box{70, 14, 70 + 21, 14 + 13}));  // twice as large, at the left
  EXPECT_EQ(ink(&Chart::x_label), (Box{472 - 5, 576, 472 + 5, 576 + 6}));
  EXPECT_EQ(ink(&Chart::y_label), (Box{14, 291 - 5, 14 + 6, 291 + 5}));
}

TEST(Chart, skips_values_without_a_logarithm_and_refuses_an_empty_chart) {
  Chart with = chart();
  with.curves.push_back({"none", {10, 20}, {0, NAN}});
  EXPECT_NO_THROW(draw(with));
  with.curves = {with.curves[1]};
  EXPECT_EQ(test::complaint_of([&] { draw(with); }), "UsageError: chart: no curve has a valid point, expected positive values");
  Chart small = chart();
  small.width = 200;
  EXPECT_EQ(test::complaint_of([&] { draw(small); }), "UsageError: chart: 200×600 pixels are too few for 1 curves");
}

}  // namespace
}  // namespace hearth
